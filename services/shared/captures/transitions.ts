import type { CaptureStatus } from '../api/capture.ts';
import type { WebhookEvent } from '../api/webhook.ts';
import type {
  CaptureFailure,
  CaptureOutcome,
  CaptureRecord,
  CaptureRefresh,
  DeliveryEntry,
  DiagnosticsFile,
  WebhookDelivery,
} from './capture-record.ts';
import { withDelivery, withRefresh } from './history.ts';
import { backgroundWaitMs, deadlineOf, monthOf } from './times.ts';

/**
 * A change of a record, decided from the record alone; null leaves it unchanged. `refreshNumber` selects the part of
 * the record: 0 for the capture itself, else the refresh of that number (`revision`, as stored and sent). `now` in Unix
 * milliseconds.
 */
export type Transition = (record: CaptureRecord, now: number) => CaptureRecord | null;

/** Whether the capture, or the refresh of that number, has still to end. */
export function isOpen(record: CaptureRecord, refreshNumber = 0): boolean {
  return ['queued', 'rendering'].includes(stateOf(record, refreshNumber));
}

/** `none`: there is no such refresh, or no longer anything to refresh. */
export function stateOf({ status, refresh }: CaptureRecord, refreshNumber: number): CaptureStatus | 'none' {
  if (refreshNumber === 0) return status;
  return status === 'completed' && refresh?.revision === refreshNumber ? refresh.state : 'none';
}

/** How the capture failed (0), or with any other number how its last refresh failed; undefined when it did not. */
export function failureOf({ failure, refresh }: CaptureRecord, refreshNumber: number): CaptureFailure | undefined {
  return refreshNumber === 0 ? failure : refresh?.failure;
}

/** Marks rendering as started, unless it has started. */
export const begin =
  (refreshNumber: number): Transition =>
  (record) => {
    if (stateOf(record, refreshNumber) !== 'queued') return null;
    if (refreshNumber === 0) return { ...record, status: 'rendering' };
    return { ...record, ...refreshed(record, { state: 'rendering' }) };
  };

/** A renderer has returned the job before the end. `attempt`: the number of the attempt that follows, which can begin once. */
export const requeue =
  (refreshNumber: number, attempt: number): Transition =>
  (record) => {
    if (!isOpen(record, refreshNumber) || attemptOf(record, refreshNumber) >= attempt) return null;
    if (refreshNumber === 0) return { ...record, status: 'queued', attempt };
    return { ...record, ...refreshed(record, { state: 'queued', attempt }) };
  };

/** Number of times that the job of a capture, or of its latest refresh, was queued. */
export const attemptOf = (record: CaptureRecord, refreshNumber: number): number =>
  (refreshNumber === 0 ? record : record.refresh)?.attempt ?? 1;

/**
 * The file is stored: it completes once, however many renderers have finished it. `expiresAt` is that of the file. `diagnostics` replaces
 * those of an earlier rendering.
 */
export function complete(
  refreshNumber: number,
  outcome: CaptureOutcome,
  expiresAt: number,
  diagnostics?: DiagnosticsFile,
): Transition {
  return (record, now) => {
    if (!isOpen(record, refreshNumber)) return null;
    const { diagnostics: _former, ...before } = record;
    const shown = { ...before, outcome, expiresAt, ...(diagnostics === undefined ? {} : { diagnostics }) };
    if (refreshNumber === 0) {
      const interval = record.persistence?.refreshIntervalMs ?? 0;
      return {
        ...shown,
        status: 'completed',
        endedAt: now,
        ...(interval === 0 ? {} : { nextRefreshAt: outcome.capturedAt + interval }),
        ...withPendingWebhook(record, { event: 'capture.completed', refreshNumber, now }),
      };
    }
    return {
      ...shown,
      ...endRefresh(record, { state: 'completed', endedAt: now }, outcome),
      refreshCharges: withCharge(record),
      ...withPendingWebhook(record, { event: 'capture.refreshed', refreshNumber, now }),
    };
  };
}

