import { waitFor } from './wait-for.ts';

export interface ReadyOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** Receives the reason why the service is not ready, at each check. */
  readonly onNotReady: (why: string) => void;
}

/** Interval of the checks. All services compete for the processor while they start, and so do the checks. */
const checkMs = 250;

/** Waits until a service reports on its operations port that it is ready. Throws after the timeout. */
export async function waitUntilReady(opsPort: number, options: ReadyOptions): Promise<void> {
  const { deadlineMs, signal, onNotReady } = options;
  let why = '';
  const look = async () => {
    why = await problemOf(opsPort, signal);
    if (why === '') return true;
    onNotReady(why);
    return undefined;
  };
  await waitFor('it to be ready', look, { deadlineMs, intervalMs: checkMs, signal });
}

/** Returns the reason why the service is not ready; empty if it is ready. */
async function problemOf(opsPort: number, signal: AbortSignal): Promise<string> {
  try {
    const response = await fetch(`http://127.0.0.1:${opsPort}/readyz`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]),
    });
    const text = await response.text();
    return response.ok ? '' : text.trim().slice(0, 200) || `status ${response.status}`;
  } catch {
    signal.throwIfAborted();
    return 'it does not answer yet';
  }
}
