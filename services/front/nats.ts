import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { backoffMs, delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { isTransient, isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';

/** Tracks the state of the connection to NATS, by the monotonic clock of this process. */
export class ConnectionMonitor {
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  #connected = true;
  #since: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#since = now();
  }

  /** Follows the connection until it is closed permanently. */
  async follow({ nc }: Pick<NatsSession, 'nc'>): Promise<void> {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') this.set(false);
      if (type === 'reconnect') this.set(true);
    }
    this.set(false);
  }

  set(connected: boolean): void {
    if (connected === this.#connected) return;
    this.#connected = connected;
    this.#since = this.#now();
    if (connected) for (const listener of this.#listeners) listener();
  }

  /** Milliseconds since the connection was established; 0 while it is down. */
  upForMs(): number {
    return this.#connected ? this.#now() - this.#since : 0;
  }

  /** Milliseconds since the connection was lost; 0 while it is up. */
  downForMs(): number {
    return this.#connected ? 0 : this.#now() - this.#since;
  }

  /** Calls the listener at each reconnection until the returned function is called. */
  onReconnect(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Default timeout of calls of NATS during a request. */
export const callTimeoutMs = 3000;

/**
 * Makes an idempotent call of NATS, with retries while NATS is unavailable, for at most `timeoutMs`.
 *
 * @param refusal message for the client if the call fails, such as "The capture cannot be changed right now."
 * @throws ServiceError INTERNAL_ERROR with that message; and other errors of the call
 */
export async function callNats<T>(call: () => Promise<T>, refusal: string, timeoutMs = callTimeoutMs): Promise<T> {
  try {
    return await withDeadline(retryTransient(call, { deadline: Date.now() + timeoutMs }), timeoutMs, 'asking NATS');
  } catch (cause) {
    if (!isTransient(cause) && !isWriteConflict(cause)) throw cause;
    throw natsUnavailable(refusal, cause);
  }
}

/**
 * Returns the error for clients if NATS does not answer.
 *
 * @param refusal as for {@link callNats}
 */
export function natsUnavailable(refusal: string, cause: unknown): ServiceError {
  return new ServiceError('INTERNAL_ERROR', `${refusal} Send the request again in a few seconds.`, { cause });
}

/** Waits until the controller has provisioned all wanted streams and consumers. Rejects if `signal` aborts. */
export async function waitUntilProvisioned(
  session: NatsSession,
  wanted: { streams: readonly string[]; durables?: readonly { stream: string; durable: string }[] },
  deps: { log: Logger; signal: AbortSignal },
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    deps.signal.throwIfAborted();
    try {
      for (const stream of wanted.streams) await session.jsm.streams.info(stream);
      for (const { stream, durable } of wanted.durables ?? []) await session.jsm.consumers.info(stream, durable);
      return;
    } catch (error) {
      if (attempt % 10 === 3) deps.log.warn({ err: error }, 'waiting for the controller to set up the streams');
      await delay(backoffMs(attempt, 100, 2000), deps.signal);
    }
  }
}
