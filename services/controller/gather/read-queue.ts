import { JetStreamApiError, type ConsumerInfo } from '@nats-io/jetstream';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isNoResponders, isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import {
  backgroundShards,
  captureDurable,
  captureSubject,
  consumerConfigs,
  streamConfigs,
  streamNames,
  type StreamSettings,
} from '@webcapture/shared/nats/streams.ts';
import type { LaneDepths, QueueFacts } from './facts.ts';

/** No answer within this long is one. */
const limitMs = 2000;

/**
 * Looks at the queue: what is missing, how many captures wait, and how long the leader of the captures' stream takes to
 * answer. Four requests, and one more for each region whose interactive captures wait. Never throws.
 */
export async function readQueue(
  session: NatsSession,
  settings: StreamSettings,
  regions: readonly Region[],
): Promise<QueueFacts> {
  if (!session.connected()) return { kind: 'unreachable', why: 'no connection' };
  try {
    return await withDeadline(read(session, settings, regions), limitMs, 'reading the queue');
  } catch (error) {
    const noJetStream = isNoResponders(error) || (error instanceof JetStreamApiError && error.status === 503);
    return { kind: 'unreachable', why: noJetStream ? 'no JetStream' : 'no answer' };
  }
}

async function read(session: NatsSession, settings: StreamSettings, regions: readonly Region[]): Promise<QueueFacts> {
  const { jsm } = session;
  const started = performance.now();
  let roundTripMs = 0;
  const timed = jsm.streams.info(streamNames.captures).then(
    () => (roundTripMs = performance.now() - started),
    (error: unknown) => {
      if (!isNotProvisioned(error)) throw error;
    },
  );
  const [names, captures, tasks, dead] = await Promise.all([
    everyPage(jsm.streams.names()),
    consumersOf(session, streamNames.captures),
    consumersOf(session, streamNames.tasks),
    consumersOf(session, streamNames.dead),
    timed,
  ]);
  const consumers = new Map([...captures, ...tasks, ...dead].map((info) => [`${info.stream_name}/${info.name}`, info]));
  const wantedStreams = streamConfigs(settings).map(({ name }) => name);
  const wantedDurables = consumerConfigs(regions).map(({ stream, config }) => `${stream}/${config.durable_name}`);
  const waiting = await Promise.all(
    regions.map(async (region) => [region, await depthsOf(session, region, consumers)] as const),
  );
  return {
    kind: 'answered',
    roundTripMs,
    missing: [
      ...wantedStreams.filter((name) => !names.includes(name)),
      ...wantedDurables.filter((name) => !consumers.has(name)),
    ],
    waiting: Object.fromEntries(waiting),
  };
}

async function depthsOf(
  session: NatsSession,
  region: Region,
  consumers: ReadonlyMap<string, ConsumerInfo>,
): Promise<LaneDepths> {
  const consumer = (durable: string) => consumers.get(`${streamNames.captures}/${durable}`);
  const interactive = consumer(captureDurable(region, 'interactive'));
  let background = 0;
  for (let shard = 0; shard < backgroundShards; shard++) {
    background += consumer(captureDurable(region, 'background', shard))?.num_pending ?? 0;
  }
  return {
    interactive: interactive?.num_pending ?? 0,
    background,
    oldestInteractiveMs:
      interactive === undefined || interactive.num_pending === 0
        ? null
        : await ageOfNext(session, captureSubject(region, 'interactive'), interactive.delivered.stream_seq + 1),
  };
}

/** How long the first message of the subject from `sequence` on has been in the queue; null when it was just taken. */
async function ageOfNext(session: NatsSession, subject: string, sequence: number): Promise<number | null> {
  const query = { seq: sequence, next_by_subj: subject };
  const message = await session.jsm.direct.getMessage(streamNames.captures, query);
  return message === null ? null : Math.max(0, Date.now() - message.time.getTime());
}

async function consumersOf(session: NatsSession, stream: string): Promise<ConsumerInfo[]> {
  try {
    return await everyPage(session.jsm.consumers.list(stream));
  } catch (error) {
    if (isNotProvisioned(error)) return [];
    throw error;
  }
}

/** All that a paged API lists. */
async function everyPage<T>(lister: { next(): Promise<T[]> }): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const page = await lister.next();
    if (page.length === 0) return all;
    all.push(...page);
  }
}
