import type { ComponentStatus } from '@webcapture/shared/contract/status.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { badness } from '../decide/verdict.ts';

/** Logs each change of a component's state, with the reason; returns whether there was one. */
export class ChangeLog {
  readonly #log: Logger;
  #states = new Map<string, ComponentStatus['status']>();

  constructor(log: Logger) {
    this.#log = log;
  }

  take(components: readonly ComponentStatus[]): boolean {
    const changed = components.filter(({ name, status }) => this.#states.get(name) !== status);
    for (const { name, status, message } of changed) {
      const was = this.#states.get(name);
      const fields = { component: name, was: was ?? 'unknown', now: status, reason: message };
      const worse = badness(status) > (was === undefined ? 0 : badness(was));
      this.#log[worse ? 'warn' : 'info'](fields, `${name} is ${status}`);
    }
    this.#states = new Map(components.map(({ name, status }) => [name, status]));
    return changed.length > 0;
  }

  /** Begins anew: the next states are all news. */
  forget(): void {
    this.#states.clear();
  }
}
