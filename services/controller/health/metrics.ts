import type { Registry } from 'prom-client';
import { createComponentStatus } from '@webcapture/shared/api/status.ts';
import { type Priority, taskKinds } from '@webcapture/shared/nats/streams.ts';
import { counterOf, gaugeOf } from '../metrics.ts';
import type { DecidedStatus, Facts } from './facts.ts';
import { countRenderers, sum } from './renderers.ts';
import { loadOf } from './scale.ts';

const priorities = ['interactive', 'background'] as const satisfies readonly Priority[];

/** Why the controller, not a renderer, ended a capture. */
const failReasons = [
  'max_deliveries',
  'terminated',
  'not_started',
  'deadline',
  'html_missing',
  'region_removed',
] as const;
export type FailReason = (typeof failReasons)[number];

/** The controller's metrics. */
export type ControllerMetrics = ReturnType<typeof createControllerMetrics>;

export function createControllerMetrics(registry: Registry) {
  let shown: DecidedStatus | null = null;
  createComponentStatus(registry, () => shown?.components ?? []);
  return {
    leader: gaugeOf(registry, 'webcapture_controller_leader', '1 if this controller is the leader, otherwise 0.'),
    expiryLag: gaugeOf(
      registry,
      'webcapture_expiry_lag_seconds',
      'Age of the oldest expired capture that has not been removed, to the minute. Set by the leader.',
    ),
    handedBackJobs: counterOf(
      registry,
      'webcapture_jobs_handed_back_total',
      'Jobs of dead renderers that the leader handed back to the queue.',
    ),
    failed: counterOf(
      registry,
      'webcapture_captures_settled_total',
      'Captures that the controller settled as failed, by reason: max_deliveries, terminated, not_started, deadline, html_missing or region_removed.',
      { reason: failReasons },
    ),
    tasks: counterOf(
      registry,
      'webcapture_tasks_total',
      'Tasks that the leader processed, by kind and outcome. Failed tasks are retried.',
      { kind: taskKinds, outcome: ['done', 'failed'] },
    ),
    /** Sets the gauges from a reading. */
    showFacts: createFactGauges(registry),
    /** Sets the states of the components. Null removes them, because another controller leads and reports them. */
    showReport: (report: DecidedStatus | null) => void (shown = report),
  };
}

/** Returns the function that sets the gauges from a reading. */
function createFactGauges(registry: Registry): (facts: Facts) => void {
  const gauge = <L extends string = never>(name: string, help: string, labels: readonly L[] = []) =>
    gaugeOf(registry, `webcapture_${name}`, help, labels);
  const gauges = {
    waiting: gauge('queue_waiting_captures', 'Captures waiting in the queue.', ['region', 'priority']),
    oldest: gauge(
      'queue_oldest_age_seconds',
      'Age of the oldest capture waiting in the queue, or 0 if none is waiting.',
      ['region', 'priority'],
    ),
    retired: gauge(
      'queue_retired_captures',
      'Captures in the queue of a region that is no longer part of the installation; no series for a region without any.',
      ['region'],
    ),
    resultsWaiting: gauge('queue_results_waiting', 'Results of renderers that no front has settled yet.'),
    resultsOldest: gauge(
      'queue_results_oldest_age_seconds',
      'Age of the oldest result that no front has settled yet, or 0 if there is none.',
    ),
    slots: gauge('region_slots', 'Slots of all renderers of the region that send heartbeats.', ['region']),
    busy: gauge('region_slots_busy', 'Slots of the region that are rendering.', ['region']),
    load: gauge(
      'region_load',
      'Captures that run or wait over the slots of the region, for autoscalers: 1 when all slots are busy and none waits. Background captures count up to WEBCAPTURE_BACKGROUND_SLOTS.',
      ['region'],
    ),
    healthy: gauge(
      'region_renderers_healthy',
      'Healthy renderers: Ready, with a fresh heartbeat and a running browser, and not draining.',
      ['region'],
    ),
    wanted: gauge('region_renderers_wanted', 'Minimum number of renderers requested in the last five minutes.', [
      'region',
    ]),
    canary: gauge('canary_seconds', 'Duration of the last completed canary capture.', ['region']),
  };
  return (facts) => {
    gauges.retired.reset();
    for (const [region, captures] of Object.entries(facts.queue.kind === 'answered' ? facts.queue.retired : {})) {
      gauges.retired.set({ region }, captures);
    }
    const results = facts.queue.kind === 'answered' ? facts.queue.results : null;
    if (results === null) {
      gauges.resultsWaiting.remove();
      gauges.resultsOldest.remove();
    } else {
      gauges.resultsWaiting.set(results.waiting);
      gauges.resultsOldest.set((results.oldestMs ?? 0) / 1000);
    }
    for (const regionFacts of facts.regions) {
      const { region, pods, waiting, canary } = regionFacts;
      const { healthy, wanted } = countRenderers(regionFacts);
      const load = loadOf(regionFacts);
      if (load === null) gauges.load.remove({ region });
      else gauges.load.set({ region }, load);
      gauges.slots.set({ region }, sum(pods.map(({ slots }) => slots)));
      gauges.busy.set({ region }, sum(pods.map(({ busy }) => busy)));
      gauges.healthy.set({ region }, healthy);
      gauges.wanted.set({ region }, wanted);
      if (canary?.ms === undefined) gauges.canary.remove({ region });
      else gauges.canary.set({ region }, canary.ms / 1000);
      for (const priority of priorities) {
        // A value that cannot be read is removed. Otherwise the metric would repeat the old value.
        if (waiting === null) {
          gauges.waiting.remove({ region, priority });
          gauges.oldest.remove({ region, priority });
          continue;
        }
        const oldestMs = priority === 'interactive' ? waiting.oldestInteractiveMs : waiting.oldestBackgroundMs;
        gauges.waiting.set({ region, priority }, waiting[priority]);
        gauges.oldest.set({ region, priority }, (oldestMs ?? 0) / 1000);
      }
    }
  };
}
