import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/** A compromised renderer may cause thousands of messages a second; one per interval is logged. */
const intervalMs = 10_000;

/** A log of what others can cause at will: of each message one line in ten seconds, with how many were left out before. */
export class RareLog {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #logged = new Map<string, { readonly at: number; omitted: number }>();

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  /** `message` is one of few. */
  warn(fields: object, message: string): void {
    const now = performance.now();
    const last = this.#logged.get(message);
    if (last !== undefined && now - last.at < intervalMs) {
      last.omitted++;
      return;
    }
    this.#logged.set(message, { at: now, omitted: 0 });
    this.#log.warn(last === undefined ? fields : { ...fields, omitted: last.omitted }, message);
  }
}
