import { natsCertificates } from '../../harness/nats-certificates.ts';
import {
  far,
  inSatellite,
  install,
  joining,
  killNats,
  linkUrl,
  near,
  region,
  satelliteOf,
  secretOf,
  signalLink,
  unknown,
  untilReason,
  usersOf,
} from '../two-clusters.ts';
import { allCompleted, firstTrouble, limitMs } from '../under-load.ts';
import {
  act,
  capture,
  check,
  describe,
  failuresOf,
  fullname,
  noOutage,
  readyPods,
  release,
  until,
  watch,
  type CaptureFact,
  type Session,
  type StatusFact,
  type Step,
} from '../session.ts';
import { installHub, joinSatellite, untilShown } from './hub-and-satellite.ts';
import { satelliteChangeSteps } from './satellite-changes.ts';

/** Background captures in the region of the satellite. */
async function queueFar(session: Session, count: number): Promise<readonly string[]> {
  const uuids: string[] = [];
  for (let n = 0; n < count; n++) {
    const fact = await capture(session, { html: `<h1>far ${n}</h1>`, background: true, region: far, delay: 500 });
    check(fact.status === 200 && fact.uuid !== undefined, JSON.stringify(fact));
    uuids.push(fact.uuid);
  }
  return uuids;
}

/** Captures of the hub's own region, which nothing that happens to the satellite may touch. */
const loadNear = (session: Session, seconds: number) =>
  watch<CaptureFact>(session, [
    'load',
    session.key,
    String(seconds),
    '1',
    JSON.stringify({ html: '<h1>near @</h1>', region: near }),
  ]);

async function healed(session: Session): Promise<void> {
  await noOutage(session);
  await untilShown(session, /^(operational|degraded_performance): 1 of 1 renderers healthy/);
  const fact = await capture(session, { html: '<h1>again</h1>', region: far });
  check(fact.status === 200 && fact.region === far, JSON.stringify(fact));
}

/** Does something to the satellite while captures run in both regions, and looks at both sides. */
async function harm(
  session: Session,
  cause: () => Promise<unknown>,
  seen: (from: number, statuses: readonly StatusFact[]) => Promise<string>,
  mend: () => Promise<unknown> = async () => undefined,
): Promise<string> {
  await noOutage(session);
  const statuses = watch<StatusFact>(session, ['status', '150']);
  const load = loadNear(session, 20);
  const queued = await queueFar(session, 4);
  const from = Date.now();
  let told: string;
  try {
    await cause();
    told = await seen(from, statuses.facts);
  } finally {
    await mend();
  }
  await healed(session);
  await allCompleted(session, queued);
  await load.ended;
  statuses.stop();
  const failed = failuresOf(load.facts);
  check(load.facts.length > 0 && failed.length === 0, `captures of the hub's own region failed: ${describe(failed)}`);
  return `${told}; healed after ${Math.round((Date.now() - from) / 1000)} s; ${queued.length} of ${queued.length} background captures completed, ${load.facts.length} of ${load.facts.length} captures of ${near} answered`;
}

/** Waits until GET /status shows the outage of the satellite's region, which must not take longer than it promises. */
async function outage(statuses: readonly StatusFact[], from: number): Promise<string> {
  const trouble = await until('/status to turn', async () => firstTrouble(statuses, region, from), 60_000, 100);
  const turnedMs = trouble.at - from;
  check(turnedMs <= limitMs, `/status turned after ${turnedMs} ms only`);
  return `/status: ${trouble.components?.[region]} after ${turnedMs} ms ("${trouble.messages?.[region]}")`;
}

const now = ['--grace-period=0', '--force', '--wait=false'];

