import { JetStreamApiError } from '@nats-io/jetstream';
import { jserrors, JetStreamStatusError } from '@nats-io/jetstream/internal';
import { ConnectionError, NoRespondersError, TimeoutError } from '@nats-io/nats-core';
import { DeadlineError } from '../runtime/deadline.ts';

/** Error codes of the JetStream API that the services handle (server/errors.json of nats-server). */
const codes = {
  messageNotFound: 10037,
  streamNameInUse: 10058,
  streamNotFound: 10059,
  consumerNotFound: 10014,
  wrongLastSequence: 10071,
  storeFailed: 10077,
  wrongLastSequenceUnknown: 10164,
  consumerExists: 10148,
} as const;

/**
 * Error codes after which a retry may succeed, although their HTTP-like status is not 503: the server starts, stops, elects a leader, or is
 * temporarily short of a resource. Full disks and used-up limits belong to them, since files expire. Every caller that retries has a
 * deadline.
 */
const transientCodes: ReadonlySet<number> = new Set([
  10002, // the account's limits are used up
  10005, // too few servers of the cluster are up
  10007, // this server has not been given the stream yet
  10009, // this server is not the leader any more
  10028, // memory of the server is used up
  10041, // the replicas could not agree
  10047, // disk of the server is used up
  10096, // the stream is just being closed
  10118, // the stream is offline
  10119, // the consumer is offline
  10158, // an attempt with the same message id is not stored yet, and may never be
  10176, // parts of an atomic batch were lost, e.g. with a leader that stopped; nothing of it was written
  10194, // the stream is offline, with a reason
  10195, // the consumer is offline, with a reason
  10202, // the cluster is being changed
  10210, // too many atomic batches are under way
]);

/** Errors with status 503 that are permanent. */
const lasting503: ReadonlySet<number> = new Set([
  10010, // needs a cluster
  10036, // is not supported in a cluster
]);

/** Statuses of direct gets, which have no error code. They mean that the server is busy, or that its store is not available yet. */
const transientStatuses: ReadonlySet<number> = new Set([408, 429, 503]);

/**
 * Text of the server's error for a failed write while it closes the stream during a shutdown. Only the text shows this, because other
 * errors with the same code are permanent.
 */
const storeClosed = 'store is closed';

const codeOf = (error: unknown): number | undefined => (error instanceof JetStreamApiError ? error.code : undefined);

/** Returns whether a compare-and-set failed because another client wrote first. Nothing was written then. */
export function isWriteConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.wrongLastSequence || code === codes.wrongLastSequenceUnknown;
}

/** Whether the stream is full (`max_bytes` with `discard: new`), so that retries do not help. */
export function isStreamFull(error: unknown): boolean {
  return codeOf(error) === codes.storeFailed && !isStoreClosed(error) && !isSubjectTaken(error);
}

function isStoreClosed(error: unknown): boolean {
  return error instanceof Error && error.message.includes(storeClosed);
}

/**
 * Whether the subject already has a message in a stream that allows one for each subject (`discard_new_per_subject`). Nothing was written
 * then. The server uses one code for this error and for a full stream; only the text differs (ErrMaxMsgsPerSubject in server/store.go).
 */
export function isSubjectTaken(error: unknown): boolean {
  return codeOf(error) === codes.storeFailed && (error as Error).message.includes('per subject');
}

export function isMessageMissing(error: unknown): boolean {
  // A read of several messages reports this error as a status instead.
  if (error instanceof JetStreamStatusError) return error.code === 404;
  return codeOf(error) === codes.messageNotFound;
}

/** Whether the stream or consumer does not exist (yet). */
export function isNotProvisioned(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.streamNotFound || code === codes.consumerNotFound;
}

/** Whether the stream or consumer exists with another configuration. */
export function isDifferentConfig(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.streamNameInUse || code === codes.consumerExists;
}

/** Whether the subject has no subscriber. A JetStream API subject has none if the stream or consumer does not exist or has no leader. */
export function isNoResponders(error: unknown): boolean {
  return error instanceof NoRespondersError || (error instanceof Error && error.cause instanceof NoRespondersError);
}

/**
 * Returns whether the server did not answer in time or is unavailable, so that a retry may succeed. The failed call may
 * still have written.
 */
export function isTransient(error: unknown): boolean {
  if (isNoResponders(error) || error instanceof TimeoutError || error instanceof DeadlineError) return true;
  if (error instanceof JetStreamApiError) {
    if (error.code === codes.storeFailed) return isStoreClosed(error);
    if (lasting503.has(error.code)) return false;
    return error.status === 503 || isNotProvisioned(error) || transientCodes.has(error.code);
  }
  if (error instanceof JetStreamStatusError) return transientStatuses.has(error.code);
  return error instanceof ConnectionError || error instanceof jserrors.JetStreamNotEnabled;
}
