import { type KvEntry, Kvm } from '@nats-io/kv';
import { backoffMs, delay, onAbort, withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import type { NatsSession } from './connect.ts';
import { isTombstone } from './entries.ts';
import { bucketStream, keySubject, prefixed } from './streams.ts';

/** Interval of checks of a watch for a new connection, and for silence. */
const checkIntervalMs = 250;

/** A written value; null if it was deleted or has expired. `revision` distinguishes writes. */
export type Change<T> = { readonly key: string; readonly value: T | null; readonly revision: number };

/**
 * Watches the keys of a bucket that match `filter`: reports first the current values and then every change, until `signal` aborts. `reset`
 * precedes each complete read (the first, and those after a broken watch), so that deleted values can be forgotten. Never throws: a broken
 * watch is created again. If a value is not JSON, or is longer than `maxBytes`, it is skipped and does not end the watch for all others.
 *
 * A watch can break without an error, because its consumer lives in the memory of one server. If that server restarts, the client detects
 * that after two missed heartbeats of 30 s. If the stream is recreated, the client never detects that, because it waits for a sequence far
 * in the future. Therefore a watch ends with its connection and is created again after each reconnection. If another server of the cluster
 * has the consumer, the connection does not show its loss. For a bucket that is written constantly, a watch is therefore also considered
 * broken if it has been silent for `maxSilenceMs` after it has delivered something.
 */
export async function watchKeys<T>(
  session: NatsSession,
  options: {
    bucket: string;
    filter: string;
    log: Logger;
    signal: AbortSignal;
    maxSilenceMs?: number;
    maxBytes?: number;
  },
  on: {
    reset: () => void;
    change: (change: Change<T>) => void;
    malformed?: (key: string) => void;
    broken?: () => void;
  },
): Promise<void> {
  const { bucket, filter, log, signal, maxSilenceMs = Infinity } = options;
  let connection = '';
  for (let attempt = 1; !signal.aborted; attempt++) {
    // The delay belongs to an earlier connection and does not apply to this one.
    if (connectionId(session) !== connection) attempt = 1;
    connection = connectionId(session);
    try {
      const watch = await openWatch(session, options, Math.min(maxOpenTimeoutMs, openTimeoutMs * attempt));
      const opened = connection;
      let heardAt: number | null = null;
      const isSilent = () => heardAt !== null && performance.now() - heardAt > maxSilenceMs && session.connected();
      const timer = setInterval(() => {
        if (connectionId(session) !== opened || isSilent()) watch.stop();
      }, checkIntervalMs);
      // The signal may have aborted during the set-up of the watch.
      const stopListening = onAbort(signal, () => watch.stop());
      try {
        on.reset();
        attempt = 0;
        for await (const entry of watch) {
          heardAt = performance.now();
          const value = valueOf<T>(entry, options.maxBytes);
          if (value === undefined) on.malformed?.(entry.key);
          else on.change({ key: entry.key, value, revision: entry.revision });
        }
      } finally {
        clearInterval(timer);
        stopListening();
        on.broken?.();
      }
    } catch (error) {
      log.warn({ err: error, bucket, filter }, 'watch of a key-value bucket broke; restarting it');
    }
    await delay(backoffMs(attempt, 100, 5000), signal);
  }
}

/** Returns undefined for a malformed value. */
function valueOf<T>(entry: KvEntry, maxBytes = Infinity): T | null | undefined {
  if (entry.operation !== 'PUT' || entry.length === 0) return null;
  if (entry.length > maxBytes) return undefined;
  try {
    return entry.json<T>();
  } catch {
    return undefined;
  }
}

/**
 * Initial timeout of creating a watch. A restarted server does not answer while it loads its streams, so retrying is faster than waiting.
 * The timeout increases with each attempt, for slow servers.
 */
const openTimeoutMs = 1000;
const maxOpenTimeoutMs = 5000;

async function openWatch(session: NatsSession, { bucket, filter }: { bucket: string; filter: string }, ms: number) {
  const open = async () => (await new Kvm(session.js).open(prefixed(bucket))).watch({ key: filter });
  const opening = open();
  try {
    return await withDeadline(opening, ms, `setting up a watch of ${bucket}`);
  } catch (error) {
    // A watch that is created too late is stopped immediately.
    opening.then((late) => late.stop()).catch(() => undefined);
    throw error;
  }
}

/** A subscription to writes to keys of a bucket. */
export interface WriteWatch {
  /** Resolves when the watch receives no more writes. */
  readonly closed: Promise<unknown>;
  readonly stop: () => void;
}

/**
 * Listens to values that are written to the keys of a bucket that match `filter`, from the time at which the promise resolves. If its
 * connection is lost, it may miss values; the caller must stop it then. The client's own watch of updates is not used: it leaves its
 * consumer behind for five minutes, and starts at the beginning of the bucket if it is recreated before the first update.
 *
 * @param onWrite called with null for a removed value
 * @throws DeadlineError after `ms`, or the error of NATS
 */
export async function watchWrites<T>(
  { js, jsm }: Pick<NatsSession, 'js' | 'jsm'>,
  { bucket, filter }: { readonly bucket: string; readonly filter: string },
  onWrite: (value: T | null) => void,
  ms: number,
): Promise<WriteWatch> {
  const stream = bucketStream(bucket);
  const open = async () => {
    const { state } = await jsm.streams.info(stream);
    const options = { filter_subjects: keySubject(bucket, filter), opt_start_seq: state.last_seq + 1 };
    const consumer = await js.consumers.getPushConsumer(stream, options);
    const messages = await consumer.consume({
      callback: (message) => onWrite(isTombstone(message.headers) ? null : message.json<T>()),
    });
    const stop = () => {
      messages.stop();
      // If this fails, the server removes the consumer after five minutes.
      consumer.delete().catch(() => undefined);
    };
    return { closed: messages.closed(), stop };
  };
  const opening = open();
  try {
    return await withDeadline(opening, ms, `setting up a watch of ${bucket}`);
  } catch (error) {
    opening.then((late) => late.stop()).catch(() => undefined);
    throw error;
  }
}

/** Identifies a connection of the session. */
export function connectionId({ nc }: NatsSession): string {
  return `${nc.info?.server_id}:${nc.info?.client_id}`;
}
