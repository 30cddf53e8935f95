import type { ConsumerConfig, JetStreamManager, StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { maxLifetimeSeconds } from '@webcapture/shared/api/option-schemas.ts';
import { isDifferentConfig } from '@webcapture/shared/nats/api-errors.ts';
import {
  backgroundShards,
  captureDurable,
  captureSubject,
  deadLetterDurable,
  jobAckWaitMs,
  jobMaxDeliveries,
  keySubject,
  prefixed,
  type Priority,
  resultDurable,
  resultSubject,
  streamNames,
  taskAckWaitMs,
  taskDurable,
  type TaskKind,
  taskKinds,
  taskSubject,
} from '@webcapture/shared/nats/streams.ts';
import { maxTicketLength } from '@webcapture/shared/queue/tickets.ts';
import { regions as allRegions, type Region } from '@webcapture/shared/runtime/regions.ts';

/**
 * Applies the wanted configuration of all streams and durables. Repeating the call is safe. If a stream contains more than its new limit,
 * the stream keeps the old limit, because it would otherwise refuse all writes. Throws the server's error if the server refuses a
 * configuration, for example three replicas on a single server.
 */
export async function provision(jsm: JetStreamManager, settings: StreamSettings, regions: readonly Region[]) {
  for (const config of streamConfigs(settings)) {
    const info = await addOrUpdate(
      () => jsm.streams.add(config),
      async () => jsm.streams.update(config.name, await leaveRoom(jsm, config)),
    );
    // An older server silently ignores fields that it does not know.
    for (const field of ['allow_atomic', 'allow_msg_schedules', 'allow_msg_ttl'] as const) {
      if (config[field] === true && info.config[field] !== true) {
        throw new Error(`the NATS server does not support ${field} (stream ${config.name}); upgrade nats-server`);
      }
    }
  }
  for (const { stream, config } of consumerConfigs(regions)) {
    await addOrUpdate(
      () => jsm.consumers.add(stream, config),
      () => jsm.consumers.update(stream, config.durable_name, config),
    );
  }
}

/** Creates the bucket of the leader election. If it exists, it is not changed. */
export async function bootstrap(jsm: JetStreamManager, settings: StreamSettings): Promise<void> {
  for (const config of streamConfigs(settings).filter(({ name }) => name === streamNames.live)) {
    try {
      await jsm.streams.add(config);
    } catch (error) {
      if (!isDifferentConfig(error)) throw error;
    }
  }
}

/** Creates missing durables. Existing ones are not changed. */
export async function addDurables(jsm: JetStreamManager, regions: readonly Region[]): Promise<void> {
  for (const { stream, config } of consumerConfigs(regions)) {
    try {
      await jsm.consumers.add(stream, config);
    } catch (error) {
      if (!isDifferentConfig(error)) throw error;
    }
  }
}

async function addOrUpdate<T>(add: () => Promise<T>, update: () => Promise<T>): Promise<T> {
  try {
    return await add();
  } catch (error) {
    if (!isDifferentConfig(error)) throw error;
    return await update();
  }
}

async function leaveRoom<T extends Partial<StreamConfig> & { name: string }>(
  jsm: JetStreamManager,
  wanted: T,
): Promise<T> {
  const { max_bytes = -1 } = wanted;
  const { config, state } = await jsm.streams.info(wanted.name);
  if (wanted.discard !== 'new' || max_bytes === -1 || state.bytes < max_bytes) return wanted;
  return { ...wanted, max_bytes: config.max_bytes };
}

/** Maximum time in which a front settles a result. After it, NATS redelivers the result. */
const resultAckWaitMs = 30_000;

/** Stream settings that the operator chooses. */
export interface StreamSettings {
  /** Number of replicas: 1, or 3 on a cluster of at least three servers. */
  readonly replicas: number;
  /** Maximum size of each stream in bytes; -1 for no limit. */
  readonly maxBytes: Readonly<Record<keyof typeof streamNames, number>>;
}

/**
 * Maximum size of a result, 811 KiB. It contains the ticket of the job and no file; its texts and numbers and the state of a session take
 * less than 256 KiB.
 */
const maxResultBytes = maxTicketLength + 256 * 1024;

const dayMs = 86_400_000;

/** Returns the wanted configuration of every stream. All streams use file storage, because memory streams are lost in a restart. */
export function streamConfigs(settings: StreamSettings): readonly (Partial<StreamConfig> & { name: string })[] {
  const common = (stream: keyof typeof streamNames) => ({
    name: streamNames[stream],
    storage: 'file' as const,
    num_replicas: settings.replicas,
    max_bytes: settings.maxBytes[stream],
  });
  const bucket = (name: string) => ({
    subjects: [keySubject(name, '>')],
    retention: 'limits' as const,
    max_msgs_per_subject: 1,
    discard: 'new' as const,
    allow_direct: true,
    // Roll-up headers are forbidden: with them, a user who may write one key could remove all others.
    allow_rollup_hdrs: false,
    allow_msg_ttl: true,
    deny_delete: true,
  });
  return [
    { ...common('db'), ...bucket('db'), allow_atomic: true },
    // The bucket has no markers for expired entries (`subject_delete_marker_ttl`). With markers, the server allows roll-ups, and a
    // renderer, which may write its heartbeat, could remove everything with `Nats-Rollup: all`. Readers use the age of entries instead.
    { ...common('live'), ...bucket('live'), subject_delete_marker_ttl: 0 },
    // Missing entries are rendered again, so a full bucket may drop the oldest.
    { ...common('cache'), ...bucket('cache'), discard: 'old', max_age: nanos(maxLifetimeSeconds * 1000) },
    {
      ...common('captures'),
      subjects: [prefixed('captures.>')],
      retention: 'workqueue',
      discard: 'new',
      allow_direct: true,
      // A publish that timed out is retried under the same id until the capture's deadline.
      duplicate_window: nanos(10 * 60_000),
    },
    {
      ...common('results'),
      subjects: allRegions.map((region) => resultSubject(region, '*')),
      retention: 'workqueue',
      discard: 'new',
      max_msg_size: maxResultBytes,
      // Results of canary captures expire, because no front settles them if all fronts are down.
      allow_msg_ttl: true,
      // A renderer that received no answer publishes its result again.
      duplicate_window: nanos(2 * 60_000),
    },
    {
      ...common('tasks'),
      subjects: [prefixed('tasks.>'), prefixed('later.>')],
      retention: 'workqueue',
      // The server supports schedules with this policy only.
      discard: 'old',
      allow_msg_schedules: true,
      allow_direct: true,
    },
    {
      ...common('expiry'),
      subjects: [prefixed('expiry.>')],
      retention: 'limits',
      // The audit of the records restores lost entries.
      discard: 'old',
      allow_direct: true,
      // If the end of a capture is published twice, the second message follows within seconds.
      duplicate_window: nanos(2 * 60_000),
    },
    {
      ...common('dead'),
      subjects: [
        `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${streamNames.captures}.>`,
        `$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.${streamNames.captures}.>`,
      ],
      retention: 'workqueue',
      discard: 'old',
      max_age: nanos(7 * dayMs),
    },
    {
      ...common('files'),
      subjects: [prefixed('files.>')],
      retention: 'limits',
      // Publishers may create messages but never overwrite one, because a renderer must not replace files of others. `deny_delete` is not
      // set, because renderers have no right to delete by sequence anyway.
      discard: 'new',
      max_msgs_per_subject: 1,
      discard_new_per_subject: true,
      allow_rollup_hdrs: false,
      allow_direct: true,
      allow_msg_ttl: true,
    },
  ];
}

/**
 * Returns the wanted durables by stream: one for each region and priority, one for results, one for each kind of task, and one for the dead
 * letters.
 */
export function consumerConfigs(regions: readonly Region[]): readonly { stream: string; config: ConsumerSettings }[] {
  const captures = regions.flatMap((region) => [
    captureConsumer(region, 'interactive', 0),
    ...Array.from({ length: backgroundShards }, (_, shard) => captureConsumer(region, 'background', shard)),
  ]);
  return [
    ...captures.map((config) => ({ stream: streamNames.captures, config })),
    {
      stream: streamNames.results,
      config: {
        durable_name: resultDurable,
        ack_policy: 'explicit',
        ack_wait: nanos(resultAckWaitMs),
        max_ack_pending: 20_000,
        max_waiting: 4096,
      },
    },
    ...taskKinds.map((kind) => ({ stream: streamNames.tasks, config: taskConsumer(kind) })),
    {
      stream: streamNames.dead,
      config: { durable_name: deadLetterDurable, ack_policy: 'explicit', ack_wait: nanos(30_000) },
    },
  ];
}

export type ConsumerSettings = Partial<ConsumerConfig> & { durable_name: string };

function captureConsumer(region: Region, priority: Priority, shard: number): ConsumerSettings {
  return {
    durable_name: captureDurable(region, priority, shard),
    filter_subject: captureSubject(region, priority, shard),
    ack_policy: 'explicit',
    ack_wait: nanos(jobAckWaitMs),
    max_deliver: jobMaxDeliveries,
    max_ack_pending: 20_000,
    // Every renderer has a pending request; their number would soon exceed the default of 512.
    max_waiting: 4096,
  };
}

/** A task is redelivered until it is done, without a maximum number of attempts. The work itself decides when it is done. */
function taskConsumer(kind: TaskKind): ConsumerSettings {
  return {
    durable_name: taskDurable(kind),
    filter_subject: taskSubject(kind, '>'),
    ack_policy: 'explicit',
    ack_wait: nanos(taskAckWaitMs),
    // The number includes tasks that are redelivered later. The tasks of one account must not block all others.
    max_ack_pending: 100_000,
  };
}
