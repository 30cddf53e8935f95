import { type KvEntry, Kvm } from '@nats-io/kv';
import { backoffMs, delay, onAbort, withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import type { NatsSession } from './connect.ts';
import { isTombstone } from './entries.ts';

/** How often a watch is checked for a connection that has changed, and for silence. */
const checkIntervalMs = 250;

/** A value that was written, or null when it was deleted or has expired; `revision` distinguishes writes. */
export type Change<T> = { readonly key: string; readonly value: T | null; readonly revision: number };

/**
 * Watches the keys of a bucket that match `filter`: first the current values, then every change, until `signal` aborts. `reset` precedes
 * each complete read (the first, and after a broken watch), so that deleted values can be forgotten. Never throws: a broken watch is
 * created again, also after each reconnection, and when a bucket that is written constantly has been silent for `maxSilenceMs`. A value that
 * is not JSON, or longer than `maxBytes`, is skipped, so that it does not end the watch for all others.
 *
 * A watch can die silently. Its consumer lives in the memory of one server: when that server restarts, the client notices after two missed
 * heartbeats of 30 s, and never on a recreated stream, because it waits for a sequence far in the future. So a watch ends with its
 * connection; and where something is written constantly, a watch that falls silent after it has delivered something (another server of the
 * cluster held its consumer) is dead as well.
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
    // What a connection before took long for is nothing against this one.
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
      // It may have aborted while the watch was being set up.
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
      log.warn({ err: error, bucket, filter }, 'a watch of a key-value bucket broke; starting it again');
    }
    await delay(backoffMs(attempt, 100, 5000), signal);
  }
}

/** Undefined: malformed. */
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
 * A server that restarts does not answer while it reads its streams: asking again is quicker than waiting for what will
 * not come. One that is only slow gets longer each time.
 */
const openTimeoutMs = 1000;
const maxOpenTimeoutMs = 5000;

async function openWatch(session: NatsSession, { bucket, filter }: { bucket: string; filter: string }, ms: number) {
  const open = async () => (await new Kvm(session.js).open(bucket)).watch({ key: filter });
  const opening = open();
  try {
    return await withDeadline(opening, ms, `setting up a watch of ${bucket}`);
  } catch (error) {
    // A late watch is stopped at once.
    opening.then((late) => late.stop()).catch(() => undefined);
    throw error;
  }
}

/** Writes to keys of a bucket, as they happen. */
export interface WriteWatch {
  /** Resolves when nothing more is heard. */
  readonly closed: Promise<unknown>;
  readonly stop: () => void;
}

/**
 * Listens to the values that are written to the keys of a bucket that match `filter`, from the moment when this resolves. It may miss some
 * when its connection is lost: the caller must stop it then. The client's own watch of updates leaves its consumer behind for five minutes,
 * and starts at the beginning of the bucket when it is recreated before the first update.
 *
 * @param onWrite gets null for a removed value
 * @throws DeadlineError after `ms`, or the error of NATS
 */
export async function watchWrites<T>(
  { js, jsm }: Pick<NatsSession, 'js' | 'jsm'>,
  { bucket, filter }: { readonly bucket: string; readonly filter: string },
  onWrite: (value: T | null) => void,
  ms: number,
): Promise<WriteWatch> {
  const stream = `KV_${bucket}`;
  const open = async () => {
    const { state } = await jsm.streams.info(stream);
    const options = { filter_subjects: `$KV.${bucket}.${filter}`, opt_start_seq: state.last_seq + 1 };
    const consumer = await js.consumers.getPushConsumer(stream, options);
    const messages = await consumer.consume({
      callback: (message) => onWrite(isTombstone(message.headers) ? null : message.json<T>()),
    });
    const stop = () => {
      messages.stop();
      // One that is left behind goes by itself after five minutes.
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

/** Differs from one connection of the session to the next. */
export function connectionId({ nc }: NatsSession): string {
  return `${nc.info?.server_id}:${nc.info?.client_id}`;
}
