import { Counter, Gauge, type Registry } from 'prom-client';
import { createComponentStatus, type StatusReport } from '@webcapture/shared/api/status.ts';
import { type Priority, type TaskKind, taskKinds } from '@webcapture/shared/nats/streams.ts';
import type { Facts } from './facts.ts';
import { countRenderers, isHealthy } from './renderers.ts';

const lanes = ['interactive', 'background'] as const satisfies readonly Priority[];

/** Why the controller, and not a renderer, ended a capture or took its job away. */
const settleReasons = ['max_deliveries', 'terminated', 'not_started', 'deadline', 'html_missing'] as const;
export type SettleReason = (typeof settleReasons)[number];

/** The controller's metrics. Labels come from closed sets: components, regions, lanes, reasons. */
export class ControllerMetrics {
  #report: StatusReport | null = null;
  readonly #leader: Gauge;
  readonly #waiting: Gauge<'region' | 'lane'>;
  readonly #oldest: Gauge<'region' | 'lane'>;
  readonly #resultsWaiting: Gauge;
  readonly #resultsOldest: Gauge;
  readonly #slots: Gauge<'region'>;
  readonly #busy: Gauge<'region'>;
  readonly #healthy: Gauge<'region'>;
  readonly #wanted: Gauge<'region'>;
  readonly #canary: Gauge<'region'>;
  readonly #settled: Counter<'reason'>;
  readonly #handedBack: Counter;
  readonly #tasks: Counter<'kind' | 'outcome'>;
  readonly #expiryLag: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
      new Gauge<T>({ name: `webcapture_${name}`, help, labelNames: [...labelNames], registers });
    createComponentStatus(registry, () => this.#report?.components ?? []);
    this.#leader = gauge('controller_leader', '1 if this controller is the leader, otherwise 0.');
    this.#waiting = gauge('queue_waiting_captures', 'Captures waiting in the queue.', ['region', 'lane']);
    this.#oldest = gauge(
      'queue_oldest_age_seconds',
      'Age of the oldest capture waiting in the queue, or 0 if none is waiting.',
      ['region', 'lane'],
    );
    this.#resultsWaiting = gauge('queue_results_waiting', 'Results of renderers that no front has settled yet.');
    this.#resultsOldest = gauge(
      'queue_results_oldest_age_seconds',
      'Age of the oldest result that no front has settled yet, or 0 if there is none.',
    );
    this.#slots = gauge('region_slots', 'Slots of all renderers of the region that send heartbeats.', ['region']);
    this.#busy = gauge('region_slots_busy', 'Slots of the region that are rendering.', ['region']);
    this.#healthy = gauge(
      'region_renderers_healthy',
      'Healthy renderers: Ready, with a fresh heartbeat and a running browser, and not draining.',
      ['region'],
    );
    this.#wanted = gauge('region_renderers_wanted', 'Minimum number of renderers requested in the last five minutes.', [
      'region',
    ]);
    this.#canary = gauge('canary_seconds', 'Duration of the last completed canary capture.', ['region']);
    this.#expiryLag = gauge(
      'expiry_lag_seconds',
      'Age of the oldest expired capture that has not been removed, to the minute. Set by the leader.',
    );
    this.#handedBack = new Counter({
      name: 'webcapture_jobs_handed_back_total',
      help: 'Jobs of dead renderers that the leader returned to the queue.',
      registers,
    });
    this.#settled = new Counter({
      name: 'webcapture_captures_settled_total',
      help: 'Captures that the controller settled as failed, by reason: max_deliveries, terminated, not_started, deadline or html_missing.',
      labelNames: ['reason'],
      registers,
    });
    for (const reason of settleReasons) {
      this.#settled.inc({ reason }, 0);
    }
    this.#tasks = new Counter({
      name: 'webcapture_tasks_total',
      help: 'Tasks that the leader processed, by kind and outcome. Failed tasks are retried.',
      labelNames: ['kind', 'outcome'],
      registers,
    });
    for (const kind of taskKinds) {
      for (const outcome of ['done', 'failed'] as const) this.#tasks.inc({ kind, outcome }, 0);
    }
  }

  /** Shows what was read. */
  facts(facts: Facts): void {
    const results = facts.queue.kind === 'answered' ? facts.queue.results : null;
    if (results === null) {
      this.#resultsWaiting.remove();
      this.#resultsOldest.remove();
    } else {
      this.#resultsWaiting.set(results.waiting);
      this.#resultsOldest.set((results.oldestMs ?? 0) / 1000);
    }
    for (const { region, pods, waiting, canary, ...rest } of facts.regions) {
      const { healthy, wanted } = countRenderers({ pods, ...rest }) ?? {
        healthy: pods.filter(isHealthy).length,
        wanted: rest.wanted,
      };
      this.#slots.set({ region }, sum(pods.map(({ slots }) => slots)));
      this.#busy.set({ region }, sum(pods.map(({ busy }) => busy)));
      this.#healthy.set({ region }, healthy);
      this.#wanted.set({ region }, wanted);
      if (canary?.ms === undefined) this.#canary.remove({ region });
      else this.#canary.set({ region }, canary.ms / 1000);
      for (const lane of lanes) {
        // What cannot be read is not shown, rather than as it was.
        if (waiting === null) {
          this.#waiting.remove({ region, lane });
          this.#oldest.remove({ region, lane });
          continue;
        }
        const oldestMs = lane === 'interactive' ? waiting.oldestInteractiveMs : waiting.oldestBackgroundMs;
        this.#waiting.set({ region, lane }, waiting[lane]);
        this.#oldest.set({ region, lane }, (oldestMs ?? 0) / 1000);
      }
    }
  }

  leader(leading: boolean): void {
    this.#leader.set(leading ? 1 : 0);
  }

  /** Shows the state of the components; null when another controller leads, which shows it. */
  report(report: StatusReport | null): void {
    this.#report = report;
  }

  task(kind: TaskKind, outcome: 'done' | 'failed'): void {
    this.#tasks.inc({ kind, outcome });
  }

  expiryLag(seconds: number): void {
    this.#expiryLag.set(seconds);
  }

  handedBack(): void {
    this.#handedBack.inc();
  }

  settled(reason: SettleReason): void {
    this.#settled.inc({ reason });
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
