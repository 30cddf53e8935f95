import type { CaptureStatus } from '../api/capture.ts';
import type { WebhookEvent } from '../api/webhook.ts';
import type {
  CaptureFailure,
  CaptureOutcome,
  CaptureRecord,
  CaptureRefresh,
  Comparison,
  DeliveryEntry,
  DiagnosticsFile,
  EarlierFile,
  WebhookDelivery,
} from './capture-record.ts';
import { newFileName } from '../files/file-name.ts';
import { withDelivery, withRefresh } from './history.ts';
import { nextRefreshAfter } from './refresh-times.ts';
import { backgroundWaitMs, deadlineOf, monthOf } from './times.ts';

/**
 * A change of a record that depends on the record alone. A null result leaves the record unchanged. `now` is in Unix milliseconds.
 *
 * The parameter `refreshNumber` of the functions below selects a part of the record: 0 is the capture itself, another number is the refresh
 * of that number (stored and sent as `revision`).
 */
export type Transition = (record: CaptureRecord, now: number) => CaptureRecord | null;

/** Whether the capture, or the refresh with that number, has not ended. */
export function isOpen(record: CaptureRecord, refreshNumber = 0): boolean {
  return ['queued', 'rendering'].includes(stateOf(record, refreshNumber));
}

/** Returns the state of the capture or refresh; `none` if the refresh does not exist or its capture has no file. */
export function stateOf({ status, refresh }: CaptureRecord, refreshNumber: number): CaptureStatus | 'none' {
  if (refreshNumber === 0) return status;
  return status === 'completed' && refresh?.revision === refreshNumber ? refresh.state : 'none';
}

/** Returns the failure of the capture (0) or of its last refresh (any other number). Returns undefined if it did not fail. */
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

/** Records that a renderer has returned the job before the end. `attempt` is the number of the next attempt, which can begin only once. */
export const requeue =
  (refreshNumber: number, attempt: number): Transition =>
  (record) => {
    if (!isOpen(record, refreshNumber) || attemptOf(record, refreshNumber) >= attempt) return null;
    if (refreshNumber === 0) return { ...record, status: 'queued', attempt };
    return { ...record, ...refreshed(record, { state: 'queued', attempt }) };
  };

/** Returns how many times the job of a capture, or of its latest refresh, was queued. */
export const attemptOf = (record: CaptureRecord, refreshNumber: number): number =>
  (refreshNumber === 0 ? record : record.refresh)?.attempt ?? 1;

/** The objects that are stored with the file of a rendering. */
export interface StoredExtras {
  readonly diagnostics?: DiagnosticsFile;
  readonly earlier?: EarlierFile;
  readonly comparison?: Comparison;
}

/**
 * Completes a capture whose file is stored. It completes once, even if several renderers have rendered it. `expiresAt` is the expiry of the
 * file. `stored.diagnostics` replaces the diagnostics of an earlier rendering. `stored.earlier` is the kept file that a refresh replaces,
 * and `stored.comparison` compares the two.
 */
export function complete(
  refreshNumber: number,
  outcome: CaptureOutcome,
  expiresAt: number,
  { diagnostics, earlier, comparison }: StoredExtras = {},
): Transition {
  return (record, now) => {
    if (!isOpen(record, refreshNumber)) return null;
    const { diagnostics: _former, ...before } = record;
    const shown = { ...before, outcome, expiresAt, ...(diagnostics === undefined ? {} : { diagnostics }) };
    if (refreshNumber === 0) {
      const { capturedAt } = outcome;
      const nextRefreshAt = nextRefreshAfter(record, { since: capturedAt, now: capturedAt });
      return {
        ...shown,
        status: 'completed',
        endedAt: now,
        ...(nextRefreshAt === undefined ? {} : { nextRefreshAt }),
        ...withPendingWebhook(record, { event: 'capture.completed', refreshNumber, now }),
      };
    }
    return {
      ...shown,
      ...endRefresh(record, { state: 'completed', endedAt: now }, outcome),
      ...(earlier === undefined ? {} : { earlierFiles: earlierFilesWith(record, earlier) }),
      ...(comparison === undefined ? {} : { comparisons: comparisonsWith(record, comparison) }),
      refreshMs: now - (record.refresh?.acceptedAt ?? now),
      refreshCharges: withCharge(record),
      ...withPendingWebhook(record, {
        event: comparison?.hasChanged === true ? 'capture.changed' : 'capture.refreshed',
        refreshNumber,
        now,
      }),
    };
  };
}

/** Ends a capture without a file, or a refresh without a new file, at no cost. */
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
    // For its client, a cancelled capture was never accepted, so it has no event.
    ...(failure.cancelled === true ? {} : withPendingWebhook(record, { event: 'capture.failed', refreshNumber, now })),
  };
}

/** The fields of a refresh that its requester determines. */
export type RefreshOrder = Pick<
  CaptureRefresh,
  'revision' | 'by' | 'region' | 'acceptedAt' | 'startBy' | 'deadline' | 'isolation' | 'earlierName' | 'differenceName'
>;

