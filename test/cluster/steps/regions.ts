import { natsCertificates } from '../../harness/nats-certificates.ts';
import {
  far,
  inSatellite,
  install,
  ofSatellite,
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
import { allCompleted, firstOutage, limitMs } from '../under-load.ts';
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

/** Queues background captures in the satellite's region. */
async function queueFar(session: Session, count: number): Promise<readonly string[]> {
  const uuids: string[] = [];
  for (let n = 0; n < count; n++) {
    const fact = await capture(session, { html: `<h1>far ${n}</h1>`, background: true, region: far, delay: 500 });
    check(fact.status === 200 && fact.uuid !== undefined, JSON.stringify(fact));
    uuids.push(fact.uuid);
  }
  return uuids;
}

/** Captures in the hub's own region, which no fault of the satellite may affect. */
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

/** Causes a fault of the satellite during captures in both regions, and observes both sides. */
async function causeFault(
  session: Session,
  cause: () => Promise<unknown>,
  seen: (from: number, statuses: readonly StatusFact[]) => Promise<string>,
  repair: () => Promise<unknown> = async () => undefined,
): Promise<string> {
  await noOutage(session);
  const statuses = watch<StatusFact>(session, ['status', '150']);
  const load = loadNear(session, 20);
  const queued = await queueFar(session, 4);
  const from = Date.now();
  let report: string;
  try {
    await cause();
    report = await seen(from, statuses.facts);
  } finally {
    await repair();
  }
  await healed(session);
  await allCompleted(session, queued);
  await load.ended;
  statuses.stop();
  const failed = failuresOf(load.facts);
  check(load.facts.length > 0 && failed.length === 0, `captures of the hub's own region failed: ${describe(failed)}`);
  return `${report}; recovered after ${Math.round((Date.now() - from) / 1000)} s; ${queued.length} of ${queued.length} background captures completed, ${load.facts.length} of ${load.facts.length} captures of ${near} completed`;
}

/** Waits until GET /status shows the outage of the satellite's region, and checks the time against the limit. */
async function outage(statuses: readonly StatusFact[], from: number): Promise<string> {
  const found = await until('/status to show it', async () => firstOutage(statuses, region, from), 60_000, 100);
  const turnedMs = found.at - from;
  check(turnedMs <= limitMs, `/status shows it only after ${turnedMs} ms`);
  return `/status: ${found.components?.[region]} after ${turnedMs} ms ("${found.messages?.[region]}")`;
}

const now = ['--grace-period=0', '--force', '--wait=false'];

/** Restricts the controllers of the satellite to these ports of the API server. */
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
    title: 'a satellite reports a wrong password, certificate authority or region',
    run: async (session) => {
      const url = await linkUrl(session);
      const cluster = satelliteOf(session);
      const report: string[] = [];
      const wrong = async (reason: string, values: object, name: string = far) => {
        const satellite = { ...ofSatellite(url), regions: [{ name }], ...values };
        await install(cluster, session, satellite, false);
        const { message } = await untilReason(session, reason, 120_000, name);
        const logs = await cluster.kubectl(['logs', '-l', 'app.kubernetes.io/component=controller', '--tail', '200']);
        check(logs.includes(`does not work in its fleet: ${reason}`), `the log does not contain ${reason}`);
        report.push(`${reason}: ${message}`);
      };
      await cluster.apply(
        secretOf('wrong', Object.fromEntries(usersOf(far).map((user) => [`${user}-password`, 'wrong']))),
      );
      await cluster.apply(secretOf('wrong-ca', { 'ca.crt': natsCertificates.otherCa }));
      const { nats } = ofSatellite(url);
      await wrong('AuthenticationFailed', { nats: { ...nats, existingSecret: 'wrong' } });
      await wrong('CertificateInvalid', { nats: { ...nats, tls: { ...nats.tls, caSecret: 'wrong-ca' } } });
      await wrong('RegionUnknown', {}, unknown);
      const engineMessage = await until(
        'the hub to report the unknown region',
        async () => {
          const [fact] = await act<StatusFact>(session, ['status', '0.1']);
          const message = fact?.messages?.['engine'] ?? '';
          return message.includes(`has renderers of ${unknown}, which is not installed here`) && message;
        },
        60_000,
      );
      report.push(`/status: ${engineMessage}`);
      await cluster.helm(['uninstall', release, '--wait']);
      return report.join('\n');
    },
  },
  joinSatellite,
  {
    title: 'captures are rendered in both regions',
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
    title:
      "SIGKILL of the satellite's renderer: /status shows it within 10 s, the region recovers, and no capture is lost",
    run: async (session) => {
      const cluster = satelliteOf(session);
      const deployment = `deployment/${fullname}-renderer-${far}`;
      return causeFault(
        session,
        async () => {
          // Prevents a replacement until the outage shows.
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
    title: "the satellite's controllers are stopped: its region keeps its status, and recovers",
    run: async (session) => {
      const cluster = satelliteOf(session);
      const deployment = `deployment/${fullname}-controller`;
      return causeFault(
        session,
        () => cluster.kubectl(['scale', deployment, '--replicas=0']),
        async (from, statuses) => {
          const said = await untilShown(
            session,
            /the cluster \S+ has not been heard for \d+ s, so heartbeats alone are counted/,
          );
          const found = firstOutage(statuses, region, from);
          check(found === undefined, `/status shows an outage: ${JSON.stringify(found?.messages?.[region])}`);
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
    title: "the satellite's API server cannot be reached: its region keeps its status, and recovers",
    run: (session) =>
      causeFault(
        session,
        async () => {
          // Drops all packets to the API server. The controllers are restarted, because the policy does not close open connections.
          await apiServerPorts(session, [1]);
          await satelliteOf(session).kubectl(['delete', 'pod', '-l', 'app.kubernetes.io/component=controller', ...now]);
        },
        async (from, statuses) => {
          const said = await untilShown(
            session,
            /the cluster \S+ has not been heard for \d+ s, so heartbeats alone are counted/,
          );
          const found = firstOutage(statuses, region, from);
          check(found === undefined, `/status shows an outage: ${JSON.stringify(found?.messages?.[region])}`);
          return `/status: ${said}`;
        },
        async () => {
          await apiServerPorts(session, [443, 6443]);
          await readyPods(inSatellite(session), 'controller', 2);
        },
      ),
  },
  {
    title: 'the link is cut in both directions for 30 s: both sides report it, and no accepted capture is lost',
    run: (session) =>
      causeFault(
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
    title: "SIGKILL of the hub's NATS: both regions recover, and no accepted capture is lost",
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
      check(lost.length === 0, `captures failed without a message to retry: ${describe(lost)}`);
      const after = load.facts.slice(-3);
      check(failuresOf(after).length === 0, `captures still fail: ${describe(failuresOf(after))}`);
      return `${load.facts.length - failed.length} of ${load.facts.length} captures completed, the others asked to retry; ${queued.length} of ${queued.length} background captures completed`;
    },
  },
  ...satelliteChangeSteps,
];
