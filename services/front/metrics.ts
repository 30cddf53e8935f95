import { Counter, Gauge, type Registry } from 'prom-client';
import { type Format, formats } from '@webcapture/shared/api/formats.ts';
import { type ComponentStatus, createComponentStatus } from '@webcapture/shared/api/status.ts';
import { causesOf, type ErrorCode, errorCodes, type FailureCause } from '@webcapture/shared/runtime/errors.ts';
import type { InstalledRegion, Region } from '@webcapture/shared/runtime/regions.ts';
import { createTracedHistogram } from '@webcapture/shared/tracing/traced-histogram.ts';
import type { IdempotencyResult } from './idempotency/lease.ts';
import type { CacheResult } from './capture/response-cache.ts';
import { type SettlementOutcome, settlementOutcomes } from './capture/settlement-outcomes.ts';
import { type ShedReason, shedReasons } from './http/client-limits.ts';
import { type StreamMetrics, streamEnds, streamKinds } from './events/event-stream.ts';
import type { RequestMetrics } from './http/request-facts.ts';

export type CaptureOutcomeLabel = 'completed' | 'queued' | 'client_gone' | ErrorCode;

export interface FrontMetrics extends RequestMetrics, StreamMetrics {
  /** Counts a valid request of an authenticated account that has been answered. */
  capture(end: {
    outcome: CaptureOutcomeLabel;
    cause: FailureCause | 'none';
    region: Region | 'none';
    format: Format;
  }): void;
  /** Counts a settled result; `tokens`: the tokens that it charged. */
  settled(result: { outcome: SettlementOutcome; region: Region; tokens: number }): void;
  /** Counts an invalid result of a renderer. */
  malformedResult(): void;
  /** Counts a refused request or connection of a client that has exceeded its limits. */
  shed(reason: ShedReason): void;
}

/** Refusals whose series exist from the start, so that a rate includes the first refusal. They occur before a region is chosen. */
const refusals = ['RATE_LIMIT_EXCEEDED', 'QUOTA_EXCEEDED', 'QUEUE_FULL'] as const satisfies readonly ErrorCode[];

