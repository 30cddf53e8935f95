import type { PodFacts } from '../cluster.ts';
import { allCompleted, firstOutage, limitMs, queueSome, slow } from '../under-load.ts';
import {
  check,
  describe,
  failuresOf,
  noOutage,
  readyPods,
  until,
  watch,
  type CaptureFact,
  type Session,
  type StatusFact,
  type Step,
} from '../session.ts';

const noProcess = 'no process of a service runs here';

/** Sends a signal to the process of the service, which is a child of process 1 or of tini. */
async function signal({ cluster }: Session, pod: string, name: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
  const code =
    'const fs=require("fs");const found=fs.readdirSync("/proc").filter((p)=>{if(!/^\\d+$/.test(p))return false;' +
    'try{const[program,...args]=fs.readFileSync("/proc/"+p+"/cmdline","utf8").split("\\0");' +
    'return program==="node"&&args.some((arg)=>/^services\\/.*main\\.ts$/.test(arg))}catch{return false}});' +
    `if(found.length===0)throw new Error(${JSON.stringify(noProcess)});` +
    `for(const p of found)process.kill(Number(p),${JSON.stringify(name)})`;
  await cluster.exec(pod, ['node', '-e', code]).catch((error: unknown) => {
    // With SIGKILL the container ends, and with it this command.
    if (name !== 'SIGKILL' || String(error).includes(noProcess)) throw error;
  });
}

async function remove({ cluster }: Session, pod: PodFacts | undefined): Promise<void> {
  const now = ['--grace-period=0', '--force', '--wait=false', '--ignore-not-found'];
  await cluster.kubectl(['delete', 'pod', pod?.metadata.name ?? '', ...now]);
}

/** Kills or stops a renderer of us-east during captures, and observes /status. */
async function rendererDies(session: Session, name: 'SIGKILL' | 'SIGSTOP'): Promise<string> {
  const [pod] = await readyPods(session, 'renderer', 1, ',webcapture.dev/region=us-east');
  await noOutage(session);
  const statuses = watch<StatusFact>(session, ['status', '60']);
  const load = watch<CaptureFact>(session, ['load', session.key, '20', '2', slow]);
  const queued = await queueSome(session, 6);
  await until('captures to run', async () => load.facts.length > 0, 60_000, 100);
  const nodes = (await session.cluster.get<{ items: { metadata: { name: string } }[] }>(['nodes'])).items.map(
    (it) => it.metadata.name,
  );
  if (name === 'SIGKILL') await session.cluster.kubectl(['cordon', ...nodes]);
  const killedAt = Date.now();
  await signal(session, pod?.metadata.name ?? '', name);
  // A replacement must not start for some time, because it would be ready before the loss shows.
  if (name === 'SIGKILL') await remove(session, pod);
  let outage: StatusFact;
  try {
    const look = async () => firstOutage(statuses.facts, 'engine.us-east', killedAt);
    outage = await until('/status to show it', look, 30_000, 100);
  } finally {
    await session.cluster.kubectl(['uncordon', ...nodes]);
  }
  const turnedMs = outage.at - killedAt;
  // The liveness probe would restart it, too, after a minute.
  if (name === 'SIGSTOP') await remove(session, pod);
  await readyPods(session, 'renderer', 1, ',webcapture.dev/region=us-east');
  await noOutage(session);
  const recoveredMs = Date.now() - killedAt;
  await load.ended;
  await allCompleted(session, queued);
  statuses.stop();
  const failed = failuresOf(load.facts);
  check(turnedMs <= limitMs, `/status shows it only after ${turnedMs} ms`);
  const lost = load.facts.length - failed.length;
  return (
    `/status: ${outage.components?.['engine.us-east']} after ${turnedMs} ms ("${outage.messages?.['engine.us-east'] ?? ''}"), no outage after ` +
    `${recoveredMs} ms; ${lost} of ${load.facts.length} interactive captures completed` +
    `${failed.length === 0 ? '' : ` (others: ${describe(failed)})`}; ${queued.length} of ${queued.length} background captures completed`
  );
}

/** Time until the Service removes a pod: it is short if the pod has ended, and takes three probes if the pod is stopped. */
const offTheListMs = { SIGKILL: 5000, SIGSTOP: 30_000 };

/** Kills or stops one front or all controllers during captures. */
async function replicasDie(
  session: Session,
  component: 'front' | 'controller',
  name: 'SIGKILL' | 'SIGSTOP',
): Promise<string> {
  const pods = await readyPods(session, component, 2);
  await noOutage(session);
  const seconds = name === 'SIGKILL' ? 20 : 60;
  const load = watch<CaptureFact>(session, ['load', session.key, String(seconds), '4', slow]);
  const statuses = watch<StatusFact>(session, ['status', String(seconds + 10)]);
  const queued = await queueSome(session, 6);
  await until('captures to run', async () => load.facts.length > 0, 60_000, 100);
  const killedAt = Date.now();
  for (const pod of component === 'controller' ? pods : pods.slice(0, 1)) {
    await signal(session, pod.metadata.name, name);
    // The liveness probe restarts a stopped process.
    if (name === 'SIGKILL') await remove(session, pod);
  }
  await load.ended;
  await statuses.ended;
  await readyPods(session, component, 2);
  const healedMs = Date.now() - killedAt;
  await noOutage(session);
  await allCompleted(session, queued);
  const failed = failuresOf(load.facts);
  const after = load.facts.filter(({ at }) => at > killedAt + offTheListMs[name]);
  check(
    after.length > 0 && failuresOf(after).length === 0,
    `captures still fail afterwards: ${describe(failuresOf(after))}`,
  );
  if (component === 'controller')
    check(failed.length === 0, `captures failed without a controller: ${describe(failed)}`);
  const shown = statuses.facts.flatMap(({ overall, unreachable }) => overall ?? unreachable ?? []);
  return (
    `${load.facts.length - failed.length} of ${load.facts.length} captures completed ` +
    `${failed.length === 0 ? '' : `(cut off with the pod: ${describe(failed)}) `}and all ${queued.length} background captures completed; ` +
    `/status showed ${[...new Set(shown)].join(', ')}; all pods were ready after at most ${Math.round(healedMs / 1000)} s`
  );
}

export const deathSteps: readonly Step[] = [
  {
    title: 'SIGKILL of a renderer: /status shows it within 10 s, the region recovers, and no capture is lost',
    run: (session) => rendererDies(session, 'SIGKILL'),
  },
  {
    title: 'SIGSTOP of a renderer: /status shows it within 10 s, the region recovers, and no capture is lost',
    run: (session) => rendererDies(session, 'SIGSTOP'),
  },
  {
    title: 'SIGKILL of a front: the other front serves captures, and no accepted capture is lost',
    run: (session) => replicasDie(session, 'front', 'SIGKILL'),
  },
  {
    title: 'SIGKILL of both controllers: captures continue, and the controllers restart',
    run: (session) => replicasDie(session, 'controller', 'SIGKILL'),
  },
  {
    title: 'SIGSTOP of a front: the Service removes it, and its pod restarts it',
    run: (session) => replicasDie(session, 'front', 'SIGSTOP'),
  },
  {
    title: 'SIGSTOP of both controllers: captures continue, and their pods restart them',
    run: (session) => replicasDie(session, 'controller', 'SIGSTOP'),
  },
];
