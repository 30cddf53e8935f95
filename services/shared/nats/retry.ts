import { backoffMs, delay } from '../lifecycle/delay.ts';
import { isTransient } from './api-errors.ts';

/**
 * Makes a call again while the server is away, until `deadline` (Unix ms) or the signal ends it; then throws the last
 * error. For calls that are safe to repeat: reads, compare-and-sets that are read anew, publishes with a message id.
 */
export async function retryWhileAway<T>(
  call: () => Promise<T>,
  limits: { deadline: number; signal?: AbortSignal },
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!isTransient(error) || Date.now() >= limits.deadline || limits.signal?.aborted === true) throw error;
      await delay(backoffMs(attempt, 50, 1000), limits.signal);
    }
  }
}
