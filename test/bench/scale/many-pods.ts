import { setTimeout as sleep } from 'node:timers/promises';
import { headers as natsHeaders } from '@nats-io/nats-core';
import { fleetKey, heartbeatIntervalMs } from '@webcapture/shared/queue/heartbeat.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { benchKey } from '../front/parts.ts';
import { loadOf } from '../http-load.ts';
import { treeTimeOf } from '../speed/process-cost.ts';
import { round, type Goals } from '../goals.ts';
import { ask, startService, type BenchService } from './service.ts';

const pods = 5000;
const rounds = 3;
const seconds = 8;
const connections = 8;
const slots = 16;
const goal = 1.2;

const processes = ['front', 'controller', 'nats-server'] as const;
type Costs = Readonly<Record<(typeof processes)[number], number>>;

/** CPU milliseconds by process. */
interface Measured {
  /** Per second without captures. */
  readonly idle: Costs;
  /** Per capture, without the idle share. */
  readonly capture: Costs;
  readonly perSecond: number;
}

/** Measures the processor time of a capture with one pod and with thousands, in alternation on the same machine. */
export async function benchManyPods(goals: Goals): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const service = await startService(parts, { maxInFlight: 1000 });
  const { session, front } = service;
  const renderer = new StandInRenderer(session, 'us-east');
  await renderer.start(slots);
  parts.defer(() => renderer.stop());
  await until('the first capture', () => ask(front, '/capture', { url: 'https://example.com/' }));
  // The first captures are slower.
  await load(service, 2 * seconds);
  const few: Measured[] = [];
  const many: Measured[] = [];
  let heartbeats = 0;
  for (let round = 0; round < rounds; round++) {
    few.push(await measure(service));
    const fleet = startHeartbeats(session);
    await sleep(5000);
    const [sent, start] = [fleet.sent(), performance.now()];
    many.push(await measure(service));
    heartbeats += (fleet.sent() - sent) / ((performance.now() - start) / 1000) / rounds;
    fleet.stop();
    // Waits until the heartbeats have expired.
    await sleep(15_000);
  }
  const ratios = few.map(({ capture }, index) => (many[index]?.capture.front ?? Number.NaN) / capture.front);
  goals.title(
    `CPU of a capture with ${pods} pods and with one: ${rounds} times ${seconds} s of captures on ${connections} connections each, medians`,
  );
  for (const [name, measured] of [
    ['one pod', few],
    [`${pods} pods`, many],
  ] as const) {
    for (const process of processes) {
      const idle = median(measured.map((each) => each.idle[process]));
      const capture = median(measured.map((each) => each.capture[process]));
      goals.note(
        `${process}, ${name}`,
        `${round(capture)} ms per capture, ${round(idle)} ms per second without captures`,
      );
    }
  }
  goals.note(
    'captures per second, one pod and many',
    `${round(median(few.map((each) => each.perSecond)))}, ${round(median(many.map((each) => each.perSecond)))}`,
  );
  goals.note('heartbeats per second', round(heartbeats));
  goals.note('ratios of the rounds', ratios.map(round).join(', '));
  goals.atMost('ratio of the front’s CPU per capture, many pods to one', median(ratios), goal);
}

async function measure(service: BenchService): Promise<Measured> {
  const idleFrom = costsOf(service);
  const idleStart = performance.now();
  await sleep(seconds * 1000);
  const idleSeconds = (performance.now() - idleStart) / 1000;
  const [loadFrom, loadStart] = [costsOf(service), performance.now()];
  const captures = await load(service, seconds);
  const loadSeconds = (performance.now() - loadStart) / 1000;
  const end = costsOf(service);
  const idle = mapCosts((name) => (loadFrom[name] - idleFrom[name]) / idleSeconds);
  const capture = mapCosts((name) => (end[name] - loadFrom[name] - idle[name] * loadSeconds) / captures);
  return { idle, capture, perSecond: captures / loadSeconds };
}

/** Returns the number of captures. */
async function load({ front }: BenchService, forSeconds: number): Promise<number> {
  const start = performance.now();
  const { perSecond } = await loadOf({
    url: front.url,
    path: '/capture',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${benchKey}` },
    body: JSON.stringify({ url: 'https://example.com/' }),
    connections,
    seconds: forSeconds,
  });
  return (perSecond * (performance.now() - start)) / 1000;
}

function costsOf({ natsPid, front, controller }: BenchService): Costs {
  const pids = { front: front.part.pid, controller: controller.pid, 'nats-server': natsPid };
  return mapCosts((name) => treeTimeOf(pids[name]));
}

const mapCosts = (cost: (name: (typeof processes)[number]) => number): Costs => ({
  front: cost('front'),
  controller: cost('controller'),
  'nats-server': cost('nats-server'),
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Sends the heartbeats of all pods, spread over the interval. */
function startHeartbeats(session: NatsSession) {
  const headers = natsHeaders();
  headers.set('Nats-TTL', '10s');
  const messages = Array.from({ length: pods }, (_, number) => {
    const pod = `pod-${number}`;
    const heartbeat: RendererHeartbeat = {
      pod,
      instance: pod,
      region: 'us-east',
      version: '0',
      slots: 4,
      busy: 2,
      browser: 'up',
      draining: false,
      recent: { ended: 100, internalFailures: 0, queueWaitP95Ms: 10, meanRenderMs: 1500 },
      jobs: [],
      at: Date.now(),
    };
    return { subject: `$KV.live.${fleetKey('us-east', pod)}`, data: JSON.stringify(heartbeat) };
  });
  let sent = 0;
  const start = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - start) / heartbeatIntervalMs) * pods);
    // After a pause of this process, each pod sends only its newest heartbeat.
    sent = Math.max(sent, due - pods);
    for (; sent < due; sent++) {
      const message = messages[sent % pods];
      if (message !== undefined) session.nc.publish(message.subject, message.data, { headers });
    }
  }, 10);
  return { sent: () => sent, stop: () => clearInterval(timer) };
}
