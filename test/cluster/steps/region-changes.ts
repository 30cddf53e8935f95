import { changeRegions } from '../region-change.ts';
import { capture, check, fullname, readyPods, upgrade, type Session, type Step } from '../session.ts';

const first = 'us-east';
const second = 'eu-west';
const added = 'asia-east';
const renamed = 'asia-southeast';

/** Arguments for helm with these regions and their numbers of renderers. */
const withRegions = (regions: Readonly<Record<string, number>>) =>
  Object.entries(regions).flatMap(([name, replicas], index) => [
    '--set',
    `regions[${index}].name=${name}`,
    '--set',
    `regions[${index}].replicas=${replicas}`,
  ]);

async function rendersIn(session: Session, region: string): Promise<void> {
  const fact = await capture(session, { html: `<h1>${region}</h1>`, region });
  check(fact.status === 200 && fact.region === region, JSON.stringify(fact));
}

/** Changes within one release, which starts and stops renderers with their region. */
export const regionChangeSteps: readonly Step[] = [
  {
    title: 'a region is added by helm upgrade under load',
    run: async (session) => {
      const report = await changeRegions(session, {
        queueIn: [first, second],
        stable: first,
        change: () => upgrade(session, withRegions({ [first]: 1, [second]: 1, [added]: 1 })),
        regions: [first, second, added],
      });
      await rendersIn(session, added);
      return report;
    },
  },
  {
    title: 'a region is scaled by helm upgrade under load, up and down',
    run: (session) =>
      changeRegions(session, {
        queueIn: [second, added],
        stable: first,
        change: async () => {
          for (const count of [2, 1]) {
            await upgrade(session, withRegions({ [first]: 1, [second]: count, [added]: 1 }));
            await readyPods(session, 'renderer', count, `,webcapture.dev/region=${second}`);
          }
        },
        regions: [first, second, added],
      }),
  },
  {
    title: 'a region is renamed by helm upgrade under load',
    run: async (session) => {
      const report = await changeRegions(session, {
        queueIn: [added, second],
        removed: [added],
        stable: first,
        change: () => upgrade(session, withRegions({ [first]: 1, [second]: 1, [renamed]: 1 })),
        regions: [first, second, renamed],
      });
      await rendersIn(session, renamed);
      return report;
    },
  },
  {
    title: 'a region without renderers is removed by helm upgrade under load, while captures wait in it',
    run: async (session) => {
      const report = await changeRegions(session, {
        queueIn: [renamed, second],
        removed: [renamed],
        backlog: 24,
        stable: first,
        change: async () => {
          // Without this its renderers complete the captures while helm waits for other pods.
          const deployment = `deployment/${fullname}-renderer-${renamed}`;
          await session.cluster.kubectl(['scale', deployment, '--replicas=0']);
          await upgrade(session, []);
        },
        regions: [first, second],
      });
      const refused = await capture(session, { html: '<h1>gone</h1>', region: renamed });
      check(refused.code === 'REGION_UNAVAILABLE', JSON.stringify(refused));
      return report;
    },
  },
];