/** Methods that have routes. All other methods share one label value. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Creates the metrics of a front. All labels come from closed sets. */
export function createFrontMetrics(
  registry: Registry,
  front: {
    readonly installed: readonly InstalledRegion[];
    /** Number of captures in a region that clients of this front wait for. */
    readonly inFlight: { of(region: Region): number };
    /** Age of the leader's last report; null before the first. */
    readonly statusAgeMs: () => number | null;
    /** Components of this front's response to GET /status. */
    readonly components: () => readonly ComponentStatus[];
  },
): FrontMetrics {
  const registers = [registry];
  const captures = new Counter({
    name: 'webcapture_front_captures_total',
    help: 'Valid capture requests that ended, by outcome (completed, queued for background captures, client_gone when the client disconnected, or the error code), cause of the failure (client, page or service; none otherwise), region and format.',
    labelNames: ['outcome', 'cause', 'region', 'format'],
    registers,
  });
  for (const { region } of front.installed) {
    for (const format of formats) captures.inc({ outcome: 'completed', cause: 'none', region, format }, 0);
  }
  for (const outcome of refusals) {
    for (const cause of causesOf(outcome)) {
      for (const format of formats) captures.inc({ outcome, cause, region: 'none', format }, 0);
    }
  }
  const errors = new Counter({
    name: 'webcapture_front_errors_total',
    help: 'Error responses of all routes, by error code, including requests that did not become captures, such as UNAUTHORIZED. Responses to HTTP messages that were invalid, too slow or too large to become a request are not counted.',
    labelNames: ['code'],
    registers,
  });
  for (const code of errorCodes) errors.inc({ code }, 0);
  const observeRequest = createTracedHistogram(registry, {
    name: 'webcapture_front_request_seconds',
    help: 'Time from the header of a request to the end of its response; of an event stream, to its beginning.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 3, 5, 10, 30, 60, 180],
  });
  const observeOwn = createTracedHistogram(registry, {
    name: 'webcapture_front_own_seconds',
    help: 'Duration of requests without the time spent waiting for a renderer.',
    labelNames: ['route'],
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2],
  });
  const results = new Counter({
    name: 'webcapture_front_results_total',
    help: 'Results received from renderers, by outcome. Settled: completed, failed. Returned to the queue: returned. Settled before: repeated. Left to the controller: canary. Refused: ended (the capture had ended with another result), unknown (the capture no longer exists), malformed (not a valid result), forged (no job matches), rejected (the file is missing or wrong), no_room (the account has reached a limit for bytes).',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of settlementOutcomes) results.inc({ outcome }, 0);
  const tokens = new Counter({
    name: 'webcapture_front_tokens_total',
    help: 'Tokens charged for captures that this front has settled, by rendering region.',
    labelNames: ['region'],
    registers,
  });
  for (const { region } of front.installed) tokens.inc({ region }, 0);
  const shed = new Counter({
    name: 'webcapture_front_shed_total',
    help: 'Requests and connections that were refused because their client exceeded its share, by reason. Of an address, without a valid API key: authentication (too many failed authentications), parsing (too many bytes of bodies), connections (an idle or incomplete connection was closed). Of a connection: pipelining (too many unanswered requests). Of an account: account_parsing (too many bytes of invalid bodies), bodies (too many large bodies at once).',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of shedReasons) shed.inc({ reason }, 0);
  const streams = new Gauge({
    name: 'webcapture_front_event_streams',
    help: 'Event streams that are open, by kind: captures (GET /events, GET /batches/{id}/events) or overview (GET /admin/events).',
    labelNames: ['kind'],
    registers,
  });
  for (const kind of streamKinds) streams.set({ kind }, 0);
  const streamsEnded = new Counter({
    name: 'webcapture_front_event_streams_ended_total',
    help: 'Event streams that ended, by reason: completed (the batch has ended), client (the client disconnected), shutdown (the front is shutting down), slow (the client did not read its events), error (the API key became invalid, or NATS became unavailable).',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of streamEnds) streamsEnded.inc({ reason }, 0);
  new Gauge({
    name: 'webcapture_front_captures_in_flight',
    help: 'Captures that clients of this front wait for, queued or rendering.',
    labelNames: ['region'],
    registers,
    collect() {
      for (const { region } of front.installed) this.set({ region }, front.inFlight.of(region));
    },
  });
  createComponentStatus(registry, front.components);
  void new Gauge({
    name: 'webcapture_front_status_age_seconds',
    help: 'Age of the last status that the leader published. Absent until this front has received one.',
    registers,
    collect() {
      const ageMs = front.statusAgeMs();
      if (ageMs === null) this.remove();
      else this.set(ageMs / 1000);
    },
  });
  return {
    capture: (end) => captures.inc(end),
    settled: ({ outcome, region, tokens: charged }) => {
      results.inc({ outcome });
      tokens.inc({ region }, charged);
    },
    malformedResult: () => results.inc({ outcome: 'malformed' }),
    shed: (reason) => shed.inc({ reason }),
    streamOpened: (kind) => streams.inc({ kind }),
    streamEnded: (kind, reason) => {
      streams.dec({ kind });
      streamsEnded.inc({ reason });
    },
    request: ({ method, route, status, code, totalMs, ownMs, span }) => {
      if (code !== undefined) errors.inc({ code });
      const known = methods.has(method) ? method : 'other';
      observeRequest({ method: known, route, status: `${Math.floor(status / 100)}xx` }, totalMs / 1000, span);
      observeOwn({ route }, ownMs / 1000, span);
    },
  };
}

const cacheResults = ['hit', 'followed', 'miss'] as const satisfies readonly CacheResult[];

/** Counts requests with `responseCache.enabled`. */
export function createCacheMetrics(registry: Registry): (result: CacheResult) => void {
  const requests = new Counter({
    name: 'webcapture_front_cache_requests_total',
    help: 'Requests with responseCache enabled, by result: hit (answered from the cache), followed (answered with an equal capture that was in progress), miss.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of cacheResults) requests.inc({ result }, 0);
  return (result) => requests.inc({ result });
}

const idempotencyResults = [
  'first',
  'replayed',
  'waited',
  'mismatch',
  'taken_over',
] as const satisfies readonly IdempotencyResult[];

/** Counts requests with an Idempotency-Key. */
export function createIdempotencyMetrics(registry: Registry): (result: IdempotencyResult) => void {
  const requests = new Counter({
    name: 'webcapture_front_idempotent_requests_total',
    help: 'Requests with an Idempotency-Key, by result: first (no earlier request), replayed (answered with the earlier response), waited (replayed after waiting for the earlier request), mismatch (the earlier request had another body), taken_over (the earlier request failed or never completed).',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of idempotencyResults) requests.inc({ result }, 0);
  return (result) => requests.inc({ result });
}
