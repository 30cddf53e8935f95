import { type ComponentStatus, severity, statusKey, type StatusReport } from '@webcapture/shared/api/status.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Lease } from '../leader/lease.ts';
import type { DecidedStatus, Facts } from './facts.ts';
import type { ControllerMetrics } from './metrics.ts';
import type { StatusHistory } from './status-history.ts';

export interface PublisherParts {
  readonly lease: Pick<Lease, 'holds'>;
  readonly writer: StatusWriter;
  readonly history: StatusHistory;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
  /** Interval of status writes when nothing changes. */
  readonly statusMs: number;
}

/** Publishes decisions. Every controller sets metrics and observes for the history. Only the leader writes the status and logs changes. */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #changes: ChangeLog;
  readonly #problems: ClusterProblemLog;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
    this.#changes = new ChangeLog(parts.log);
    this.#problems = new ClusterProblemLog(parts.log);
  }

  /** Publishes one decision. Throws if the status could not be written. */
  async publish(facts: Facts, report: DecidedStatus | null): Promise<void> {
    const { lease, metrics, writer } = this.#parts;
    const leading = lease.holds();
    metrics.showFacts(facts);
    metrics.leader.set(leading ? 1 : 0);
    metrics.showReport(leading ? report : null);
    if (report !== null) this.#parts.history.observe(report);
    if (!leading) {
      this.#changes.forget();
      this.#problems.take([]);
      writer.forget();
      this.#writtenAt = Number.NEGATIVE_INFINITY;
      return;
    }
    if (report === null) return;
    this.#problems.take(facts.clusters);
    const changed = this.#changes.take(report.components);
    // The times of ticks vary. Without the tolerance, a write that is due could wait for the next tick.
    const due = performance.now() - this.#writtenAt >= this.#parts.statusMs - 100;
    // If the write fails, it is retried at the next reading.
    if (changed) this.#writtenAt = Number.NEGATIVE_INFINITY;
    const reachable = facts.queue.kind === 'answered' || facts.queue.why !== 'no connection';
    if (!reachable || !(changed || due)) return;
    const retired = facts.queue.kind === 'answered' ? facts.queue.retired : {};
    if (await writer.write({ ...report, waiting: waitingIn(facts), retired })) this.#writtenAt = performance.now();
  }
}

/** Number of waiting captures by region and priority, where known. */
function waitingIn({ regions }: Facts): StatusReport['waiting'] {
  return Object.fromEntries(
    regions.flatMap(({ region, waiting }) => {
      if (waiting === null) return [];
      const { interactive, background, backgroundHeld } = waiting;
      return [[region, { interactive, background, backgroundHeld }]];
    }),
  );
}

/** Logs each change of a component's state with its reason. Returns whether any state changed. */
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
      const worse = severity(status) > (was === undefined ? 0 : severity(was));
      this.#log[worse ? 'warn' : 'info'](fields, `${name} is ${status}`);
    }
    this.#states = new Map(components.map(({ name, status }) => [name, status]));
    return changed.length > 0;
  }

  /** Forgets the known states, so that the next states are logged as changes. */
  forget(): void {
    this.#states.clear();
  }
}

/** Logs each problem of each cluster once, until it disappears. */
class ClusterProblemLog {
  readonly #log: Logger;
  #known = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  take(clusters: Facts['clusters']): void {
    const problems = new Map(clusters.flatMap(({ name, problems: each }) => each.map((text) => [text, name])));
    for (const [text, cluster] of problems) if (!this.#known.has(text)) this.#log.warn({ cluster }, text);
    this.#known = new Set(problems.keys());
  }
}

const timeoutMs = 2000;

/**
 * Writes the status that every front serves. Each write names the revision that it replaces. A former leader that was paused, or has a
 * stuck connection, may write late; NATS refuses that write, because its successor has written since.
 */
export class StatusWriter {
  readonly #live: Entries;
  readonly #lease: Pick<Lease, 'holds' | 'confirm'>;
  /** Revision of the last write; null if it must be read before the next one. */
  #revision: number | null = null;

  constructor(live: Entries, lease: Pick<Lease, 'holds' | 'confirm'>) {
    this.#live = live;
    this.#lease = lease;
  }

  /** Returns false without writing when this process does not lead. Throws when NATS does not answer. */
  async write(report: StatusReport): Promise<boolean> {
    try {
      return await withDeadline(this.#write(report), timeoutMs, 'writing the status');
    } catch (error) {
      this.#revision = null;
      throw error;
    }
  }

  /** Forgets the revision. Call it if another process may have written. */
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
