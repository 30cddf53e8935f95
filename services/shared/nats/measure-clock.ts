import type { ApiError } from '@nats-io/jetstream';
import { backoffMs, delay } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import type { NatsSession } from './connect.ts';
import type { ClockSample } from './server-clock.ts';
import { streamNames } from './streams.ts';

const samplesAtOnce = 5;
const sampleTimeoutMs = 2000;

/** Interval of measurements. The clocks of two machines drift by some milliseconds an hour. */
const measureIntervalMs = 60_000;

/** Minimum difference between the local clock and the server's that is logged. */
const notableMs = 1000;

/** Measures the server's time by reading from the leader of a stream that is read constantly. Throws if the server does not answer. */
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
 * Keeps the session's clock accurate until the signal aborts. Measures it when the streams exist, then periodically, and after each
 * reconnection, because the new server may have another clock. Only for processes that may use the JetStream API. Never throws.
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
    // The controller is created before the measurement, so that a reconnection during the measurement is not missed.
    reconnected = new AbortController();
    try {
      await measureClock(session);
      failures = 0;
      const aheadMs = Math.round(session.clock.localAheadMs);
      if (Math.abs(aheadMs) > notableMs && !noted) {
        noted = true;
        log.warn(
          { aheadMs },
          'the clock of this machine differs from that of the NATS server; using the time of the server',
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
