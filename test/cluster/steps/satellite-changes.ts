import { changeRegions } from '../region-change.ts';
import { capture, check, readyPods, release, type Session, type Step } from '../session.ts';
import {
  far,
  changeHub,
  changeSatellite,
  inSatellite,
  near,
  renamed,
  satelliteOf,
  unknown as added,
} from '../two-clusters.ts';

async function rendersIn(session: Session, region: string): Promise<void> {
  const fact = await capture(session, { html: `<h1>${region}</h1>`, region });
  check(fact.status === 200 && fact.region === region, JSON.stringify(fact));
}

/** Changes the regions of the satellite in the documented order, first in the hub; the last step uses the reverse order. */
export const satelliteChangeSteps: readonly Step[] = [
  {
    title: 'a region is added to hub and satellite by helm upgrade under load',
    run: async (session) => {
      const report = await changeRegions(session, {
        queueIn: [far, near],
        stable: near,
        change: async () => {
          await changeHub(session, { [far]: 1, [added]: 1 });
          await changeSatellite(session, { [far]: 1, [added]: 1 });
        },
        regions: [near, far, added],
      });
      await rendersIn(session, added);
      return report;
    },
  },
  {
    title: "the satellite's region is scaled by helm upgrade under load, up and down",
    run: (session) =>
      changeRegions(session, {
        queueIn: [far, added],
        stable: near,
        change: async () => {
          for (const count of [2, 1]) {
            await changeHub(session, { [far]: count, [added]: 1 });
            await changeSatellite(session, { [far]: count, [added]: 1 });
            await readyPods(inSatellite(session), 'renderer', count, `,webcapture.dev/region=${far}`);
          }
        },
        regions: [near, far, added],
      }),
  },
  {
    title: "the satellite's region is renamed by helm upgrade under load",
    run: async (session) => {
      const report = await changeRegions(session, {
        queueIn: [added, far],
        removed: [added],
        stable: near,
        change: async () => {
          await changeHub(session, { [far]: 1, [renamed]: 1 });
          await changeSatellite(session, { [far]: 1, [renamed]: 1 });
        },
        regions: [near, far, renamed],
      });
      await rendersIn(session, renamed);
      return report;
    },
  },
  {
    title: 'the satellite is uninstalled under load, and then its regions are removed from the hub',
    run: async (session) => {
      const report = await changeRegions(session, {
        queueIn: [far, renamed],
        removed: [far, renamed],
        backlog: 24,
        stable: near,
        change: async () => {
          await satelliteOf(session).helm(['uninstall', release, '--wait']);
          await changeHub(session, {});
        },
        regions: [near],
      });
      const fact = await capture(session, { html: '<h1>gone</h1>', region: far });
      check(fact.code === 'REGION_UNAVAILABLE', JSON.stringify(fact));
      await satelliteOf(session).kubectl(['delete', 'namespace', session.cluster.namespace, '--wait=false']);
      return report;
    },
  },
];
