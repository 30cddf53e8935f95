import type { StreamConfig, ConsumerConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { Lane } from '../contract/capture-job.ts';
import { maxLifetimeSeconds } from '../contract/capture-request.ts';
import type { Region } from '../contract/regions.ts';

/** Names of the streams. A `KV_` stream is a key-value bucket: its subjects are `$KV.<bucket>.<key>`. */
export const streamNames = {
  db: 'KV_db',
  live: 'KV_live',
  cache: 'KV_cache',
  captures: 'CAPTURES',
  tasks: 'TASKS',
  dead: 'DEAD',
  files: 'FILES',
} as const;

/** Background captures of a region are spread over so many subjects, by account, and served in turn. */
export const backgroundShards = 8;

/** How long a renderer may be silent about a job before the job is delivered to another one. */
export const jobAckWaitMs = 5000;

/** After so many deliveries a job is settled as failed. */
export const jobMaxDeliveries = 3;

export const captureSubject = (region: Region, lane: Lane, shard = 0): string =>
  lane === 'interactive' ? `captures.${region}.interactive` : `captures.${region}.background.${shard}`;

export const captureDurable = (region: Region, lane: Lane, shard = 0): string =>
  lane === 'interactive' ? `${region}-interactive` : `${region}-background-${shard}`;

/** Kinds of work that the leader of the fleet does at its time; each has a durable of its own. */
export const taskKinds = ['dispatch', 'expiry', 'refresh', 'webhook'] as const;
export type TaskKind = (typeof taskKinds)[number];

/** Where a task waits for the leader. `name` is unique to what it is about. */
export const taskSubject = (kind: TaskKind, name: string): string => `tasks.${kind}.${name}`;

/** Where a task waits for its time. */
export const laterSubject = (kind: TaskKind, name: string): string => `later.${kind}.${name}`;

export const taskDurable = (kind: TaskKind): string => `tasks-${kind}`;

/** How long the leader may be silent about a task before it is delivered again. */
export const taskAckWaitMs = 30_000;

/** What the operator decides about all streams. */
export interface StreamSettings {
  /** 1, or 3 on a cluster of at least three servers. */
  readonly replicas: number;
  /** The most bytes of a stream; -1 for no limit of its own. */
  readonly maxBytes: Readonly<Record<keyof typeof streamNames, number>>;
}

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
    allow_rollup_hdrs: true,
    allow_msg_ttl: true,
    deny_delete: true,
  });
  return [
    { ...common('db'), ...bucket('db'), allow_atomic: true },
    // Watchers hear of an expired heartbeat by the marker that the server leaves for a while.
    { ...common('live'), ...bucket('live'), subject_delete_marker_ttl: nanos(60_000) },
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
      ...common('tasks'),
      subjects: ['tasks.>', 'later.>'],
      retention: 'workqueue',
      // The server has schedules with this policy only.
      discard: 'old',
      allow_msg_schedules: true,
      allow_direct: true,
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
      discard: 'new',
      max_msgs_per_subject: 1,
      allow_direct: true,
      allow_rollup_hdrs: true,
      allow_msg_ttl: true,
    },
  ];
}

/** The wanted durables, by stream: one for each region and lane, for each kind of task, and for the dead letters. */
export function consumerConfigs(regions: readonly Region[]): readonly { stream: string; config: ConsumerSettings }[] {
  const captures = regions.flatMap((region) => [
    captureConsumer(region, 'interactive', 0),
    ...Array.from({ length: backgroundShards }, (_, shard) => captureConsumer(region, 'background', shard)),
  ]);
  return [
    ...captures.map((config) => ({ stream: streamNames.captures, config })),
    ...taskKinds.map((kind) => ({ stream: streamNames.tasks, config: taskConsumer(kind) })),
    {
      stream: streamNames.dead,
      config: { durable_name: deadLetterDurable, ack_policy: 'explicit', ack_wait: nanos(30_000) },
    },
  ];
}

export type ConsumerSettings = Partial<ConsumerConfig> & { durable_name: string };

export const deadLetterDurable = 'dead-letters';

function captureConsumer(region: Region, lane: Lane, shard: number): ConsumerSettings {
  return {
    durable_name: captureDurable(region, lane, shard),
    filter_subject: captureSubject(region, lane, shard),
    ack_policy: 'explicit',
    ack_wait: nanos(jobAckWaitMs),
    max_deliver: jobMaxDeliveries,
    max_ack_pending: 20_000,
    // Every slot of every renderer may have a request waiting; the default of 512 is soon passed.
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
    // Tasks that were handed back count as well, and those of one account must not stop all others.
    max_ack_pending: 100_000,
  };
}
