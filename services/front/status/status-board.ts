import type { Region } from '@webcapture/shared/contract/regions.ts';
import { statusIntervalMs, type StatusReport } from '@webcapture/shared/contract/status-report.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { NatsLink } from '../nats-link.ts';
import type { StatusView } from './overlay.ts';

/** The controller's word on the whole service, kept in memory, so that a status costs no request to anybody. */
export class StatusBoard {
  readonly #installed: readonly Region[];
  readonly #link: Pick<NatsLink, 'downForMs'>;
  readonly #clock: { readonly now: () => number; readonly monotonic: () => number };
  #report: StatusReport | null = null;
  #heardAt = 0;
  #ageWhenHeard = 0;
  #replay = true;

  constructor(
    installed: readonly Region[],
    link: Pick<NatsLink, 'downForMs'>,
    clock = { now: () => Date.now(), monotonic: () => performance.now() },
  ) {
    this.#installed = installed;
    this.#link = link;
    this.#clock = clock;
  }

  /** Follows the controller's word until the signal aborts. */
  async follow(session: NatsSession, deps: { log: Logger; signal: AbortSignal }): Promise<void> {
    await watchKeys<StatusReport>(
      session,
      { bucket: 'live', filter: 'status', maxSilenceMs: 2.5 * statusIntervalMs, ...deps },
      { reset: () => this.expectReplay(), change: ({ value }) => this.hear(value) },
    );
  }

  /** What comes next is what had been written before, perhaps long ago. */
  expectReplay(): void {
    this.#replay = true;
  }

  /** Takes in a report. A deletion is no news: the report before it grows old by itself. */
  hear(report: StatusReport | null): void {
    const replay = this.#replay;
    this.#replay = false;
    if (report === null || report.at === this.#report?.at) return;
    this.#report = report;
    this.#heardAt = this.#clock.monotonic();
    // Only of a report that was stored already do we need its own time; of one that comes live, no pod's clock matters.
    this.#ageWhenHeard = replay ? Math.max(0, this.#clock.now() - report.at) : 0;
  }

  /** Captures that wait, by region, as last reported. */
  queued(): Readonly<Record<string, number>> {
    return this.#report?.queued ?? {};
  }

  /** How old the last report is; null before the first. */
  ageMs(): number | null {
    return this.#report === null ? null : this.#reportAgeMs();
  }

  view(): StatusView {
    return {
      report: this.#report,
      reportAgeMs: this.#reportAgeMs(),
      installed: this.#installed,
      natsDownMs: this.#link.downForMs(),
      now: this.#clock.now(),
    };
  }

  #reportAgeMs(): number {
    return this.#clock.monotonic() - this.#heardAt + this.#ageWhenHeard;
  }
}
