import type { CaptureRecord, CaptureFailure } from '../captures/capture-record.ts';
import { isOpen } from '../captures/transitions.ts';
import type { Region } from '../runtime/regions.ts';

/** The end of a capture or refresh. Times are Unix milliseconds. */
export interface CaptureEnd {
  readonly account: string;
  readonly uuid: string;
  /** Id of the API key of the request; undefined for refreshes. */
  readonly key: string | undefined;
  /** Host of the page. The rest of its address may contain secrets. */
  readonly host: string;
  readonly region: Region;
  /** Charged tokens. */
  readonly tokens: number;
  /** Time since the acceptance. For a completed capture without a waiting client, the time in the queue does not count. */
  readonly durationMs: number;
  readonly endedAt: number;
  /** The failure; undefined if the capture or refresh completed. */
  readonly failure: CaptureFailure | undefined;
}

/**
 * Returns the end of a capture or refresh that a change of its record has caused; null if the change has ended neither. Cancelled captures
 * are ignored.
 */
export function endOf(before: CaptureRecord | null, after: CaptureRecord): CaptureEnd | null {
  const refreshNumber = before === null || isOpen(before) ? 0 : (before.refresh?.revision ?? 0);
  if (before === null || !isOpen(before, refreshNumber)) return null;
  const run = refreshNumber === 0 ? after : after.refresh;
  const state = refreshNumber === 0 ? after.status : after.refresh?.state;
  if (run === undefined || (state !== 'completed' && state !== 'failed')) return null;
  const failure = state === 'failed' ? run.failure : undefined;
  if (failure?.cancelled === true) return null;
  const { account, uuid, url, priority, outcome, tokenCost } = after;
  const { acceptedAt, endedAt = acceptedAt } = run;
  const isAwaited = priority === 'interactive' && refreshNumber === 0;
  const queueMs = isAwaited || state === 'failed' ? 0 : (outcome?.report.timings.queueMs ?? 0);
  return {
    account,
    uuid,
    key: refreshNumber === 0 ? after.key : undefined,
    host: url === 'about:blank' ? url : (URL.parse(url)?.host ?? 'about:blank'),
    region: state === 'completed' ? (outcome?.region ?? run.region) : run.region,
    tokens: state === 'completed' ? tokenCost : 0,
    durationMs: Math.max(0, Math.round(endedAt - acceptedAt - queueMs)),
    endedAt,
    failure,
  };
}
