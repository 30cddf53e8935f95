/**
 * Runs a task that may hang. The signal handed to it aborts at the deadline and with the caller's; the promise rejects
 * then with the reason, whether or not the task heeds the signal.
 */
export async function bounded<T>(
  task: (signal: AbortSignal) => Promise<T>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => controller.abort(new Error(`timed out after ${timeoutMs} ms`)), timeoutMs);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const given = Promise.withResolvers<never>();
    controller.signal.addEventListener('abort', () => given.reject(controller.signal.reason), { once: true });
    controller.signal.throwIfAborted();
    return await Promise.race([task(controller.signal), given.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
