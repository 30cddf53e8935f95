import type { CaptureRecord, CaptureFailure } from '../captures/capture-record.ts';
import { isOpen } from '../captures/transitions.ts';
import type { Region } from '../runtime/regions.ts';

/** How a capture, or a refresh, ended. Times are Unix milliseconds. */
export interface CaptureEnd {
  readonly account: string;
  readonly uuid: string;
  /** Id of the API key that asked for it; undefined for refreshes. */
  readonly key: string | undefined;
  /** Of the page; its address may hold secrets. */
  readonly host: string;
  readonly region: Region;
  /** What it was charged. */
  readonly tokens: number;
  /** Since the acceptance. For a completed capture without a waiting client, the time in the queue is excluded. */
  readonly durationMs: number;
  readonly endedAt: number;
  /** Undefined: it completed. */
  readonly failure: CaptureFailure | undefined;
}

/** How the capture of a record, or its refresh, ended by a change; null when none has. What was cancelled has not. */
export function endOf(before: CaptureRecord | null, after: CaptureRecord): CaptureEnd | null {
  const refreshNumber = before === null || isOpen(before) ? 0 : (before.refresh?.revision ?? 0);
  if (before === null || !isOpen(before, refreshNumber)) return null;
  const run = refreshNumber === 0 ? after : after.refresh;
  const state = refreshNumber === 0 ? after.status : after.refresh?.state;
  if (run === undefined || (state !== 'completed' && state !== 'failed')) return null;
  const failure = state === 'failed' ? run.failure : undefined;
  if (failure?.cancelled === true) return null;
  const { account, uuid, url, lane, outcome, tokenCost } = after;
  const { acceptedAt, endedAt = acceptedAt } = run;
  const isAwaited = lane === 'interactive' && refreshNumber === 0;
  const queueMs = isAwaited || state === 'failed' ? 0 : (outcome?.report.timings.queueMs ?? 0);
  return {
    account,
    uuid,
    key: refreshNumber === 0 ? after.key : undefined,
    host: url === 'about:blank' || !URL.canParse(url) ? 'about:blank' : new URL(url).host,
    region: state === 'completed' ? (outcome?.region ?? run.region) : run.region,
    tokens: state === 'completed' ? tokenCost : 0,
    durationMs: Math.max(0, Math.round(endedAt - acceptedAt - queueMs)),
    endedAt,
    failure,
  };
}
