import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import type { Term } from './election.ts';

const pullMs = 2000;

/**
 * Waits a while for a message of a durable; null when there was none. A term that ends does not wait for the wait: what
 * comes late goes to the successor.
 */
export async function pullInTerm(
  session: NatsSession,
  stream: string,
  durable: string,
  term: Term,
): Promise<PulledMessage | null> {
  const pulling = pullOne(session.nc, stream, durable, pullMs);
  const message = await unlessAborted(pulling, term.signal);
  if (term.holds()) return message;
  pulling.then((late) => late?.handBack(1)).catch(() => undefined);
  return null;
}

/** The promise's result, or null as soon as the signal aborts. Leaves no listener behind. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const abort = () => resolve(null);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
