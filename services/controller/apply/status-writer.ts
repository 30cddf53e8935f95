import type { StatusReport } from '@webcapture/shared/contract/status-report.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import type { Lease } from '../leader/lease.ts';

const statusKey = 'status';

const limitMs = 2000;

/**
 * Writes the word that every front serves. Each write names the one before it, so that the late write of a former leader
 * (paused in the middle of it, or on a connection that hung) is refused once its successor has spoken.
 */
export class StatusWriter {
  readonly #live: Entries;
  readonly #lease: Pick<Lease, 'holds' | 'confirm'>;
  /** Revision of the last write; null when it has to be read first. */
  #revision: number | null = null;

  constructor(live: Entries, lease: Pick<Lease, 'holds' | 'confirm'>) {
    this.#live = live;
    this.#lease = lease;
  }

  /** False when this process turns out not to lead; nothing is written then. Throws when NATS does not answer. */
  async write(report: StatusReport): Promise<boolean> {
    try {
      return await withDeadline(this.#write(report), limitMs, 'writing the status');
    } catch (error) {
      this.#revision = null;
      throw error;
    }
  }

  /** Another process may have written since. */
  forget(): void {
    this.#revision = null;
  }

  async #write(report: StatusReport): Promise<boolean> {
    if (!this.#lease.holds()) return false;
    try {
      await this.#writeAfter(this.#revision, report);
    } catch (error) {
      if (!isWriteConflict(error)) throw error;
      if (!(await this.#lease.confirm())) return false;
      await this.#writeAfter(null, report);
    }
    return true;
  }

  async #writeAfter(revision: number | null, report: StatusReport): Promise<void> {
    const known = revision ?? (await this.#live.get(statusKey))?.revision;
    this.#revision =
      known === undefined
        ? await this.#live.create(statusKey, report)
        : await this.#live.update(statusKey, report, known);
  }
}
