import type { ChangeAccount } from '@webcapture/shared/contract/account.ts';
import type { AccountRecord } from '@webcapture/shared/state/accounts.ts';

/** The record with the fields that a request names; suspending again keeps the time of the first suspension. */
export function changedAccount(record: AccountRecord, change: ChangeAccount, now: number): AccountRecord {
  const { suspended, ...fields } = change;
  const { suspendedAt, ...rest } = { ...record, ...fields };
  const isSuspended = suspended ?? suspendedAt !== undefined;
  return isSuspended ? { ...rest, suspendedAt: suspendedAt ?? now } : rest;
}
