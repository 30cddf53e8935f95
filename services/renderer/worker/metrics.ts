import { formats } from '@webcapture/shared/api/formats.ts';
import { renderFailures, type ReturnReason, returnReasons } from '@webcapture/shared/queue/outcomes.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { causesOf } from '@webcapture/shared/runtime/errors.ts';
import { createTracedHistogram } from '@webcapture/shared/tracing/traced-histogram.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { wipeOutcomes, type WipeOutcome } from '../browser/page-wipe.ts';
import { resources, type Resource } from '../browser/resource-guard.ts';
import { sessionLimits, type SessionLimit } from '../egress/counters.ts';
import type { JobEnd } from './run-job.ts';

export interface RendererMetrics {
  ended(end: JobEnd): void;
  /** Counts a job that was returned to the queue before it ended. */
  returned(reason: ReturnReason): void;
  /** Counts a capture that reached its first network limit. */
  limitReached(limit: SessionLimit): void;
  /** Counts a capture that was aborted because its page exceeded this limit. */
  pageLimitReached(resource: Resource): void;
  /** Counts a capture that reused the page of an earlier capture of its account. */
  pageReused(): void;
  /** Counts a page that was wiped for another capture of its account, or closed because the wipe failed. */
  pageWiped(outcome: WipeOutcome): void;
}

/** The Prometheus metrics of a renderer. All labels come from closed sets. */
export function createRendererMetrics(
  registry: Registry,
  renderer: { region: Region; slots: number; busy: () => number; browserUp: () => boolean },
): RendererMetrics {
  const { region } = renderer;
  const registers = [registry];
  const captures = new Counter({
    name: 'webcapture_renderer_captures_total',
    help: 'Captures that ended on this renderer, by region, format, outcome (completed or the error code) and cause of the failure (client, page or service; none for completed).',
    labelNames: ['region', 'format', 'outcome', 'cause'],
    registers,
  });
  for (const format of formats) {
    captures.inc({ region, format, outcome: 'completed', cause: 'none' }, 0);
    for (const outcome of renderFailures) {
      for (const cause of causesOf(outcome)) captures.inc({ region, format, outcome, cause }, 0);
    }
  }
  const observeRender = createTracedHistogram(registry, {
    name: 'webcapture_renderer_render_seconds',
    help: 'Time from the delivery of a job to the publication of its result.',
    labelNames: ['region', 'format'],
    buckets: [0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 40, 80, 160],
  });
  const observeWait = createTracedHistogram(registry, {
    name: 'webcapture_renderer_queue_wait_seconds',
    help: 'Time from the acceptance of a capture to the start of its rendering, by region and priority. Background captures may wait for up to 24 hours.',
    labelNames: ['region', 'priority'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200, 43_200],
  });
  const limits = new Counter({
    name: 'webcapture_renderer_network_limits_total',
    help: 'Captures that reached a network limit, by limit: connections, download or upload.',
    labelNames: ['region', 'limit'],
    registers,
  });
  for (const limit of sessionLimits) limits.inc({ region, limit }, 0);
  const pageLimits = new Counter({
    name: 'webcapture_renderer_page_limits_total',
    help: 'Captures that failed because their page used too much, by resource: cpu, memory, disk, processes, descriptors or messages.',
    labelNames: ['region', 'resource'],
    registers,
  });
  for (const resource of resources) pageLimits.inc({ region, resource }, 0);
  const reuses = new Counter({
    name: 'webcapture_renderer_pages_reused_total',
    help: 'Captures that used the page of an earlier capture of their account again (isolation account).',
    labelNames: ['region'],
    registers,
  });
  reuses.inc({ region }, 0);
  const wipes = new Counter({
    name: 'webcapture_renderer_page_wipes_total',
    help: 'Pages of completed captures with the isolation account, by outcome: wiped for the next capture, refused because the page did what a wipe does not undo, or failed. Pages that were not wiped are closed.',
    labelNames: ['region', 'outcome'],
    registers,
  });
  for (const outcome of wipeOutcomes) wipes.inc({ region, outcome }, 0);
  gauge('webcapture_renderer_slots', 'Captures that this renderer can run at the same time.', () => renderer.slots);
  gauge('webcapture_renderer_slots_busy', 'Captures that this renderer is running.', renderer.busy);
  gauge('webcapture_renderer_browser_up', '1 if the browser of this renderer responds, otherwise 0.', () =>
    Number(renderer.browserUp()),
  );
  const returns = new Counter({
    name: 'webcapture_renderer_returned_jobs_total',
    help: 'Jobs that this renderer returned to the queue, by reason: shutting_down, unknown_version, no_free_slot, store_unavailable (the file of a background capture could not be stored) or cut_off (the page of a background capture, and NATS, could not be reached). Such captures are rendered again.',
    labelNames: ['region', 'reason'],
    registers,
  });
  for (const reason of returnReasons) returns.inc({ region, reason }, 0);
  return {
    returned: (reason) => returns.inc({ region, reason }),
    limitReached: (limit) => limits.inc({ region, limit }),
    pageLimitReached: (resource) => pageLimits.inc({ region, resource }),
    pageReused: () => reuses.inc({ region }),
    pageWiped: (outcome) => wipes.inc({ region, outcome }),
    ended: ({ job, failure, queueMs, renderMs }) => {
      const { format } = job.options;
      captures.inc({ region, format, outcome: failure?.code ?? 'completed', cause: failure?.cause ?? 'none' });
      if (renderMs === null) return;
      observeRender({ region, format }, renderMs / 1000);
      observeWait({ region, priority: job.priority }, queueMs / 1000);
    },
  };

  function gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      labelNames: ['region'],
      registers,
      collect() {
        this.set({ region }, read());
      },
    });
  }
}
