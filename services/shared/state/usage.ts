import { createHash } from 'node:crypto';
import type { CaptureRecord } from '../contract/capture-record.ts';

/** What an account has used in a month: of one shard, or of all. */
export interface Usage {
  readonly tokens: number;
  readonly captures: number;
}

export const noUsage: Usage = { tokens: 0, captures: 0 };

/** What one record stands for in the books: an account's usage is the sum over its records. */
export function usageOf(record: CaptureRecord): Usage {
  return record.outcome === undefined ? noUsage : { tokens: record.tokenCost, captures: 1 };
}

export function sum(a: Usage, b: Usage): Usage {
  return { tokens: a.tokens + b.tokens, captures: a.captures + b.captures };
}

/** `a - b`, or null when they are equal. */
export function difference(a: Usage, b: Usage): Usage | null {
  const rest = { tokens: a.tokens - b.tokens, captures: a.captures - b.captures };
  return rest.tokens === 0 && rest.captures === 0 ? null : rest;
}

/** One key would be contended at 150 captures a second of one account; sixteen are not. */
export const usageShards = 16;

/** `usage.<account>.<yyyymm>.<shard>`: the month of acceptance in UTC, the shard by the capture's uuid. */
export function usageKey(account: string, acceptedAt: number, uuid: string): string {
  const shard = createHash('sha256').update(uuid).digest().readUInt8(0) % usageShards;
  return `usage.${account}.${monthOf(acceptedAt)}.${shard}`;
}

/** `yyyymm` in UTC. */
export function monthOf(time: number): string {
  return new Date(time).toISOString().slice(0, 7).replace('-', '');
}

/** The first instants of the month in UTC that `time` lies in, and of the next one; Unix milliseconds. */
export function periodOf(time: number): { readonly start: number; readonly end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}
