import { JetStreamApiError, type ConsumerInfo } from '@nats-io/jetstream';
import type { Lane } from '@webcapture/shared/contract/capture-job.ts';
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
const usualLimitMs = 2000;

/**
 * Looks at the queue: what is missing, how many captures wait, and how long the leader of the captures' stream takes to
 * answer. Four requests, and one more for each subject whose captures wait; the age of background captures is given up after
 * a quarter of the limit. Never throws.
 */
export async function readQueue(
  session: NatsSession,
  settings: StreamSettings,
  regions: readonly Region[],
  limitMs = usualLimitMs,
): Promise<QueueFacts> {
  if (!session.connected()) return { kind: 'unreachable', why: 'no connection' };
  try {
    return await withDeadline(read(session, settings, regions, limitMs), limitMs, 'reading the queue');
  } catch (error) {
    const noJetStream = isNoResponders(error) || (error instanceof JetStreamApiError && error.status === 503);
    return { kind: 'unreachable', why: noJetStream ? 'no JetStream' : 'no answer' };
  }
}

async function read(
  session: NatsSession,
  settings: StreamSettings,
  regions: readonly Region[],
  limitMs: number,
): Promise<QueueFacts> {
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
    regions.map(async (region) => [region, await depthsOf(session, region, consumers, limitMs / 4)] as const),
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
  backgroundAgeMs: number,
): Promise<LaneDepths> {
  const depthOf = async (lane: Lane, shard = 0) => {
    const consumer = consumers.get(`${streamNames.captures}/${captureDurable(region, lane, shard)}`);
    if (consumer === undefined || consumer.num_pending === 0) return { waiting: 0, oldestMs: null };
    const next = ageOfNext(session, captureSubject(region, lane, shard), consumer.delivered.stream_seq + 1);
    // Nothing but a metric tells the age of background captures: without it the queue answers all the same.
    const age = lane === 'interactive' ? next : withDeadline(next, backgroundAgeMs, 'an age').catch(() => null);
    return { waiting: consumer.num_pending, oldestMs: await age };
  };
  const [interactive, ...background] = await Promise.all([
    depthOf('interactive'),
    ...Array.from({ length: backgroundShards }, (_, shard) => depthOf('background', shard)),
  ]);
  const ages = background.flatMap(({ oldestMs }) => oldestMs ?? []);
  return {
    interactive: interactive.waiting,
    background: background.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestInteractiveMs: interactive.oldestMs,
    oldestBackgroundMs: ages.length === 0 ? null : Math.max(...ages),
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
