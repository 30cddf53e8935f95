import { JetStreamApiError } from '@nats-io/jetstream';
import { jserrors, JetStreamStatusError } from '@nats-io/jetstream/internal';
import { ConnectionError, NoRespondersError, TimeoutError } from '@nats-io/nats-core';
import { DeadlineError } from '../lifecycle/deadline.ts';

/** Error codes of the JetStream API that we act upon (server/errors.json of nats-server). */
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

const codeOf = (error: unknown): number | undefined => (error instanceof JetStreamApiError ? error.code : undefined);

/** Somebody else wrote first: the compare-and-set failed, nothing was written. */
export function isWriteConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.wrongLastSequence || code === codes.wrongLastSequenceUnknown;
}

/** The stream holds all that it may (`max_bytes` with `discard: new`). */
export function isStreamFull(error: unknown): boolean {
  return codeOf(error) === codes.storeFailed;
}

export function isMessageMissing(error: unknown): boolean {
  // Reading many messages at once tells it by a status instead.
  if (error instanceof JetStreamStatusError) return error.code === 404;
  return codeOf(error) === codes.messageNotFound;
}

/** The stream or consumer is not there (yet). */
export function isNotProvisioned(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.streamNotFound || code === codes.consumerNotFound;
}

/** The stream or consumer exists with another configuration. */
export function isDifferentConfig(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.streamNameInUse || code === codes.consumerExists;
}

/** Nobody listens on the subject; of a JetStream API subject: the stream or consumer is not there or has no leader. */
export function isNoResponders(error: unknown): boolean {
  return error instanceof NoRespondersError || (error instanceof Error && error.cause instanceof NoRespondersError);
}

/**
 * The server did not answer in time, or is not (yet) there: the call may work when it is made again. What a call that
 * failed so was to write may have been written.
 */
export function isTransient(error: unknown): boolean {
  if (isNoResponders(error) || error instanceof TimeoutError || error instanceof DeadlineError) return true;
  if (error instanceof JetStreamApiError) return error.status === 503 || isNotProvisioned(error);
  return error instanceof ConnectionError || error instanceof jserrors.JetStreamNotEnabled;
}
