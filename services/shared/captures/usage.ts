import { createHash } from 'node:crypto';
import type { CaptureRecord, StoredBytes } from './capture-record.ts';
import { monthOf } from './times.ts';
import { earlierFilesWith, isOpen } from './transitions.ts';

/**
 * Tokens that were used in a month, reservations, and stored bytes. The usage belongs to one record, to one shard, or to the whole account.
 */
export interface Usage extends StoredBytes {
  /** Tokens and number of completed captures and refreshes. */
  readonly tokens: number;
  readonly captures: number;
  /** Tokens of background captures and refreshes that have not ended. */
  readonly reserved: number;
  /** Background captures and refreshes that have not ended. */
  readonly queued: number;
}

export const noBytes: StoredBytes = { queuedBytes: 0, storedBytes: 0, persistedBytes: 0, keptHtmlBytes: 0 };

export const noUsage: Usage = { tokens: 0, captures: 0, reserved: 0, queued: 0, ...noBytes };

/** Replaces the month in the keys of the shards that count persisted files, which are kept for years. */
export const persistedPeriod = 'persisted';

/**
 * Returns the record with its current `bytes`. The usage ledger counts only the `bytes` of records, so the two agree.
 */
export function withStoredBytes(record: CaptureRecord): CaptureRecord {
  const { bytes: _former, ...rest } = record;
  const bytes = bytesOf(record);
  return bytes === null ? rest : { ...rest, bytes };
}

/** Returns the stored bytes of a record; null if it stores nothing. */
function bytesOf(record: CaptureRecord): Partial<StoredBytes> | null {
  const { status, priority, outcome, htmlBytes = 0, diagnostics } = record;
  if (status === 'completed' && outcome !== undefined) {
    const own = outcome.fileSizeBytes + (outcome.extracted?.bytes ?? 0) + (diagnostics?.bytes ?? 0);
    return bytesWithFile(record, own + bytesOfEarlier(record));
  }
  if (status === 'failed' && diagnostics !== undefined && diagnostics.isExpired !== true) {
    return { storedBytes: diagnostics.bytes };
  }
  return priority === 'background' && isOpen(record) && htmlBytes > 0 ? { queuedBytes: htmlBytes } : null;
}

function bytesWithFile({ persistence, htmlBytes = 0 }: CaptureRecord, fileBytes: number): Partial<StoredBytes> {
  if (persistence === undefined) return { storedBytes: fileBytes };
  return { persistedBytes: fileBytes, ...(htmlBytes === 0 ? {} : { keptHtmlBytes: htmlBytes }) };
}

/** Bytes of the files that refreshes have replaced, and of the pictures of differences from them. */
const bytesOfEarlier = ({ earlierFiles = [], comparisons = [] }: Pick<CaptureRecord, 'earlierFiles' | 'comparisons'>) =>
  [
    ...earlierFiles.map(({ fileSizeBytes }) => fileSizeBytes),
    ...comparisons.map(({ difference }) => difference?.bytes ?? 0),
  ].reduce((sum, bytes) => sum + bytes, 0);

/**
 * Returns the bytes that a capture or refresh adds when it completes with a file of this size. The number is negative if the stored bytes
 * decrease.
 */
export function bytesAdded(record: CaptureRecord, fileBytes: number): StoredBytes {
  const { outcome, refresh } = record;
  const { earlierName: name } = refresh ?? {};
  const earlierFiles =
    outcome === undefined || refresh === undefined || name === undefined
      ? record.earlierFiles
      : earlierFilesWith(record, { ...outcome, name, replacedBy: refresh.revision });
  return bytesChanged(record, fileBytes + bytesOfEarlier({ ...record, ...(earlierFiles && { earlierFiles }) }));
}

