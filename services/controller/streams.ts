import type { ConsumerConfig, JetStreamManager, StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { maxLifetimeSeconds } from '@webcapture/shared/api/capture-request.ts';
import { isDifferentConfig } from '@webcapture/shared/nats/api-errors.ts';
import {
  backgroundShards,
  captureDurable,
  captureSubject,
  deadLetterDurable,
  jobAckWaitMs,
  jobMaxDeliveries,
  type Priority,
  resultDurable,
  resultSubject,
  streamNames,
  taskAckWaitMs,
  taskDurable,
  type TaskKind,
  taskKinds,
} from '@webcapture/shared/nats/streams.ts';
import { regions as allRegions, type Region } from '@webcapture/shared/runtime/regions.ts';

/**
 * Brings all streams and durables to their wanted configuration; safe to repeat.
 * A stream that holds more than its new limit keeps the limit that it has, because it would refuse everything from then on.
 * Throws the server's error when it refuses, e.g. for three replicas on a single server.
 */
export async function provision(jsm: JetStreamManager, settings: StreamSettings, regions: readonly Region[]) {
  for (const config of streamConfigs(settings)) {
    const info = await addOrUpdate(
      () => jsm.streams.add(config),
      async () => jsm.streams.update(config.name, await leaveRoom(jsm, config)),
    );
    // An older server ignores fields that it does not know, in silence.
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

/** Creates the bucket in which leaders are elected. One that is there stays as it is. */
export async function bootstrap(jsm: JetStreamManager, settings: StreamSettings): Promise<void> {
  for (const config of streamConfigs(settings).filter(({ name }) => name === streamNames.live)) {
    try {
      await jsm.streams.add(config);
    } catch (error) {
      if (!isDifferentConfig(error)) throw error;
    }
  }
}

/** Creates the durables that do not exist, and does not change the others. */
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

/** How long a front may take to settle a result before another one gets it. */
const resultAckWaitMs = 30_000;

/** What the operator decides about all streams. */
export interface StreamSettings {
  /** 1, or 3 on a cluster of at least three servers. */
  readonly replicas: number;
  /** The most bytes of a stream; -1 for no limit of its own. */
  readonly maxBytes: Readonly<Record<keyof typeof streamNames, number>>;
}

/** A result brings no file; its texts and numbers take far less. */
const maxResultBytes = 256 * 1024;

const dayMs = 86_400_000;

/** The wanted configuration of every stream. All are kept in files: memory streams are gone after a restart. */
export function streamConfigs(settings: StreamSettings): readonly (Partial<StreamConfig> & { name: string })[] {
  const common = (stream: keyof typeof streamNames) => ({
    name: streamNames[stream],
    storage: 'file' as const,
    num_replicas: settings.replicas,
    max_bytes: settings.maxBytes[stream],
  });
  const bucket = (name: string) => ({
    subjects: [`$KV.${name}.>`],
    retention: 'limits' as const,
    max_msgs_per_subject: 1,
    discard: 'new' as const,
    allow_direct: true,
    // Who may write one key could remove all others with one header.
    allow_rollup_hdrs: false,
    allow_msg_ttl: true,
    deny_delete: true,
  });
  return [
    { ...common('db'), ...bucket('db'), allow_atomic: true },
    // No markers for what expires (`subject_delete_marker_ttl`): the server allows roll-ups where it leaves them, and a
    // renderer, which may write its heartbeat, could remove everything with `Nats-Rollup: all`. Readers judge by age.
    { ...common('live'), ...bucket('live'), subject_delete_marker_ttl: 0 },
    // What is not there is rendered anew: a full bucket loses the oldest entries.
    { ...common('cache'), ...bucket('cache'), discard: 'old', max_age: nanos(maxLifetimeSeconds * 1000) },
    {
      ...common('captures'),
      subjects: ['captures.>'],
      retention: 'workqueue',
      discard: 'new',
      allow_direct: true,
      // A publish that timed out is sent again under the same id for as long as its capture may wait.
      duplicate_window: nanos(10 * 60_000),
    },
    {
      ...common('results'),
      subjects: allRegions.map((region) => resultSubject(region, '*')),
      retention: 'workqueue',
      discard: 'new',
      max_msg_size: maxResultBytes,
      // The results of test captures, which nobody settles while no front is up.
      allow_msg_ttl: true,
      // A renderer that had no answer sends its result again.
      duplicate_window: nanos(2 * 60_000),
    },
    {
      ...common('tasks'),
      subjects: ['tasks.>', 'later.>'],
      retention: 'workqueue',
      // The server has schedules with this policy only.
      discard: 'old',
      allow_msg_schedules: true,
      allow_direct: true,
    },
    {
      ...common('expiry'),
      subjects: ['expiry.>'],
      retention: 'limits',
      // What is lost is found again from the records.
      discard: 'old',
      allow_direct: true,
      // Whoever ends a capture twice does so within moments.
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
      subjects: ['files.>'],
      retention: 'limits',
      // Who may publish may create a message and never overwrite one: renderers are not trusted with the files of others.
      // (Deleting by sequence is a right of the API, which they lack. `deny_delete` could never be taken back, which would
      // keep the version before from starting.)
      discard: 'new',
      max_msgs_per_subject: 1,
      discard_new_per_subject: true,
      allow_rollup_hdrs: false,
      allow_direct: true,
      allow_msg_ttl: true,
    },
  ];
}

/** The wanted durables, by stream: one for each region and priority, for results, for each kind of task, and for the dead letters. */
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
    // Every renderer has a request waiting; the default of 512 is soon passed.
    max_waiting: 4096,
  };
}

/** A task is delivered until it is done: what it is about ends it, not the number of tries. */
function taskConsumer(kind: TaskKind): ConsumerSettings {
  return {
    durable_name: taskDurable(kind),
    filter_subject: `tasks.${kind}.>`,
    ack_policy: 'explicit',
    ack_wait: nanos(taskAckWaitMs),
    // Tasks that were nak'd count as well, and those of one account must not stop all others.
    max_ack_pending: 100_000,
  };
}
