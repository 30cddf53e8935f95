import { RequestTimeoutError } from './errors.ts';
import type { WaitOptions } from './requests.ts';
import { sleep } from './transport.ts';

const firstPollMs = 500;
const maxPollMs = 5000;

/** Calls `poll` at increasing intervals until it returns something. @throws RequestTimeoutError that names what did not end in time */
export async function pollUntil<T>(
  { signal, timeoutMs }: Pick<WaitOptions, 'signal' | 'timeoutMs'>,
  { what, captureUuid = null }: { readonly what: string; readonly captureUuid?: string | null },
  poll: (signal: AbortSignal) => Promise<T | null>,
): Promise<T> {
  const deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const stop = AbortSignal.any([signal, deadline].filter((each) => each !== undefined && each !== null));
  try {
    for (let pollMs = firstPollMs; ; pollMs = Math.min(maxPollMs, 1.5 * pollMs)) {
      const found = await poll(stop);
      if (found !== null) return found;
      await sleep(pollMs, stop);
    }
  } catch (error) {
    if (deadline?.aborted !== true || error !== deadline.reason) throw error;
    throw new RequestTimeoutError('TIMEOUT', `${what} did not end within ${timeoutMs} ms.`, { captureUuid });
  }
}
