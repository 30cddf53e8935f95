import type { Logger } from './logger.ts';

/** A renderer that lies may do so thousands of times a second; the log tells of one of them in so long. */
const intervalMs = 10_000;

/** A log of what others can cause at will: of each message one line in ten seconds, with how many were left out before. */
export class RareLog {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #told = new Map<string, { readonly at: number; unsaid: number }>();

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  /** `message` is one of few. */
  warn(fields: object, message: string): void {
    const now = performance.now();
    const last = this.#told.get(message);
    if (last !== undefined && now - last.at < intervalMs) {
      last.unsaid++;
      return;
    }
    this.#told.set(message, { at: now, unsaid: 0 });
    this.#log.warn(last === undefined ? fields : { ...fields, unsaid: last.unsaid }, message);
  }
}