/** The controllers of the satellite are let reach the ports of the API server, or no other. */
async function apiServerPorts(session: Session, ports: readonly number[]): Promise<void> {
  const policy = `${fullname}-controller`;
  interface Policy {
    readonly spec: { readonly egress: readonly { readonly ports?: readonly { readonly port: number }[] }[] };
  }
  const { spec } = await satelliteOf(session).get<Policy>(['networkpolicy', policy]);
  const egress = spec.egress.map((rule, index) =>
    index === spec.egress.length - 1 ? { ...rule, ports: ports.map((port) => ({ protocol: 'TCP', port })) } : rule,
  );
  const patch = JSON.stringify({ spec: { egress } });
  await satelliteOf(session).kubectl(['patch', 'networkpolicy', policy, '--type', 'merge', '-p', patch]);
}

export const regionSteps: readonly Step[] = [
  installHub,
  {
    title: 'a satellite with a wrong password, authority or region says which it is',
    run: async (session) => {
      const url = await linkUrl(session);
      const cluster = satelliteOf(session);
      const told: string[] = [];
      const wrong = async (reason: string, values: object, name: string = far) => {
        const satellite = { ...joining(url), role: 'satellite', regions: [{ name }], ...values };
        await install(cluster, session, satellite, false);
        const { message } = await untilReason(session, reason, 120_000, name);
        const logs = await cluster.kubectl(['logs', '-l', 'app.kubernetes.io/component=controller', '--tail', '200']);
        check(logs.includes(`does not work in its fleet: ${reason}`), `the log does not say ${reason}`);
        told.push(`${reason}: ${message}`);
      };
      await cluster.apply(
        secretOf('wrong', Object.fromEntries(usersOf(far).map((user) => [`${user}-password`, 'wrong']))),
      );
      await cluster.apply(secretOf('wrong-ca', { 'ca.crt': natsCertificates.otherCa }));
      const { nats } = joining(url);
      await wrong('AuthenticationFailed', { nats: { ...nats, existingSecret: 'wrong' } });
      await wrong('CertificateInvalid', { nats: { ...nats, tls: { ...nats.tls, caSecret: 'wrong-ca' } } });
      await wrong('RegionUnknown', {}, unknown);
      const stranger = await until(
        'the hub to tell of the stranger',
        async () => {
          const [fact] = await act<StatusFact>(session, ['status', '0.1']);
          const message = fact?.messages?.['engine'] ?? '';
          return message.includes(`has renderers of ${unknown}, which is not installed here`) && message;
        },
        60_000,
      );
      told.push(`/status: ${stranger}`);
      await cluster.helm(['uninstall', release, '--wait']);
      return told.join('\n');
    },
  },
  joinSatellite,
  {
    title: 'captures are rendered in both',
    run: async (session) => {
      const times: string[] = [];
      for (const name of [near, far]) {
        for (const format of ['png', 'jpeg', 'webp', 'pdf']) {
          const fact = await capture(session, { html: `<h1>${name}</h1>`, format, region: name });
          check(fact.status === 200 && fact.region === name, JSON.stringify(fact));
          times.push(`${name} ${format} ${fact.ms} ms`);
        }
      }
      return times.join(', ');
    },
  },
  {
    title: "the satellite's renderer is killed: /status shows it within 10 s, it heals, and nothing is lost",
    run: async (session) => {
      const cluster = satelliteOf(session);
      const deployment = `deployment/${fullname}-renderer-${far}`;
      return harm(
        session,
        async () => {
          // Nobody stands in for it for a while.
          const nodes = await cluster.get<{ items: { metadata: { name: string } }[] }>(['nodes']);
          await cluster.kubectl(['cordon', ...nodes.items.map(({ metadata }) => metadata.name)]);
          await cluster.kubectl(['delete', 'pod', '-l', `webcapture.dev/region=${far}`, ...now]);
        },
        (from, statuses) => outage(statuses, from),
        async () => {
          const nodes = await cluster.get<{ items: { metadata: { name: string } }[] }>(['nodes']);
          await cluster.kubectl(['uncordon', ...nodes.items.map(({ metadata }) => metadata.name)]);
          await cluster.kubectl(['rollout', 'status', deployment, '--timeout=180s'], { timeoutMs: 190_000 });
        },
      );
    },
  },
  {
    title: "the satellite's controllers are killed: its region stays as it is, and heals",
    run: async (session) => {
      const cluster = satelliteOf(session);
      const deployment = `deployment/${fullname}-controller`;
      return harm(
        session,
        () => cluster.kubectl(['scale', deployment, '--replicas=0']),
        async (from, statuses) => {
          const said = await untilShown(
            session,
            /the cluster \S+ has not been heard for \d+ s, so heartbeats alone are counted/,
          );
          const trouble = firstTrouble(statuses, region, from);
          check(trouble === undefined, `it is an outage: ${JSON.stringify(trouble?.messages?.[region])}`);
          const fact = await capture(session, { html: '<h1>without controllers</h1>', region: far });
          check(fact.status === 200, JSON.stringify(fact));
          return `/status: ${said}`;
        },
        async () => {
          await cluster.kubectl(['scale', deployment, '--replicas=2']);
          await readyPods(inSatellite(session), 'controller', 2);
        },
      );
    },
  },
  {
    title: "the satellite's API server cannot be reached: its region stays as it is, and heals",
    run: (session) =>
      harm(
        session,
        async () => {
          // No port of it: what its controllers send is dropped. They are started anew, since connections that stand are kept.
          await apiServerPorts(session, [1]);
          await satelliteOf(session).kubectl(['delete', 'pod', '-l', 'app.kubernetes.io/component=controller', ...now]);
        },
        async (from, statuses) => {
          const said = await untilShown(
            session,
            /the cluster \S+ has not been heard for \d+ s, so heartbeats alone are counted/,
          );
          const trouble = firstTrouble(statuses, region, from);
          check(trouble === undefined, `it is an outage: ${JSON.stringify(trouble?.messages?.[region])}`);
          return `/status: ${said}`;
        },
        async () => {
          await apiServerPorts(session, [443, 6443]);
          await readyPods(inSatellite(session), 'controller', 2);
        },
      ),
  },
  {
    title: 'the link is cut both ways for 30 s: both sides say so, and nothing accepted is lost',
    run: (session) =>
      harm(
        session,
        () => signalLink(session, 'STOP'),
        async (from, statuses) => {
          const said = await outage(statuses, from);
          const { message } = await untilReason(session, 'FleetUnreachable');
          const silent = await untilShown(session, /the cluster \S+ has not been heard for \d+ s/);
          await until('30 s to pass', async () => Date.now() - from > 30_000, 40_000);
          return `${said}\nin the satellite: FleetUnreachable ("${message}")\n/status: ${silent}`;
        },
        async () => {
          await signalLink(session, 'CONT');
          await untilReason(session, 'Operational', 120_000);
        },
      ),
  },
  {
    title: "the hub's NATS is killed: both regions come back, and nothing accepted is lost",
    run: async (session) => {
      await noOutage(session);
      const queued = await queueFar(session, 4);
      const load = watch<CaptureFact>(session, [
        'load',
        session.key,
        '30',
        '2',
        JSON.stringify({ html: '<h1>@</h1>', region: far }),
      ]);
      await until('captures to run', async () => load.facts.length > 0, 60_000, 100);
      await killNats(session);
      await load.ended;
      await healed(session);
      await allCompleted(session, queued);
      const failed = failuresOf(load.facts);
      const lost = failed.filter(({ status, message }) => status !== 500 || !/again|retry|later/i.test(message ?? ''));
      check(lost.length === 0, `captures ended without a word to send them again: ${describe(lost)}`);
      const after = load.facts.slice(-3);
      check(failuresOf(after).length === 0, `captures fail still: ${describe(failuresOf(after))}`);
      return `${load.facts.length - failed.length} of ${load.facts.length} captures were answered, the others told to come again; ${queued.length} of ${queued.length} background captures completed`;
    },
  },
  ...satelliteChangeSteps,
];
