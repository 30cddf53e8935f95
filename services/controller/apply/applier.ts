import type { StatusReport } from '@webcapture/shared/contract/status-report.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { Facts } from '../gather/facts.ts';
import type { Lease } from '../leader/lease.ts';
import { ChangeLog } from './change-log.ts';
import type { ControllerMetrics } from './metrics.ts';
import type { StatusWriter } from './status-writer.ts';

export interface ApplierParts {
  readonly lease: Pick<Lease, 'holds'>;
  readonly writer: StatusWriter;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
  /** How often the status is written when nothing changes. */
  readonly statusMs: number;
}

/** Tells the world what was decided: metrics by every controller, status and log by the leader alone. */
export class Applier {
  readonly #parts: ApplierParts;
  readonly #changes: ChangeLog;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(parts: ApplierParts) {
    this.#parts = parts;
    this.#changes = new ChangeLog(parts.log);
  }

  /** Throws when the status could not be written. */
  async apply(facts: Facts, report: StatusReport | null): Promise<void> {
    const { lease, metrics, writer } = this.#parts;
    const leading = lease.holds();
    metrics.facts(facts);
    metrics.leader(leading);
    metrics.report(leading ? report : null);
    if (!leading) {
      this.#changes.forget();
      writer.forget();
      this.#writtenAt = Number.NEGATIVE_INFINITY;
      return;
    }
    if (report === null) return;
    const changed = this.#changes.take(report.components);
    // Ticks come a little early or late: the due one is not put off to the next.
    const due = performance.now() - this.#writtenAt >= this.#parts.statusMs - 100;
    // What could not be written is due again at the next reading.
    if (changed) this.#writtenAt = Number.NEGATIVE_INFINITY;
    const reachable = facts.queue.kind === 'answered' || facts.queue.why !== 'no connection';
    if (!reachable || !(changed || due)) return;
    if (await writer.write(report)) this.#writtenAt = performance.now();
  }
}
