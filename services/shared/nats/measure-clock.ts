import type { ApiError } from '@nats-io/jetstream';
import { backoffMs, delay } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import type { NatsSession } from './connect.ts';
import type { ClockSample } from './server-clock.ts';
import { streamNames } from './streams.ts';

const samplesAtOnce = 5;
const sampleTimeoutMs = 2000;

/** The clocks of two machines go apart by some milliseconds an hour. */
const measureIntervalMs = 60_000;

/** A local clock that is off by more is worth a line in the log. */
const notableMs = 1000;

/** Asks the server what time it is: the leader of a stream that is read all the time. Throws when it does not answer. */
export async function measureClock({
  nc,
  apiPrefix,
  clock,
}: Pick<NatsSession, 'nc' | 'apiPrefix' | 'clock'>): Promise<void> {
  const samples: ClockSample[] = [];
  for (let count = 0; count < samplesAtOnce; count++) {
    const sentAt = clock.monotonic();
    const message = await nc.request(`${apiPrefix}.STREAM.INFO.${streamNames.live}`, '', { timeout: sampleTimeoutMs });
    const receivedAt = clock.monotonic();
    const answer = message.json<{ readonly ts?: string; readonly error?: ApiError }>();
    if (answer.ts === undefined) throw new Error(answer.error?.description ?? 'the NATS server sent no time');
    samples.push({ serverTimeMs: Date.parse(answer.ts), sentAt, receivedAt });
  }
  clock.measure(samples);
}

/**
 * Keeps the session's clock right, until the signal aborts: measures it as soon as the streams are there, then now and then, and after
 * each reconnection, since it may be another server. For processes that may ask JetStream. Never throws.
 */
export async function followServerClock(
  session: NatsSession,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<void> {
  let reconnected = new AbortController();
  let noted = false;
  const unsubscribe = session.onStatus(({ type }) => {
    if (type === 'reconnect') reconnected.abort();
  });
  for (let failures = 0; !signal.aborted;) {
    // A reconnection during the measurement is not missed.
    reconnected = new AbortController();
    try {
      await measureClock(session);
      failures = 0;
      const aheadMs = Math.round(session.clock.localAheadMs);
      if (Math.abs(aheadMs) > notableMs && !noted) {
        noted = true;
        log.warn(
          { aheadMs },
          'the clock of this machine differs from that of the NATS server; the time of the server counts',
        );
      }
    } catch (error) {
      failures++;
      log.debug({ err: error }, 'the clock of the NATS server could not be read; trying again');
    }
    const waitMs = failures === 0 ? measureIntervalMs : backoffMs(failures, 250, 5000);
    await delay(waitMs, AbortSignal.any([signal, reconnected.signal]));
  }
  unsubscribe();
}
