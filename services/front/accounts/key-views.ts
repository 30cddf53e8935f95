import type { KeyView, NewKeyView } from '@webcapture/shared/contract/api-key.ts';
import type { KeyRecord } from '@webcapture/shared/state/keys.ts';
import { dateOrNull } from './date-or-null.ts';

/** What is shown of a key at a time (Unix ms). */
export function keyView(record: KeyRecord, now: number): KeyView {
  return {
    id: record.id,
    accountId: record.account,
    name: record.name,
    scopes: [...record.scopes],
    status: statusOf(record, now),
    createdAt: new Date(record.createdAt).toISOString(),
    expiresAt: dateOrNull(record.expiresAt),
    revokedAt: dateOrNull(record.revokedAt),
  };
}

/** What is shown once, when a key has just been made. */
export function newKeyView(made: { readonly key: string; readonly record: KeyRecord }, now: number): NewKeyView {
  return { ...keyView(made.record, now), key: made.key };
}

function statusOf({ revokedAt, expiresAt }: KeyRecord, now: number): KeyView['status'] {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'active';
}
