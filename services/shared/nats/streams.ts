import type { StreamConfig, ConsumerConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { maxLifetimeSeconds } from '../api/capture-request.ts';
import { regions as allRegions, type Region } from '../runtime/regions.ts';

/** Queues of a region: a request that a client waits for, and background captures. */
export type Priority = 'interactive' | 'background';

/** Names of the streams. A `KV_` stream is a key-value bucket: its subjects are `$KV.<bucket>.<key>`. */
export const streamNames = {
  db: 'KV_db',
  live: 'KV_live',
  cache: 'KV_cache',
  captures: 'CAPTURES',
  results: 'RESULTS',
  tasks: 'TASKS',
  expiry: 'EXPIRY',
  dead: 'DEAD',
  files: 'FILES',
} as const;

/** Background captures of a region are spread over so many subjects, by account, and served in turn. */
export const backgroundShards = 8;

/**
 * How long a renderer may be silent about a job before the server delivers it to another one. A consumer whose leader died
 * has a new one after 4 to 13 s, which goes by the old times: with less, all that runs would be delivered again. The
 * leader of the fleet naks the jobs of a renderer that falls silent long before that.
 */
export const jobAckWaitMs = 30_000;

/** How often a renderer tells the server that it is still at work. */
export const jobProgressIntervalMs = 4000;

/** After so many deliveries a job is settled as failed. */
export const jobMaxDeliveries = 3;

export const captureSubject = (region: Region, priority: Priority, shard = 0): string =>
  priority === 'interactive' ? `captures.${region}.interactive` : `captures.${region}.background.${shard}`;

export const captureDurable = (region: Region, priority: Priority, shard = 0): string =>
  priority === 'interactive' ? `${region}-interactive` : `${region}-background-${shard}`;

/** Where a renderer publishes what became of a job, until a trusted service has settled it. */
export const resultSubject = (region: Region, uuid: string): string => `results.${region}.${uuid}`;

/** Fronts take results of all regions from one durable. */
export const resultDurable = 'settle';

/** How long a front may take to settle a result before another one gets it. */
const resultAckWaitMs = 30_000;

/** The region that a result or a reply came from: the server lets a renderer publish under its own alone. */
export const regionOfSubject = (subject: string): Region | null =>
  allRegions.find((region) => region === subject.split('.')[1]) ?? null;

/** Where a front hears of its jobs (core NATS); `inbox` is the front's own, or the one that fronts share. */
export const replySubject = (region: Region, inbox: string, uuid: string): string =>
  `replies.${region}.${inbox}.${uuid}`;

/** The inbox of jobs that nobody waits for. */
export const sharedInbox = 'any';

/** Where a renderer tells which job it has taken (core NATS): see `HeldJob`. */
export const heldSubject = (region: Region, pod: string): string => `held.${region}.${pod}`;

/** Where renderers of a region hear what is new (core NATS): see `RegionSignal`. */
export const signalSubject = (region: Region): string => `signals.${region}`;

/** Kinds of work that the leader of the fleet does at its time; each has a durable of its own. */
export const taskKinds = ['dispatch', 'expiry', 'refresh', 'webhook'] as const;
export type TaskKind = (typeof taskKinds)[number];

/** Where a task waits for the leader. `name` is unique to what it is about. */
export const taskSubject = (kind: TaskKind, name: string): string => `tasks.${kind}.${name}`;

/** Where a task waits for its time. */
export const laterSubject = (kind: TaskKind, name: string): string => `later.${kind}.${name}`;

/**
 * Where captures are noted that expire in a minute of a day (`yyyymmdd`, `hhmm`, in UTC); without a minute, on that day.
 * Any number of captures share a subject: the server keeps each subject in memory, but not each message.
 */
export const expirySubject = (day: string, minute?: string): string =>
  minute === undefined ? `expiry.${day}` : `expiry.${day}.${minute}`;

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
      // Each region by its name: version 0.1 announced on subjects of the same form.
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

export const deadLetterDurable = 'dead-letters';

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
