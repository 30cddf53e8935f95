import type { AccountView } from '@webcapture/shared/contract/account.ts';
import type { Account } from '@webcapture/shared/state/accounts.ts';
import { dateOrNull } from './date-or-null.ts';

/** An account as its operator sees it. */
export function accountView(account: Account): AccountView {
  const { id, name, tokenQuota, ratePerMinute, burst, maxInFlight, maxQueued, isolation, suspendedAt } = account;
  return {
    id,
    name,
    createdAt: new Date(account.createdAt).toISOString(),
    tokenQuota,
    ratePerMinute,
    burst,
    maxInFlight,
    maxQueued,
    isolation: isolation ?? 'context',
    suspended: suspendedAt !== undefined,
    suspendedAt: dateOrNull(suspendedAt),
  };
}