/**
 * Queues the refresh. Does nothing if its number is not the next one, if another refresh is in progress, or if there is nothing to refresh.
 */
export function startRefresh(order: RefreshOrder, nextRefreshAt?: number): Transition {
  return (record, now) => {
    if (!isRefreshable(record) || order.revision !== nextRefreshNumber(record) || record.expiresAt <= now) return null;
    const refresh: CaptureRefresh = { ...order, state: 'queued' };
    return { ...record, refresh, ...(nextRefreshAt === undefined ? {} : { nextRefreshAt }) };
  };
}

/**
 * Skips the next refresh without queueing it, because of the quota or a suspension. `failure` contains the reason. The next refresh is due
 * at its regular time.
 */
export function refuseRefresh(order: RefreshOrder, failure: CaptureFailure, nextRefreshAt: number): Transition {
  return (record) => {
    if (!isRefreshable(record) || order.revision !== nextRefreshNumber(record)) return null;
    const refresh: CaptureRefresh = { ...order, state: 'failed', failure, endedAt: order.acceptedAt };
    return { ...record, refresh, ...withRefresh(record, refresh), nextRefreshAt };
  };
}

/** Returns the number of the next refresh. */
export const nextRefreshNumber = ({ refresh }: CaptureRecord) => (refresh?.revision ?? 0) + 1;

/** Whether a refresh can be queued now. */
export function isRefreshable(record: CaptureRecord): boolean {
  return record.status === 'completed' && !isOpen(record, record.refresh?.revision ?? -1);
}

/** Marks a completed capture whose file has expired, or removes expired diagnostics of a failed one. */
export const expire: Transition = (record, now) => {
  const { status, expiresAt, diagnostics } = record;
  if (status === 'completed' && expiresAt <= now) return ended(record, 'expired', now);
  if (status !== 'failed' || diagnostics === undefined || diagnostics.isExpired === true) return null;
  return diagnostics.expiresAt <= now ? { ...record, diagnostics: { ...diagnostics, isExpired: true } } : null;
};

/**
 * Deletes a capture on behalf of the account holder. A queued capture is cancelled. A capture that is being rendered cannot be deleted
 * before it has ended.
 */
export const remove: Transition = (record, now) => {
  if (record.status === 'rendering' || record.status === 'deleted') return null;
  return { ...ended(record, 'deleted', now), endedAt: record.endedAt ?? now };
};

/** Ends a refresh in progress together with its capture. The result of its renderer is then ignored. */
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

/** Removes the secrets of a capture that is never rendered again, because its record is kept for months. */
function withoutSecrets({ secrets: _gone, ...record }: CaptureRecord): CaptureRecord {
  return record;
}

/**
 * Records the state of an event's delivery, for the capture (0) or its refresh. If a later event is due already, nothing is recorded. If a
 * redelivery was requested, the attempt is only added to the history.
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

/** Whether a redelivery of the event was requested after this delivery or task. */
export const isSuperseded = (
  { revision, redelivery = 0 }: WebhookDelivery,
  delivery: Pick<WebhookDelivery, 'revision' | 'redelivery'>,
): boolean => revision === delivery.revision && redelivery > (delivery.redelivery ?? 0);

/** Delivers the latest event again, starting with the first attempt. Returns null if there is no event. */
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

/** Ends the refresh in progress. `outcome` is that of a completed refresh. */
function endRefresh(
  record: CaptureRecord,
  changes: Pick<CaptureRefresh, 'state' | 'failure' | 'endedAt'>,
  outcome?: CaptureOutcome,
): Pick<CaptureRecord, 'refresh' | 'refreshHistory'> {
  if (record.refresh === undefined) return {};
  const refresh = { ...record.refresh, ...changes };
  return { refresh, ...withRefresh(record, refresh, outcome) };
}

/** Adds a replaced file to those that are kept. */
export const earlierFilesWith = (
  { earlierFiles = [], persistence }: Pick<CaptureRecord, 'earlierFiles' | 'persistence'>,
  earlier: EarlierFile,
): readonly EarlierFile[] => [earlier, ...earlierFiles].slice(0, persistence?.history ?? 0);

const comparisonsWith = ({ comparisons = [], persistence }: CaptureRecord, comparison: Comparison) =>
  [comparison, ...comparisons].slice(0, Math.max(1, persistence?.history ?? 0));

/** Charges a refresh to the month in which it was accepted. */
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

/** Returns the order of the next refresh of a capture, with the deadlines of a background capture. */
export function refreshOrderOf(
  record: CaptureRecord,
  order: Pick<RefreshOrder, 'by' | 'region' | 'acceptedAt' | 'isolation'>,
): RefreshOrder {
  const { uuid, options, persistence } = record;
  const { history = 0, compare } = persistence ?? {};
  const startBy = order.acceptedAt + backgroundWaitMs;
  return {
    ...order,
    revision: nextRefreshNumber(record),
    startBy,
    deadline: deadlineOf(options, startBy),
    ...(history === 0 && compare === undefined ? {} : { earlierName: newFileName(uuid, options.format) }),
    ...(compare === undefined ? {} : { differenceName: newFileName(uuid, 'png') }),
  };
}
