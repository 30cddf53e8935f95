/**
 * Follows an event stream of the service while a page is shown. If a stream is cut or falls silent, it is reopened with backoff. If its key
 * is no longer valid, it ends. The client itself does not reconnect: the service does not resend events of the gap, so the caller must read
 * the data again.
 */
import { type EventsOptions, WebcaptureError } from '@webcapture/client';
import { backoffMs as defaultBackoffMs } from './backoff.ts';

interface StreamProblem {
  readonly code: string;
  readonly message: string;
}

export type StreamState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'waiting'; readonly retryInMs: number; readonly problem: StreamProblem }
  | { readonly kind: 'ended'; readonly problem: StreamProblem };

export interface FollowOptions<T> {
  /** Opens the stream, like `events` of the client. */
  readonly open: (options: EventsOptions) => AsyncIterable<T>;
  readonly onEvent: (event: T) => void;
  readonly onState: (state: StreamState) => void;
  readonly signal: AbortSignal;
  /** Milliseconds before the next attempt. */
  readonly backoffMs?: (failures: number) => number;
}

/** Error codes after which a retry with the same key cannot succeed. */
const finalCodes: ReadonlySet<string> = new Set([
  'UNAUTHORIZED',
  'API_KEY_EXPIRED',
  'API_KEY_REVOKED',
  'FORBIDDEN',
  'NOT_FOUND',
]);

/** Time for which a stream must be open before the backoff starts again from its minimum. */
const stableMs = 5000;

/** Follows a stream until `signal` aborts or the server rejects the key. */
export async function followEvents<T>(options: FollowOptions<T>): Promise<void> {
  const { onState, signal, backoffMs = defaultBackoffMs } = options;
  let failures = 0;
  onState({ kind: 'connecting' });
  while (!signal.aborted) {
    const openedAt = performance.now();
    const { problem, retryAfterMs } = await readOnce(options);
    if (signal.aborted) return;
    if (finalCodes.has(problem.code)) {
      onState({ kind: 'ended', problem });
      return;
    }
    if (performance.now() - openedAt > stableMs) failures = 0;
    const retryInMs = Math.max(retryAfterMs, backoffMs(failures++));
    onState({ kind: 'waiting', retryInMs, problem });
    await pause(retryInMs, signal);
  }
}

interface Ending {
  readonly problem: StreamProblem;
  readonly retryAfterMs: number;
}

/** Reads one stream to its end, and returns why it ended. */
async function readOnce<T>({ open, onEvent, onState, signal }: FollowOptions<T>): Promise<Ending> {
  try {
    for await (const event of open({ signal, onOpen: () => onState({ kind: 'live' }) })) onEvent(event);
    return { problem: lost('The event stream was closed.'), retryAfterMs: 0 };
  } catch (error) {
    if (!(error instanceof WebcaptureError)) return { problem: lost('The event stream failed.'), retryAfterMs: 0 };
    const { code, message, retryAfterMs } = error;
    return { problem: { code, message }, retryAfterMs: retryAfterMs ?? 0 };
  }
}

const lost = (message: string): StreamProblem => ({ code: 'NETWORK_ERROR', message });

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
