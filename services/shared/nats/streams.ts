import { regions as allRegions, type Region } from '../runtime/regions.ts';

/** The rule for the prefix of the names of a fleet, worded for messages. */
export const namePrefixRule = '1 to 32 letters, digits, "-" or "_"';

/**
 * Whether a text may be the prefix of the names of a fleet. An empty text means that there is no prefix. NATS allows more characters, but
 * not in all names.
 */
export const isNamePrefix = (text: string): boolean => /^[A-Za-z0-9_-]{0,32}$/.test(text);

/** Returns the text before each name of a fleet with this prefix: `<prefix>-`, or an empty text. */
export const beforeNames = (prefix: string): string => (prefix === '' ? '' : `${prefix}-`);

/** Queues of a region: captures with a waiting client, and background captures. */
export type Priority = 'interactive' | 'background';

/** The streams, with their names in a fleet without a prefix; metrics always use these names. */
export const streamLabels = {
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

/** Names of the streams. A `KV_` stream is a key-value bucket: its subjects are `$KV.<bucket>.<key>`. */
export const streamNames: Readonly<Record<keyof typeof streamLabels, string>> = { ...streamLabels };

/** Prefix of all names with its hyphen, or an empty text. */
let namePrefix = '';

/**
 * Sets the prefix of the names of all streams, buckets, subjects and inboxes of this process. A process belongs to one fleet, so this
 * function is called once, before the first name is used.
 */
export function setNamePrefix(prefix: string): void {
  namePrefix = beforeNames(prefix);
  const names = Object.entries(streamLabels).map(([stream, label]) => [
    stream,
    label.startsWith('KV_') ? bucketStream(label.slice('KV_'.length)) : prefixed(label),
  ]);
  Object.assign(streamNames, Object.fromEntries(names));
}

/** Adds the fleet's prefix to the name of a stream or bucket, or to the first token of a subject. */
export const prefixed = (name: string): string => `${namePrefix}${name}`;

/** Returns the name of the stream of a key-value bucket. */
export const bucketStream = (bucket: string): string => `KV_${prefixed(bucket)}`;

/** Returns the subject of a key of a bucket, or of the keys that match a filter. */
export const keySubject = (bucket: string, key: string): string => `$KV.${prefixed(bucket)}.${key}`;

/** Returns the prefix of the subjects for replies to a service. */
export const inboxPrefixOf = (service: string): string => `_INBOX.${prefixed(service)}`;

/** Number of subjects over which background captures of a region are distributed by account. Renderers pull from them alternately. */
export const backgroundShards = 8;

/**
 * Time without progress after which the server redelivers a job to another renderer. If the leader of a consumer dies, the new one starts
 * after 4 to 13 s and uses the old times. With a shorter ack wait, it would redeliver all running jobs. The leader of the fleet naks the
 * jobs of silent renderers much earlier.
 */
export const jobAckWaitMs = 30_000;

/** Interval at which a renderer signals the server that it is working on a job. */
export const jobProgressIntervalMs = 4000;

/** Number of deliveries after which a job is settled as failed. */
export const jobMaxDeliveries = 3;

export const captureSubject = (region: Region, priority: Priority, shard = 0): string =>
  prefixed(priority === 'interactive' ? `captures.${region}.interactive` : `captures.${region}.background.${shard}`);

export const captureDurable = (region: Region, priority: Priority, shard = 0): string =>
  priority === 'interactive' ? `${region}-interactive` : `${region}-background-${shard}`;

/** Returns the durable that delivers the jobs on a subject. */
export const durableOfSubject = (subject: string): string => subject.split('.').slice(1).join('-');

/** Returns the subject on which a renderer publishes the result of a job. The result stays there until a trusted service has settled it. */
export const resultSubject = (region: Region, uuid: string): string => prefixed(`results.${region}.${uuid}`);

/** Fronts take results of all regions from one durable. */
export const resultDurable = 'settle';

/** Returns the region of a result or a reply. The server permits renderers to publish only for their own region. */
export const regionOfSubject = (subject: string): Region | null =>
  allRegions.find((region) => region === subject.split('.')[1]) ?? null;

/** Returns the subject of replies to a front about its jobs (core NATS). `inbox` belongs to the front, or is shared by all fronts. */
export const replySubject = (region: Region, inbox: string, uuid: string): string =>
  prefixed(`replies.${region}.${inbox}.${uuid}`);

/** The inbox of jobs without a waiting front. */
export const sharedInbox = 'any';

/** Returns the subject on which a renderer reports the job that it has taken (core NATS): see `HeldJob`. */
export const heldSubject = (region: Region, pod: string): string => prefixed(`held.${region}.${pod}`);

/** Returns the subject of signals to the renderers of a region (core NATS): see `RegionSignal`. */
export const signalSubject = (region: Region): string => prefixed(`signals.${region}`);

/** Kinds of scheduled work of the fleet's leader; each has a durable. */
export const taskKinds = ['dispatch', 'expiry', 'refresh', 'webhook', 'batch'] as const;
export type TaskKind = (typeof taskKinds)[number];

/** Returns the subject of a task that is due. `name` is unique for the object of the task. */
export const taskSubject = (kind: TaskKind, name: string): string => prefixed(`tasks.${kind}.${name}`);

/** Returns the subject of a task that is not due yet. */
export const laterSubject = (kind: TaskKind, name: string): string => prefixed(`later.${kind}.${name}`);

/**
 * Returns the subject of captures that expire in a minute (`hhmm`, UTC) of a day (`yyyymmdd`), or on a day if there is no minute. Many
 * captures share a subject, because the server keeps each subject in memory, but not each message.
 */
export const expirySubject = (day: string, minute?: string): string =>
  prefixed(minute === undefined ? `expiry.${day}` : `expiry.${day}.${minute}`);

export const taskDurable = (kind: TaskKind): string => `tasks-${kind}`;

/** Time after which a task is redelivered if the leader reports no progress. */
export const taskAckWaitMs = 30_000;

/** The durable for the server's advisories about jobs that it no longer delivers. */
export const deadLetterDurable = 'dead-letters';
