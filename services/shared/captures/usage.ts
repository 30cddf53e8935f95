import { createHash } from 'node:crypto';
import type { CaptureRecord } from './capture-record.ts';
import { monthOf } from './times.ts';
import { isOpen } from './transitions.ts';

/** What an account has used in a month, and what is set aside: of one record, one shard, or all. */
export interface Usage {
  /** Of completed captures and refreshes. */
  readonly tokens: number;
  readonly captures: number;
  /** Tokens of background captures and refreshes that have not ended. */
  readonly reserved: number;
  /** Background captures and refreshes that have not ended. */
  readonly queued: number;
}

export const noUsage: Usage = { tokens: 0, captures: 0, reserved: 0, queued: 0 };

/**
 * What one record stands for in the usage ledger, by month (`yyyymm`): an account's usage is the sum over its records. A
 * capture counts for the month in which it was accepted, and so does each refresh.
 */
export function usageOf(record: CaptureRecord): ReadonlyMap<string, Usage> {
  const { tokenCost, refresh } = record;
  const months = new Map<string, Usage>();
  const add = (month: string, usage: Partial<Usage>) =>
    months.set(month, sum(months.get(month) ?? noUsage, { ...noUsage, ...usage }));
  const month = monthOf(record.acceptedAt);
  if (record.outcome !== undefined) add(month, { tokens: tokenCost, captures: 1 });
  if (record.lane === 'background' && isOpen(record)) add(month, { reserved: tokenCost, queued: 1 });
  for (const [refreshed, charge] of Object.entries(record.refreshCharges ?? {})) add(refreshed, charge);
  if (refresh !== undefined && isOpen(record, refresh.revision)) {
    add(monthOf(refresh.acceptedAt), { reserved: tokenCost, queued: 1 });
  }
  return months;
}

export function sum(a: Usage, b: Usage): Usage {
  return {
    tokens: a.tokens + b.tokens,
    captures: a.captures + b.captures,
    reserved: a.reserved + b.reserved,
    queued: a.queued + b.queued,
  };
}

/** `a - b` of each month in which they differ. */
export function difference(
  a: ReadonlyMap<string, Usage>,
  b: ReadonlyMap<string, Usage>,
): readonly { readonly month: string; readonly change: Usage }[] {
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((month) => {
    const change = sum(a.get(month) ?? noUsage, negative(b.get(month) ?? noUsage));
    return Object.values(change).every((number) => number === 0) ? [] : { month, change };
  });
}

const negative = ({ tokens, captures, reserved, queued }: Usage): Usage => ({
  tokens: -tokens,
  captures: -captures,
  reserved: -reserved,
  queued: -queued,
});

/** One key would be contended at 150 captures a second of one account; sixteen are not. */
export const usageShards = 16;

/** `usage.<account>.<yyyymm>.<shard>`: the shard by the capture's uuid. */
export function usageKey(account: string, month: string, uuid: string): string {
  const shard = createHash('sha256').update(uuid).digest().readUInt8(0) % usageShards;
  return `usage.${account}.${month}.${shard}`;
}
