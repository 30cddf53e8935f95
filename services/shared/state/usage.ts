import { createHash } from 'node:crypto';

/** One of the shards in which the usage of an account and month is counted. */
export interface UsageShard {
  readonly tokens: number;
  readonly captures: number;
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
