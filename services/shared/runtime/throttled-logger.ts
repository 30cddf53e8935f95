import type { Logger } from './logger.ts';

/** A compromised renderer may cause thousands of messages a second; one per interval is logged. */
const defaultIntervalMs = 10_000;

/** Throttles log messages that others can cause at will: each message at most once per interval, with the number of omitted ones. */
export class ThrottledLogger {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #intervalMs: number;
  readonly #logged = new Map<string, { readonly at: number; omitted: number }>();

  constructor(log: Pick<Logger, 'warn'>, intervalMs = defaultIntervalMs) {
    this.#log = log;
    this.#intervalMs = intervalMs;
  }

  /** `message` must be one of few, because each is remembered. */
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
