import type { RendererHeartbeat } from '@webcapture/shared/contract/heartbeat.ts';
import type { LaneDepths } from '../gather/facts.ts';
import { duration, type Verdict } from './verdict.ts';

/** Of fewer captures than this within five minutes no share is taken: one failure of two says nothing. */
export const minCaptures = 10;

const maxFailedShare = 0.2;
const maxQueueWaitMs = 10_000;

/** More than a fifth of the captures of the last five minutes failed for reasons of our own. */
export function judgeFailures(pods: readonly RendererHeartbeat[]): Verdict | null {
  const ended = sum(pods.map(({ recent }) => recent.ended));
  const failed = sum(pods.map(({ recent }) => recent.failedByUs));
  if (ended < minCaptures || failed / ended <= maxFailedShare) return null;
  return {
    status: 'degraded_performance',
    message: `${Math.round((failed / ended) * 100)}% of the last ${ended} captures failed for reasons of our own`,
  };
}

/**
 * Captures wait for more than ten seconds: by the 95th percentile of the last five minutes, or because one waits for that
 * long right now. All renderers of a region serve one queue, so the mean of their percentiles, weighted by captures, is
 * taken for that of the region.
 */
export function judgeQueueWait(pods: readonly RendererHeartbeat[], waiting: LaneDepths | null): Verdict | null {
  const oldestMs = waiting?.oldestInteractiveMs ?? 0;
  if (oldestMs > maxQueueWaitMs) {
    return { status: 'degraded_performance', message: `a capture has waited ${duration(oldestMs)} for a renderer` };
  }
  const ended = sum(pods.map(({ recent }) => recent.ended));
  const p95Ms = sum(pods.map(({ recent }) => recent.queueWaitP95Ms * recent.ended)) / Math.max(1, ended);
  if (ended < minCaptures || p95Ms <= maxQueueWaitMs) return null;
  return { status: 'degraded_performance', message: `captures wait up to ${duration(p95Ms)} for a renderer` };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