/** It ends without a file, or, of a refresh, without a new one; uncharged. */
export function fail(refreshNumber: number, failure: CaptureFailure, diagnostics?: DiagnosticsFile): Transition {
  return (record, now) => {
    if (!isOpen(record, refreshNumber)) return null;
    const end = failed(record, refreshNumber, failure, now);
    return diagnostics === undefined ? end : { ...end, diagnostics };
  };
}

/** Like {@link fail}, but only while rendering has not started. */
export function cancelQueued(refreshNumber: number, failure: CaptureFailure): Transition {
  return (record, now) =>
    stateOf(record, refreshNumber) === 'queued' ? failed(record, refreshNumber, failure, now) : null;
}

function failed(record: CaptureRecord, refreshNumber: number, failure: CaptureFailure, now: number): CaptureRecord {
  if (refreshNumber !== 0) return { ...record, ...endRefresh(record, { state: 'failed', failure, endedAt: now }) };
  return {
    ...withoutSecrets(record),
    status: 'failed',
    failure,
    endedAt: now,
    // From its client's view, a cancelled capture was never accepted, so it has no event.
    ...(failure.cancelled === true ? {} : withPendingWebhook(record, { event: 'capture.failed', refreshNumber, now })),
  };
}

/** The fields of a refresh that its requester decides. */
export type RefreshOrder = Pick<
  CaptureRefresh,
  'revision' | 'by' | 'region' | 'acceptedAt' | 'startBy' | 'deadline' | 'isolation'
>;

/** The refresh of that number is queued, unless it is not the next one, one is under way or there is nothing to refresh. */
export function startRefresh(order: RefreshOrder, nextRefreshAt?: number): Transition {
  return (record, now) => {
    if (!isRefreshable(record) || order.revision !== nextRefreshNumber(record) || record.expiresAt <= now) return null;
    const refresh: CaptureRefresh = { ...order, state: 'queued' };
    return { ...record, refresh, ...(nextRefreshAt === undefined ? {} : { nextRefreshAt }) };
  };
}

/**
 * Skips the next refresh without queueing it (quota, suspension). `failure` gives the reason, and the refresh after it
 * gets its due time.
 */
export function refuseRefresh(order: RefreshOrder, failure: CaptureFailure, nextRefreshAt: number): Transition {
  return (record) => {
    if (!isRefreshable(record) || order.revision !== nextRefreshNumber(record)) return null;
    const refresh: CaptureRefresh = { ...order, state: 'failed', failure, endedAt: order.acceptedAt };
    return { ...record, refresh, ...withRefresh(record, refresh), nextRefreshAt };
  };
}

/** The number that the next refresh will have. */
export const nextRefreshNumber = ({ refresh }: CaptureRecord) => (refresh?.revision ?? 0) + 1;

/** Whether a refresh could be queued now. */
export function isRefreshable(record: CaptureRecord): boolean {
  return record.status === 'completed' && !isOpen(record, record.refresh?.revision ?? -1);
}

/** The file of a completed capture has expired, or the diagnostics of a failed one have. */
export const expire: Transition = (record, now) => {
  const { status, expiresAt, diagnostics } = record;
  if (status === 'completed' && expiresAt <= now) return ended(record, 'expired', now);
  if (status !== 'failed' || diagnostics === undefined || diagnostics.isExpired === true) return null;
  return diagnostics.expiresAt <= now ? { ...record, diagnostics: { ...diagnostics, isExpired: true } } : null;
};

/** The account holder does not want it any more: cancelled when it is queued; one that is being rendered ends first. */
export const remove: Transition = (record, now) => {
  if (record.status === 'rendering' || record.status === 'deleted') return null;
  return { ...ended(record, 'deleted', now), endedAt: record.endedAt ?? now };
};

/** A refresh that is under way ends with its capture: nothing that a renderer does ends it any more. */
function ended(
  { nextRefreshAt: _none, ...record }: CaptureRecord,
  status: 'expired' | 'deleted',
  now: number,
): CaptureRecord {
  const isRefreshing = isOpen(record, record.refresh?.revision ?? -1);
  const refresh = isRefreshing ? endRefresh(record, { state: 'failed', failure: goneWith(status), endedAt: now }) : {};
  return { ...withoutSecrets(record), ...refresh, status };
}

