import { refreshReservation } from '@webcapture/shared/accounts/account-usage.ts';
import { type Account, type Accounts, withDefaultLimits } from '@webcapture/shared/accounts/accounts.ts';
import { refusalToIgnoreTlsErrors } from '@webcapture/shared/accounts/tls-errors.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import type { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { nextRefreshAfter } from '@webcapture/shared/captures/refresh-times.ts';
import { dispatchAfterMs, reservationMs } from '@webcapture/shared/captures/times.ts';
import { isRefreshable, refreshOrderOf, refuseRefresh, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import type { TaskOf } from '@webcapture/shared/queue/tasks.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { recoverLostJob, type RecoveryDeps } from '../recovery/lost-jobs.ts';

export interface RefreshDeps extends RecoveryDeps {
  readonly captures: Captures;
  readonly accounts: Accounts;
  readonly limiter: Limiter;
  readonly fleet: Fleet;
  readonly regions: readonly Region[];
  readonly defaultLimits: AccountLimits;
  /** Whether the captures of accounts with the permission may ignore TLS errors. */
  readonly allowIgnoreTlsErrors: boolean;
}

/** Delay before a refresh that could not be queued is retried. */
const soonMs = 60_000;

const failures = {
  suspended: { code: 'FORBIDDEN', message: 'Not refreshed: the account is suspended.', cause: 'client' },
  region: {
    code: 'REGION_UNAVAILABLE',
    message: 'Not refreshed: the region is no longer installed.',
    cause: 'service',
  },
  quota: { code: 'QUOTA_EXCEEDED', message: 'Not refreshed: too few tokens of this month are left.', cause: 'client' },
} as const satisfies Record<string, CaptureFailure>;

const notPermitted = (refusal: string) =>
  ({ code: 'FORBIDDEN', message: `Not refreshed: ${refusal}`, cause: 'client' }) as const satisfies CaptureFailure;

/**
 * Queues a due refresh of a capture, and schedules the next one. A refresh costs as much as the capture. The refresh is skipped if the
 * quota is used up, the account is suspended, or the permission for an option is missing. In this case the record contains the reason, and
 * the next refresh is due at the next time of its interval or schedule. A removed or expired capture is not refreshed.
 */
export async function refreshCapture(task: TaskOf<'refresh'>, deps: RefreshDeps): Promise<void> {
  const { captures, tasks, now = Date.now } = deps;
  const record = (await captures.get(task.account, task.uuid))?.value;
  if (record?.status !== 'completed' || record.nextRefreshAt === undefined || record.expiresAt <= now()) return;
  const due = record.nextRefreshAt <= now();
  const after = due ? await refresh(record, deps, now()) : record;
  const isLater = after?.nextRefreshAt !== undefined && after.nextRefreshAt > now();
  if (after?.status === 'completed') await tasks.schedule(task, isLater ? after.nextRefreshAt : now() + soonMs);
}

/** Returns the record after the refresh was queued. */
async function refresh(record: CaptureRecord, deps: RefreshDeps, now: number): Promise<CaptureRecord | null> {
  const { captures, limiter, tasks } = deps;
  const { account: accountId, uuid, tokenCost } = record;
  if (!isRefreshable(record)) return record;
  const account = await accountOf(accountId, deps);
  const order = refreshOrderOf(record, {
    by: 'interval',
    region: regionFor(record, deps),
    acceptedAt: now,
    ...(account?.isolation === undefined ? {} : { isolation: account.isolation }),
  });
  const { revision } = order;
  const next = nextRefreshAfter(record, { since: record.nextRefreshAt ?? now, now }) ?? now + soonMs;
  if (account === null) return captures.change(record, refuseRefresh(order, failures.suspended, next));
  if (!deps.regions.includes(order.region)) return captures.change(record, refuseRefresh(order, failures.region, next));
  // The operator may have withdrawn the permission.
  const refusal = refusalToIgnoreTlsErrors(record.options, account, deps.allowIgnoreTlsErrors);
  if (refusal !== null) return captures.change(record, refuseRefresh(order, notPermitted(refusal), next));

  const id = refreshReservation(uuid, revision);
  const reservation = {
    id,
    tokens: tokenCost,
    priority: 'background',
    unrated: true,
    until: now + reservationMs,
  } as const;
  const { refused } = await limiter.admit(accountId, account, reservation);
  if (refused === 'quota') return captures.change(record, refuseRefresh(order, failures.quota, next));
  if (refused !== null) return record;
  try {
    // If this leader dies after this line, its successor finds that the job is missing.
    await tasks.schedule({ kind: 'dispatch', account: accountId, uuid, revision }, now + dispatchAfterMs);
    const queued = await captures.change(record, startRefresh(order, next));
    await recoverLostJob({ account: accountId, uuid, revision }, deps);
    return queued;
  } finally {
    await limiter.release(accountId, id);
  }
}

/** Returns the account; null if the account may not use the service. */
async function accountOf(id: string, { accounts, defaultLimits }: RefreshDeps): Promise<Account | null> {
  const found = await accounts.get(id);
  if (found === null || found.value.suspendedAt !== undefined) return null;
  return withDefaultLimits(found.value, defaultLimits);
}

/** Returns the requested region. For `auto`, returns the last region if it has a renderer, otherwise any region with a renderer. */
function regionFor({ requestedRegion, region }: CaptureRecord, { fleet, regions }: RefreshDeps): Region {
  if (requestedRegion !== 'auto') return requestedRegion;
  return [region, ...regions].find((each) => fleet.load(each).renderers > 0) ?? region;
}
