import { images } from '../images.ts';
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
import { allCompleted, firstOutage, limitMs, queueSome, slow } from '../under-load.ts';

/**
 * Sends a signal to nats-server. Its image contains no program for that. Therefore a pod that sees the processes of the node sends it, in a
 * namespace that allows such pods. Returns the time of the signal in Unix milliseconds of the node.
 */
async function signalNats({ cluster }: Session, name: 'SIGKILL' | 'SIGSTOP'): Promise<number> {
  const [nats] = await cluster.pods('nats');
  check(nats !== undefined, 'there is no pod of NATS');
  const { uid } = nats.metadata;
  const namespace = `${cluster.namespace}-node`;
  const code =
    'const fs=require("fs");const read=(f)=>{try{return fs.readFileSync(f,"utf8")}catch{return ""}};let hit=0;' +
    'for(const p of fs.readdirSync("/proc").filter((d)=>/^\\d+$/.test(d))){' +
    `if(!read("/proc/"+p+"/cgroup").replaceAll("_","-").includes(${JSON.stringify(uid)}))continue;` +
    `if(read("/proc/"+p+"/cmdline").includes("nats.conf")){process.kill(Number(p),${JSON.stringify(name)});hit++}}` +
    'console.log("signaled "+hit+" at "+Date.now());if(hit!==1)process.exit(1)';
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `signal-${name.toLowerCase()}`, namespace },
    spec: {
      nodeName: nats.spec.nodeName,
      hostPID: true,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      containers: [
        {
          name: 'signal',
          image: images.front,
          command: ['node', '-e', code],
          securityContext: { privileged: true, runAsUser: 0, runAsNonRoot: false },
        },
      ],
    },
  });
  const path = ['--namespace', namespace, `pod/signal-${name.toLowerCase()}`];
  await until(
    'the signal to be sent',
    async () => {
      const phase = await cluster.kubectl(['get', ...path, '-o', 'jsonpath={.status.phase}']);
      if (phase === 'Failed') throw new Error(await cluster.kubectl(['logs', ...path]));
      return phase === 'Succeeded';
    },
    30_000,
    100,
  );
  return Number(/ at (\d+)/.exec(await cluster.kubectl(['logs', ...path]))?.[1]);
}

/** Kills or stops NATS during captures. Refused captures must ask to retry, and accepted ones must complete. */
async function natsDies(session: Session, name: 'SIGKILL' | 'SIGSTOP'): Promise<string> {
  await readyPods(session, 'nats', 1);
  await noOutage(session);
  const seconds = name === 'SIGKILL' ? 30 : 130;
  const load = watch<CaptureFact>(session, ['load', session.key, String(seconds), '2', slow]);
  const statuses = watch<StatusFact>(session, ['status', String(seconds)]);
  const queued = await queueSome(session, 6);
  await until('captures to run', async () => load.facts.length > 0, 60_000, 100);
  try {
    const diedAt = await signalNats(session, name);
    const look = async () => firstOutage(statuses.facts, 'queue', diedAt);
    // A killed server is back within two seconds, and may not be missed.
    const outage = name === 'SIGSTOP' ? await until('/status to show it', look, 30_000, 100) : await look();
    await load.ended;
    await statuses.ended;
    await readyPods(session, 'nats', 1);
    await noOutage(session);
    await allCompleted(session, queued);
    const turnedMs = outage === undefined ? undefined : outage.at - diedAt;
    check((turnedMs ?? 0) <= limitMs, `/status shows it only after ${turnedMs} ms`);
    const failed = failuresOf(load.facts);
    const lost = failed.filter(({ status, message }) => status !== 500 || !/again|retry|later/i.test(message ?? ''));
    check(lost.length === 0, `captures failed without a message to retry: ${describe(lost)}`);
    const back = load.facts.findLast(({ status }) => status !== 200);
    const away = back === undefined ? 0 : Math.round((back.at + back.ms - diedAt) / 1000);
    return (
      `/status: ${outage === undefined ? 'no outage was seen' : `queue ${outage.components?.['queue']} after ${turnedMs} ms`}; ` +
      `${load.facts.length - failed.length} of ${load.facts.length} captures completed, the others asked to retry ` +
      `(the last ${away} s after the death); all ${queued.length} background captures completed`
    );
  } finally {
    const namespace = `${session.cluster.namespace}-node`;
    await session.cluster.kubectl(['delete', 'namespace', namespace, '--wait=true', '--ignore-not-found']);
  }
}

export const brokerDeathSteps: readonly Step[] = [
  {
    title: 'SIGKILL of NATS: its pod restarts it, and no accepted capture is lost',
    run: (session) => natsDies(session, 'SIGKILL'),
  },
  {
    title: 'SIGSTOP of NATS: /status shows it within 10 s, its pod restarts it, and no accepted capture is lost',
    run: (session) => natsDies(session, 'SIGSTOP'),
  },
];
