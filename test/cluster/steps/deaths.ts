import type { PodFacts } from '../cluster.ts';
import { allCompleted, firstTrouble, limitMs, queueSome, slow } from '../under-load.ts';
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

/** Sends a signal to the service's own process, which is a child of process 1, or of tini. */
async function signal({ cluster }: Session, pod: string, name: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
  const code =
    'const fs=require("fs");const found=fs.readdirSync("/proc").filter((p)=>{if(!/^\\d+$/.test(p))return false;' +
    'try{const[program,...args]=fs.readFileSync("/proc/"+p+"/cmdline","utf8").split("\\0");' +
    'return program==="node"&&args.some((arg)=>/^services\\/.*main\\.ts$/.test(arg))}catch{return false}});' +
    `if(found.length===0)throw new Error(${JSON.stringify(noProcess)});` +
    `for(const p of found)process.kill(Number(p),${JSON.stringify(name)})`;
  await cluster.exec(pod, ['node', '-e', code]).catch((error: unknown) => {
    // The container goes with its process, and this with the container.
    if (name !== 'SIGKILL' || String(error).includes(noProcess)) throw error;
  });
}

async function remove({ cluster }: Session, pod: PodFacts | undefined): Promise<void> {
  const now = ['--grace-period=0', '--force', '--wait=false', '--ignore-not-found'];
  await cluster.kubectl(['delete', 'pod', pod?.metadata.name ?? '', ...now]);
}

/** Kills or stops a renderer of us-east while captures run, and looks at /status meanwhile. */
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
  // Nobody stands in for it for a while, or it would be replaced before anybody missed it.
  if (name === 'SIGKILL') await remove(session, pod);
  let trouble: StatusFact;
  try {
    const look = async () => firstTrouble(statuses.facts, 'engine.us-east', killedAt);
    trouble = await until('/status to turn', look, 30_000, 100);
  } finally {
    await session.cluster.kubectl(['uncordon', ...nodes]);
  }
  const turnedMs = trouble.at - killedAt;
  // Its liveness probe would end it too, after a minute.
  if (name === 'SIGSTOP') await remove(session, pod);
  await readyPods(session, 'renderer', 1, ',webcapture.dev/region=us-east');
  await noOutage(session);
  const recoveredMs = Date.now() - killedAt;
  await load.ended;
  await allCompleted(session, queued);
  statuses.stop();
  const failed = failuresOf(load.facts);
  check(turnedMs <= limitMs, `/status turned after ${turnedMs} ms only`);
  const lost = load.facts.length - failed.length;
  return (
    `/status: ${trouble.components?.['engine.us-east']} after ${turnedMs} ms ("${trouble.messages?.['engine.us-east'] ?? ''}"), no outage any more after ` +
    `${recoveredMs} ms; ${lost} of ${load.facts.length} captures that clients waited for were answered` +
    `${failed.length === 0 ? '' : ` (others: ${describe(failed)})`}; ${queued.length} of ${queued.length} background captures completed`
  );
}

/** Until the Service has taken a pod off its list: at once when it is gone, after three probes when it hangs. */
const offTheListMs = { SIGKILL: 5000, SIGSTOP: 30_000 };

/** Kills or stops what others stand in for, while captures run: one front, or every controller. */
async function standsIn(
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
    // One that hangs is ended by its liveness probe.
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
    `captures failed afterwards, too: ${describe(failuresOf(after))}`,
  );
  if (component === 'controller') check(failed.length === 0, `captures do not need a controller: ${describe(failed)}`);
  const said = statuses.facts.flatMap(({ overall, away }) => overall ?? away ?? []);
  return (
    `${load.facts.length - failed.length} of ${load.facts.length} captures were answered ` +
    `${failed.length === 0 ? '' : `(cut off with the pod: ${describe(failed)}) `}and all ${queued.length} background captures completed; ` +
    `/status said ${[...new Set(said)].join(', ')} meanwhile; all were ready again after ${Math.round(healedMs / 1000)} s at most`
  );
}

export const deathSteps: readonly Step[] = [
  {
    title: 'SIGKILL of a renderer shows in /status within 10 s, heals, and loses nothing',
    run: (session) => rendererDies(session, 'SIGKILL'),
  },
  {
    title: 'a renderer that hangs (SIGSTOP) shows in /status within 10 s, heals, and loses nothing',
    run: (session) => rendererDies(session, 'SIGSTOP'),
  },
  {
    title: 'SIGKILL of a front: the other one answers, and nothing accepted is lost',
    run: (session) => standsIn(session, 'front', 'SIGKILL'),
  },
  {
    title: 'SIGKILL of both controllers: captures go on, and they come back',
    run: (session) => standsIn(session, 'controller', 'SIGKILL'),
  },
  {
    title: 'a front that hangs (SIGSTOP) is taken off the Service and started anew',
    run: (session) => standsIn(session, 'front', 'SIGSTOP'),
  },
  {
    title: 'controllers that hang (SIGSTOP): captures go on, and they are started anew',
    run: (session) => standsIn(session, 'controller', 'SIGSTOP'),
  },
];
