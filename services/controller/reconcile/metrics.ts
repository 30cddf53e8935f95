import { Counter, Gauge, type Registry } from 'prom-client';
import { removalReasons, type RemovalReason } from './decide-file.ts';
import type { PassState } from './pass-state.ts';
import type { MissingCount } from './progress.ts';

/** Files that should have gone and are still there: the store failed, or there is a doubt. */
const leftWhy = ['failed', 'withheld'] as const;

/** The metrics of the reconcile. */
export class ReconcileMetrics {
  readonly #looked: Counter;
  readonly #removed: Counter<'reason'>;
  readonly #left: Counter<'why'>;
  readonly #missing: Gauge;
  readonly #endedAt: Gauge;
  readonly #seconds: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const named = (name: string, help: string) => ({ name: `webcapture_reconcile_${name}`, help, registers });
    this.#looked = new Counter(named('files_total', 'Files of the store that were compared with their records.'));
    this.#removed = new Counter({
      ...named('removed_files_total', 'Files that were removed as nobody could have removed them else, by reason.'),
      labelNames: ['reason'],
    });
    for (const reason of removalReasons) this.#removed.inc({ reason }, 0);
    this.#left = new Counter({
      ...named('left_files_total', 'Files to be removed that are still there: the store failed, or there is a doubt.'),
      labelNames: ['why'],
    });
    for (const why of leftWhy) this.#left.inc({ why }, 0);
    this.#missing = new Gauge(
      named('missing_files', 'Completed captures without their file, as last counted by hand (--missing).'),
    );
    this.#endedAt = new Gauge(named('last_end_timestamp_seconds', 'When the last pass over all files ended.'));
    this.#seconds = new Gauge(named('last_duration_seconds', 'How long the last pass over all files took.'));
  }

  looked(files: number): void {
    this.#looked.inc(files);
  }

  removed(reason: RemovalReason): void {
    this.#removed.inc({ reason });
  }

  left(why: (typeof leftWhy)[number]): void {
    this.#left.inc({ why });
  }

  /** Shows what is written down of the last pass and of the last count. */
  known(pass: PassState | null, missing: MissingCount | null): void {
    if (missing !== null) this.#missing.set(missing.count);
    if (pass === null || pass.endedAt === null) return;
    this.#endedAt.set(pass.endedAt / 1000);
    this.#seconds.set((pass.endedAt - pass.startedAt) / 1000);
  }
}