/** Returns the difference between the bytes of a record after it completes with files of that size and its current bytes. */
function bytesChanged(record: CaptureRecord, fileBytes: number): StoredBytes {
  const before = { ...noUsage, ...bytesOf(record) };
  const { queuedBytes, storedBytes, persistedBytes, keptHtmlBytes } = combined(
    { ...noUsage, ...bytesWithFile(record, fileBytes) },
    before,
    -1,
  );
  return { queuedBytes, storedBytes, persistedBytes, keptHtmlBytes };
}

/** Returns the bytes that the diagnostics of a failed capture, or of its failed refresh, add. */
export function bytesAddedByDiagnostics(record: CaptureRecord, bytes: number): StoredBytes {
  const { status, outcome } = record;
  if (status !== 'completed' || outcome === undefined) return { ...noBytes, storedBytes: bytes };
  const own = outcome.fileSizeBytes + (outcome.extracted?.bytes ?? 0) + bytes;
  return bytesChanged(record, own + bytesOfEarlier(record));
}

/**
 * Returns the usage of one record in the ledger by period, which is a month (`yyyymm`) or `persisted`. An account's usage is the sum over
 * its records. A capture counts for the month in which it was accepted. Each refresh counts for the month in which that refresh was
 * accepted.
 */
export function usageOf(record: CaptureRecord): ReadonlyMap<string, Usage> {
  const { tokenCost, refresh } = record;
  const { persistedBytes = 0, keptHtmlBytes = 0, ...expiring } = record.bytes ?? {};
  const periods = new Map<string, Usage>();
  const add = (period: string, usage: Partial<Usage>) =>
    periods.set(period, sum(periods.get(period) ?? noUsage, { ...noUsage, ...usage }));
  const month = monthOf(record.acceptedAt);
  if (record.outcome !== undefined) add(month, { tokens: tokenCost, captures: 1 });
  if (record.priority === 'background' && isOpen(record)) add(month, { reserved: tokenCost, queued: 1 });
  for (const [refreshed, charge] of Object.entries(record.refreshCharges ?? {})) add(refreshed, charge);
  if (refresh !== undefined && isOpen(record, refresh.revision)) {
    add(monthOf(refresh.acceptedAt), { reserved: tokenCost, queued: 1 });
  }
  if (Object.keys(expiring).length > 0) add(month, expiring);
  if (persistedBytes + keptHtmlBytes > 0) add(persistedPeriod, { persistedBytes, keptHtmlBytes });
  return periods;
}

export const sum = (a: Usage, b: Usage): Usage => combined(a, b, 1);

/** Returns `a - b` for each period in which they differ. */
export function difference(
  a: ReadonlyMap<string, Usage>,
  b: ReadonlyMap<string, Usage>,
): readonly { readonly period: string; readonly change: Usage }[] {
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((period) => {
    const change = combined(a.get(period) ?? noUsage, b.get(period) ?? noUsage, -1);
    return Object.values(change).every((number) => number === 0) ? [] : { period, change };
  });
}

function combined(a: Usage, b: Usage, sign: 1 | -1): Usage {
  return {
    tokens: a.tokens + sign * b.tokens,
    captures: a.captures + sign * b.captures,
    reserved: a.reserved + sign * b.reserved,
    queued: a.queued + sign * b.queued,
    queuedBytes: a.queuedBytes + sign * b.queuedBytes,
    storedBytes: a.storedBytes + sign * b.storedBytes,
    persistedBytes: a.persistedBytes + sign * b.persistedBytes,
    keptHtmlBytes: a.keptHtmlBytes + sign * b.keptHtmlBytes,
  };
}

/**
 * Number of shards of an account's usage. If an account had one key, writes would conflict at 150 captures a second. With sixteen keys they
 * do not.
 */
export const usageShards = 16;

/** Returns `usage.<account>.<period>.<shard>`. The uuid of the capture determines the shard. */
export function usageKey(account: string, period: string, uuid: string): string {
  const shard = createHash('sha256').update(uuid).digest().readUInt8(0) % usageShards;
  return `usage.${account}.${period}.${shard}`;
}
