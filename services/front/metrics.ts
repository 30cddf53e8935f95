import type { InstalledRegion } from '@webcapture/shared/config/regions.ts';
import { formats, type Format } from '@webcapture/shared/contract/formats.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { ErrorCode } from '@webcapture/shared/errors/table.ts';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { InFlight } from './capture/in-flight.ts';

export type CaptureOutcomeLabel = 'completed' | 'queued' | 'client_gone' | ErrorCode;

export interface FrontMetrics {
  /** A valid request of a known account has been answered. */
  capture(end: { outcome: CaptureOutcomeLabel; region: Region | 'none'; format: Format }): void;
  request(end: { method: string; route: string; status: number; totalMs: number; ownMs: number }): void;
}

/** Methods that have routes; what else comes is counted as one. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** What Prometheus learns of a front. All labels come from closed sets. */
export function createFrontMetrics(
  registry: Registry,
  front: { readonly installed: readonly InstalledRegion[]; readonly inFlight: InFlight },
): FrontMetrics {
  const registers = [registry];
  const captures = new Counter({
    name: 'webcapture_front_captures_total',
    help: 'Captures that were asked for, by outcome (completed, queued in the background, client_gone, or the error code), region and format.',
    labelNames: ['outcome', 'region', 'format'],
    registers,
  });
  for (const { region } of front.installed) {
    for (const format of formats) captures.inc({ outcome: 'completed', region, format }, 0);
  }
  const seconds = new Histogram({
    name: 'webcapture_front_request_seconds',
    help: 'From the head of a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 3, 5, 10, 30, 60, 180],
    registers,
  });
  const own = new Histogram({
    name: 'webcapture_front_own_seconds',
    help: 'The part of a request that is not spent waiting for a renderer.',
    labelNames: ['route'],
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2],
    registers,
  });
  new Gauge({
    name: 'webcapture_front_captures_in_flight',
    help: 'Captures of this front that wait or are being rendered.',
    labelNames: ['region'],
    registers,
    collect() {
      for (const { region } of front.installed) this.set({ region }, front.inFlight.of(region));
    },
  });
  return {
    capture: (end) => captures.inc(end),
    request: ({ method, route, status, totalMs, ownMs }) => {
      const known = methods.has(method) ? method : 'other';
      seconds.observe({ method: known, route, status: `${Math.floor(status / 100)}xx` }, totalMs / 1000);
      own.observe({ route }, ownMs / 1000);
    },
  };
}
