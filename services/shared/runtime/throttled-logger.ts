import type { Logger } from './logger.ts';

/** Interval in which a message is logged once. A compromised renderer may cause thousands of messages a second. */
const defaultIntervalMs = 10_000;

/**
 * Throttles log messages that others can cause in any number. Each message is logged at most once per interval, with the number of omitted
 * ones.
 */
export class ThrottledLogger {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #intervalMs: number;
  readonly #logged = new Map<string, { readonly at: number; omitted: number }>();

  constructor(log: Pick<Logger, 'warn'>, intervalMs = defaultIntervalMs) {
    this.#log = log;
    this.#intervalMs = intervalMs;
  }

  /** Logs a message. There must be only a few different messages, because each is remembered. */
  warn(fields: object, message: string): void {
    const now = performance.now();
    const last = this.#logged.get(message);
    if (last !== undefined && now - last.at < this.#intervalMs) {
      last.omitted++;
      return;
    }
    this.#logged.set(message, { at: now, omitted: 0 });
    this.#log.warn(last === undefined ? fields : { ...fields, omitted: last.omitted }, message);
  }
}