const goneWith = (status: 'expired' | 'deleted'): CaptureFailure => ({
  code: 'CONFLICT',
  message: `The capture ${status === 'expired' ? 'expired' : 'was deleted'} before its refresh ended.`,
  cause: 'client',
  cancelled: true,
});

/** Of a capture that is never rendered again: its record outlives it by months. */
function withoutSecrets({ secrets: _gone, ...record }: CaptureRecord): CaptureRecord {
  return record;
}

/**
 * Records the state of an event's delivery, for the capture (0) or its refresh. Ignored once a later event is due. If a redelivery was
 * requested, the attempt is added to the history only.
 *
 * @param attempt for the history
 */
export function noteDelivery(refreshNumber: number, delivery: WebhookDelivery, attempt?: DeliveryEntry): Transition {
  return (record) => {
    const { webhook } = record;
    if (webhook?.revision !== refreshNumber || record.status === 'deleted') return null;
    return {
      ...record,
      webhook: isSuperseded(webhook, delivery) ? webhook : delivery,
      ...(attempt === undefined ? {} : withDelivery(record, attempt)),
    };
  };
}

/** Whether the event of a delivery, or of a task, was asked to be delivered again since. */
export const isSuperseded = (
  { revision, redelivery = 0 }: WebhookDelivery,
  delivery: Pick<WebhookDelivery, 'revision' | 'redelivery'>,
): boolean => revision === delivery.revision && redelivery > (delivery.redelivery ?? 0);

/** Delivers the latest event again from the first attempt; null without an event. */
export const redeliver: Transition = (record) => {
  const { webhook, status } = record;
  if (webhook?.event === undefined || status === 'deleted') return null;
  const { url, event, revision = 0, occurredAt = 0, redelivery = 0 } = webhook;
  const again = { url, event, revision, occurredAt, redelivery: redelivery + 1 };
  return { ...record, webhook: { ...again, state: 'pending', attempts: 0 } };
};

function refreshed({ refresh }: CaptureRecord, changes: Partial<CaptureRefresh>): Pick<CaptureRecord, 'refresh'> {
  return refresh === undefined ? {} : { refresh: { ...refresh, ...changes } };
}

/** The refresh that is under way ends. `outcome`: of one that completes. */
function endRefresh(
  record: CaptureRecord,
  changes: Pick<CaptureRefresh, 'state' | 'failure' | 'endedAt'>,
  outcome?: CaptureOutcome,
): Pick<CaptureRecord, 'refresh' | 'refreshHistory'> {
  if (record.refresh === undefined) return {};
  const refresh = { ...record.refresh, ...changes };
  return { refresh, ...withRefresh(record, refresh, outcome) };
}

/** A refresh is charged to the month in which it was accepted. */
function withCharge({ refresh, refreshCharges = {}, tokenCost, acceptedAt }: CaptureRecord) {
  const month = monthOf(refresh?.acceptedAt ?? acceptedAt);
  const { tokens, captures } = refreshCharges[month] ?? { tokens: 0, captures: 0 };
  return { ...refreshCharges, [month]: { tokens: tokens + tokenCost, captures: captures + 1 } };
}

function withPendingWebhook(
  { webhook }: CaptureRecord,
  { event, refreshNumber, now }: { event: WebhookEvent; refreshNumber: number; now: number },
): Pick<CaptureRecord, 'webhook'> {
  if (webhook === undefined) return {};
  return {
    webhook: { url: webhook.url, state: 'pending', event, revision: refreshNumber, occurredAt: now, attempts: 0 },
  };
}

/** The order for the next refresh of a capture, which has as long as a background capture. */
export function refreshOrderOf(
  record: CaptureRecord,
  order: Pick<RefreshOrder, 'by' | 'region' | 'acceptedAt' | 'isolation'>,
): RefreshOrder {
  const startBy = order.acceptedAt + backgroundWaitMs;
  return { ...order, revision: nextRefreshNumber(record), startBy, deadline: deadlineOf(record.options, startBy) };
}
