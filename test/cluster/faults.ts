import { setTimeout as sleep } from 'node:timers/promises';
import { pick, type Random } from '../harness/random.ts';
import type { Cluster } from './cluster.ts';
import { fullname, readyPods, type Session } from './session.ts';
import {
  changeHub,
  changeSatellite,
  far,
  inSatellite,
  killNats,
  satelliteOf,
  signalLink,
  unknown as added,
} from './two-clusters.ts';

/** A fault in a hub and its satellite. */
export interface Fault {
  readonly name: string;
  /** Faults of one kind do not overlap, because a link can be cut only once, and Helm runs once per release. */
  readonly kind: 'kill' | 'nats' | 'link' | 'release';
  /** Causes the fault and repairs it. Returns a description. */
  readonly run: (session: Session, random: Random) => Promise<string>;
}

const kill = (name: string, component: string, clusterOf: (session: Session) => Cluster): Fault => ({
  name: `${name} killed`,
  kind: 'kill',
  run: async (session, random) => {
    const cluster = clusterOf(session);
    const pod = pick(await cluster.pods(component), random);
    if (pod === undefined) return `there was no ${name} to kill`;
    await cluster.kubectl(['delete', 'pod', pod.metadata.name, '--grace-period=0', '--force', '--wait=false']);
    return `${pod.metadata.name} killed`;
  },
});

const restart = (name: string, deployment: string, clusterOf: (session: Session) => Cluster): Fault => ({
  name: `rolling update of ${name}`,
  kind: 'release',
  run: async (session) => {
    const cluster = clusterOf(session);
    await cluster.kubectl(['rollout', 'restart', `deployment/${fullname}-${deployment}`]);
    // A pod of a satellite is ready only after it has joined, so a cut of the link delays it.
    const args = ['rollout', 'status', `deployment/${fullname}-${deployment}`, '--timeout=300s'];
    await cluster.kubectl(args, { timeoutMs: 310_000 });
    return `${name} updated`;
  },
});

const hub = ({ cluster }: Session) => cluster;

const shortestCutMs = 5000;
const longestCutMs = 180_000;

const cut: Fault = {
  name: 'link cut',
  kind: 'link',
  run: async (session, random) => {
    // Cuts below 30 s are as frequent as longer ones.
    const ms = Math.round(shortestCutMs * (longestCutMs / shortestCutMs) ** random());
    await signalLink(session, 'STOP');
    try {
      await sleep(ms);
    } finally {
      await signalLink(session, 'CONT');
    }
    return `link cut for ${(ms / 1000).toFixed(1)} s`;
  },
};

const regionAddedAndRemoved: Fault = {
  name: 'region added and removed',
  kind: 'release',
  run: async (session, random) => {
    const both = { [far]: 1, [added]: 1 };
    await changeHub(session, both);
    await changeSatellite(session, both);
    await sleep(20_000);
    const isSatelliteFirst = random() < 0.5;
    const removals = [() => changeHub(session, { [far]: 1 }), () => changeSatellite(session, { [far]: 1 })];
    for (const remove of isSatelliteFirst ? removals.toReversed() : removals) await remove();
    await readyPods(inSatellite(session), 'renderer', 1);
    return `${added} added, and removed from the ${isSatelliteFirst ? 'satellite' : 'hub'} first`;
  },
};

export const faults: readonly Fault[] = [
  kill('front', 'front', hub),
  kill("hub's renderer", 'renderer', hub),
  kill("hub's controller", 'controller', hub),
  kill("satellite's renderer", 'renderer', satelliteOf),
  kill("satellite's controller", 'controller', satelliteOf),
  { name: 'NATS killed', kind: 'nats', run: (session) => killNats(session).then(() => 'NATS killed') },
  cut,
  restart("the hub's fronts", 'front', hub),
  restart("the hub's controllers", 'controller', hub),
  restart("the satellite's renderers", `renderer-${far}`, satelliteOf),
  regionAddedAndRemoved,
];
