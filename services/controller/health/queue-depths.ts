import { type ApiError, type ConsumerInfo, JetStreamApiError } from '@nats-io/jetstream';
import { isNoResponders, isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import {
  backgroundShards,
  captureDurable,
  captureSubject,
  prefixed,
  type Priority,
  regionOfSubject,
  streamNames,
} from '@webcapture/shared/nats/streams.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { PriorityDepths, QueueFacts, ResultsDepth } from './facts.ts';
import { sum } from './renderers.ts';
import { consumerConfigs, streamConfigs, type StreamSettings } from '../streams.ts';

/** A queue that does not answer within this time is unreachable. */
const defaultTimeoutMs = 2000;

/** Time for which the last known depth is used if a depth cannot be read. A consumer elects a new leader within seconds. */
const rememberMs = 60_000;

/** The last known depth of each durable, by `<stream>/<durable>`. */
export type KnownDepths = Map<string, ConsumerDepth & { readonly readAt: number }>;

interface ConsumerDepth {
  readonly pending: number;
  /** Number of messages that are delivered but not acknowledged. */
  readonly held: number;
  /** Stream sequence of the last delivered message. */
  readonly delivered: number;
}

/**
 * Reads the queue: what is missing, how many captures wait, and how long the leader of the captures' stream takes to answer. It makes six
 * requests, and one more for each subject with waiting captures. Readings that only a metric uses (the age of background captures, the
 * waiting results) time out after a quarter of the limit. Never throws. A list of consumers waits for the leader of each consumer, so one
 * consumer without a leader delays the whole answer. In this case the consumers are read one by one, and the last known depth is used for
 * those that cannot be read.
 *
 * @param known belongs to this function; pass the same map to each call
 */
export async function readQueue(
  session: NatsSession,
  settings: StreamSettings,
  regions: readonly Region[],
  { timeoutMs = defaultTimeoutMs, known = new Map() }: { timeoutMs?: number; known?: KnownDepths } = {},
): Promise<QueueFacts> {
  if (!session.connected()) return { kind: 'unreachable', why: 'no connection' };
  try {
    return await withDeadline(read(session, settings, regions, { timeoutMs, known }), timeoutMs, 'reading the queue');
  } catch (error) {
    return { kind: 'unreachable', why: isWithoutJetStream(error) ? 'no JetStream' : 'no answer' };
  }
}

const isWithoutJetStream = (error: unknown) =>
  isNoResponders(error) || (error instanceof JetStreamApiError && error.status === 503);

async function read(
  session: NatsSession,
  settings: StreamSettings,
  regions: readonly Region[],
  { timeoutMs, known }: { timeoutMs: number; known: KnownDepths },
): Promise<QueueFacts> {
  const { jsm } = session;
  const started = performance.now();
  let roundTripMs = 0;
  const timed = jsm.streams.info(streamNames.captures, { subjects_filter: prefixed('captures.>') }).then(
    ({ state }) => {
      roundTripMs = performance.now() - started;
      return state.subjects ?? {};
    },
    (error: unknown) => {
      if (!isNotProvisioned(error)) throw error;
      return {};
    },
  );
  const durables = Map.groupBy(consumerConfigs(regions), ({ stream }) => stream);
  const [names, missing, results, subjects] = await Promise.all([
    listAll(jsm.streams.names()),
    Promise.all(
      [...durables].map(([stream, configs]) => {
        const wanted = configs.map(({ config }) => config.durable_name);
        return readConsumers(session, stream, wanted, { timeoutMs, known });
      }),
    ),
    withDeadline(resultsDepth(session), timeoutMs / 4, 'counting the results that wait').catch(() => null),
    timed,
  ]);
  const wantedStreams = streamConfigs(settings).map(({ name }) => name);
  const waiting = await Promise.all(
    regions.map(async (region) => [region, await depthsOf(session, region, known, timeoutMs / 4)] as const),
  );
  return {
    kind: 'answered',
    roundTripMs,
    missing: [...wantedStreams.filter((name) => !names.includes(name)), ...missing.flat()],
    waiting: Object.fromEntries(waiting.flatMap(([region, depths]) => (depths === null ? [] : [[region, depths]]))),
    shards: Object.fromEntries(regions.map((region) => [region, shardsInUse(region, known)])),
    retired: retiredIn(subjects, regions),
    results,
  };
}

/** Number of captures by region, for regions that are not installed. */
function retiredIn(subjects: Readonly<Record<string, number>>, installed: readonly Region[]) {
  const retired: Partial<Record<Region, number>> = {};
  for (const [subject, captures] of Object.entries(subjects)) {
    const region = regionOfSubject(subject);
    if (region !== null && !installed.includes(region)) retired[region] = (retired[region] ?? 0) + captures;
  }
  return retired;
}

/** Returns the background shards with waiting or held captures. Held captures count because they may need another delivery. */
function shardsInUse(region: Region, known: KnownDepths): number[] {
  return Array.from({ length: backgroundShards }, (_, shard) => shard).filter((shard) => {
    const depth = known.get(`${streamNames.captures}/${captureDurable(region, 'background', shard)}`);
    return depth !== undefined && depth.pending + depth.held > 0;
  });
}

/** Reads the depth of each durable whose leader answers. Returns the names of missing durables. */
async function readConsumers(
  session: NatsSession,
  stream: string,
  wanted: readonly string[],
  { timeoutMs, known }: { timeoutMs: number; known: KnownDepths },
): Promise<readonly string[]> {
  const remember = ({ name, num_pending, num_ack_pending, delivered }: ConsumerInfo) =>
    known.set(`${stream}/${name}`, {
      pending: num_pending,
      held: num_ack_pending,
      delivered: delivered.stream_seq,
      readAt: performance.now(),
    });
  const listed = await listConsumers(session, stream, timeoutMs / 3);
  for (const info of listed) remember(info);
  const unlisted = wanted.filter((name) => listed.every((info) => info.name !== name));
  if (unlisted.length === 0) return [];
  // A list omits consumers without a leader. Their names can be read nevertheless.
  const names = await consumerNames(session, stream);
  const asked = unlisted.filter((name) => names.includes(name));
  await Promise.all(
    asked.map(async (name) => {
      const info = session.jsm.consumers.info(stream, name);
      await withDeadline(info, timeoutMs / 4, `reading the state of consumer ${name}`).then(remember, () => undefined);
    }),
  );
  const missing = unlisted.filter((name) => !names.includes(name)).map((name) => `${stream}/${name}`);
  for (const name of missing) known.delete(name);
  return missing;
}

/** Returns the consumers; an empty list if the stream does not exist or does not answer in time. Throws if JetStream is not available. */
async function listConsumers(
  session: NatsSession,
  stream: string,
  timeoutMs: number,
): Promise<readonly ConsumerInfo[]> {
  try {
    return await withDeadline(listAll(session.jsm.consumers.list(stream)), timeoutMs, 'listing consumers');
  } catch (error) {
    if (isWithoutJetStream(error)) throw error;
    return [];
  }
}

/** Returns the names of all consumers of a stream. The leader of the NATS cluster knows these names. */
async function consumerNames({ nc, apiPrefix }: NatsSession, stream: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (;;) {
    const message = await nc.request(
      `${apiPrefix}.CONSUMER.NAMES.${stream}`,
      JSON.stringify({ offset: names.length }),
      {
        timeout: defaultTimeoutMs,
      },
    );
    const reply = message.json<{ total: number; consumers: string[] | null } | { error: ApiError }>();
    if ('error' in reply) {
      const error = new JetStreamApiError(reply.error);
      if (isNotProvisioned(error)) return [];
      throw error;
    }
    const page = reply.consumers ?? [];
    names.push(...page);
    if (page.length === 0 || names.length >= reply.total) return names;
  }
}

/** A settled result is removed from its stream, so the stream contains the results that wait or are being settled. */
async function resultsDepth({ jsm, now }: NatsSession): Promise<ResultsDepth> {
  const { state } = await jsm.streams.info(streamNames.results);
  const oldestMs = state.messages === 0 ? null : Math.max(0, now() - Date.parse(state.first_ts));
  return { waiting: state.messages, oldestMs };
}

/** Returns null if the depth of one of the region's durables is unknown. */
async function depthsOf(
  session: NatsSession,
  region: Region,
  known: KnownDepths,
  backgroundAgeMs: number,
): Promise<PriorityDepths | null> {
  const oldest = performance.now() - rememberMs;
  const depthOf = async (priority: Priority, shard = 0) => {
    const depth = known.get(`${streamNames.captures}/${captureDurable(region, priority, shard)}`);
    if (depth === undefined || depth.readAt < oldest) return null;
    if (depth.pending === 0) return { waiting: 0, held: depth.held, oldestMs: null };
    const next = ageOfNext(session, captureSubject(region, priority, shard), depth.delivered + 1);
    // Only a metric shows the age of background captures, so it must not delay the reading.
    const age =
      priority === 'interactive'
        ? next
        : withDeadline(next, backgroundAgeMs, 'reading the age of a background capture').catch(() => null);
    return { waiting: depth.pending, held: depth.held, oldestMs: await age };
  };
  const [interactive, ...background] = await Promise.all([
    depthOf('interactive'),
    ...Array.from({ length: backgroundShards }, (_, shard) => depthOf('background', shard)),
  ]);
  const shards = background.filter((depth) => depth !== null);
  if (interactive === undefined || interactive === null || shards.length < background.length) return null;
  const ages = shards.flatMap(({ oldestMs }) => oldestMs ?? []);
  return {
    interactive: interactive.waiting,
    background: sum(shards.map(({ waiting }) => waiting)),
    backgroundHeld: sum(shards.map(({ held }) => held)),
    oldestInteractiveMs: interactive.oldestMs,
    oldestBackgroundMs: ages.length === 0 ? null : Math.max(...ages),
  };
}

/** Returns the age of the first message of the subject from `sequence` on. Returns null if it was just taken. */
async function ageOfNext(session: NatsSession, subject: string, sequence: number): Promise<number | null> {
  const query = { seq: sequence, next_by_subj: subject };
  const message = await session.jsm.direct.getMessage(streamNames.captures, query);
  return message === null ? null : Math.max(0, session.now() - message.time.getTime());
}

async function listAll<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of pages) all.push(item);
  return all;
}
