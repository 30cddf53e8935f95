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

/**
 * Background captures of a region are distributed over this many subjects by account; renderers pull from them
 * alternately.
 */
export const backgroundShards = 8;

/**
 * How long a renderer may be silent about a job before the server delivers it to another one. A consumer whose leader died
 * has a new one after 4 to 13 s, which goes by the old times: with less, all that runs would be delivered again. The
 * leader of the fleet naks the jobs of a renderer that falls silent long before that.
 */
export const jobAckWaitMs = 30_000;

/** Interval at which a renderer signals the server that it is working on a job. */
export const jobProgressIntervalMs = 4000;

/** A job is settled as failed after this many deliveries. */
export const jobMaxDeliveries = 3;

export const captureSubject = (region: Region, priority: Priority, shard = 0): string =>
  priority === 'interactive' ? `captures.${region}.interactive` : `captures.${region}.background.${shard}`;

export const captureDurable = (region: Region, priority: Priority, shard = 0): string =>
  priority === 'interactive' ? `${region}-interactive` : `${region}-background-${shard}`;

/** The durable that delivers the jobs on a subject. */
export const durableOfSubject = (subject: string): string => subject.split('.').slice(1).join('-');

/** Where a renderer publishes what became of a job, until a trusted service has settled it. */
export const resultSubject = (region: Region, uuid: string): string => `results.${region}.${uuid}`;

/** Fronts take results of all regions from one durable. */
export const resultDurable = 'settle';

/** The region that a result or a reply came from: the server lets a renderer publish under its own alone. */
export const regionOfSubject = (subject: string): Region | null =>
  allRegions.find((region) => region === subject.split('.')[1]) ?? null;

/** Where a front hears of its jobs (core NATS); `inbox` is the front's own, or the one that fronts share. */
export const replySubject = (region: Region, inbox: string, uuid: string): string =>
  `replies.${region}.${inbox}.${uuid}`;

/** The inbox of jobs without a waiting front. */
export const sharedInbox = 'any';

/** Subject on which a renderer reports the job that it has taken (core NATS): see `HeldJob`. */
export const heldSubject = (region: Region, pod: string): string => `held.${region}.${pod}`;

/** Where renderers of a region hear what is new (core NATS): see `RegionSignal`. */
export const signalSubject = (region: Region): string => `signals.${region}`;

/** Kinds of scheduled work of the fleet's leader; each has a durable. */
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

/** Where the leader finds the server's advisories of jobs that were given up. */
export const deadLetterDurable = 'dead-letters';
