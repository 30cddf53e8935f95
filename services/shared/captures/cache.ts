import { createHash } from 'node:crypto';
import type { RenderOptions } from '../api/capture-request.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry } from '../nats/entries.ts';
import { type CallLimits, compareAndSet } from '../nats/retry.ts';
import type { Region } from '../runtime/regions.ts';
import type { CacheKey, CaptureRecord } from './capture-record.ts';

/** A capture that answers for all equal ones until `until` (Unix ms): its time to live, or its file's, is over then. */
interface CachedCapture {
  readonly record: CaptureRecord;
  readonly until: number;
}

/** The capture that renders for all equal ones; without a word from it the claim lapses at `until` (Unix ms). */
export interface CacheClaim {
  readonly uuid: string;
  readonly until: number;
}

/** What is kept under one name. The claim on the next capture leaves the one that is there in its place. */
export interface CacheEntry {
  readonly done: CachedCapture | null;
  readonly claim: CacheClaim | null;
}

const nothing: CacheEntry = { done: null, claim: null };

/**
 * Cached captures by account and name, changed by compare-and-set. The server removes an entry when its time is over,
 * and the oldest ones when the bucket is full. Throws what the server answers, or its absence.
 */
export class Cache {
  readonly #entries: Entries;
  readonly #now: () => number;

  constructor(session: NatsSession) {
    this.#now = session.now;
    this.#entries = new Entries(session, 'cache');
  }

  /** What stands under the name now. */
  async get(account: string, name: string, now: number = this.#now()): Promise<CacheEntry> {
    return standing((await this.#entries.get<CacheEntry>(key(account, name)))?.value, now);
  }

  /**
   * Makes a capture the one that renders for all equal ones, unless there is an answer no older than `maxAge` seconds
   * or a claim of another one, but for `instead` (a uuid), which is known to have ended. Returns what stands afterwards:
   * the capture leads if the claim is its own.
   */
  async claim(
    account: string,
    name: string,
    claim: CacheClaim,
    terms: { readonly maxAge: number; readonly instead?: string | undefined },
    now: number = this.#now(),
  ): Promise<CacheEntry> {
    return this.#change(account, name, now, (entry) => {
      const isTaken = entry.claim !== null && entry.claim.uuid !== terms.instead;
      return isTaken || answers(entry, terms.maxAge, now) ? null : { ...entry, claim };
    });
  }

  /** Puts the end of a capture's own claim off; one that it does not have any more stays as it is. */
  async extend(account: string, name: string, { uuid, until }: CacheClaim, now: number = this.#now()): Promise<void> {
    await this.#change(account, name, now, (entry) =>
      entry.claim?.uuid === uuid && entry.claim.until < until ? { ...entry, claim: { uuid, until } } : null,
    );
  }

  /** Puts a completed capture there. A newer one stays; so does the claim of another capture. */
  async fill(
    account: string,
    place: CacheKey,
    record: CaptureRecord,
    now: number = this.#now(),
    limits?: CallLimits,
  ): Promise<void> {
    const until = Math.min(capturedAt(record) + place.ttl * 1000, record.expiresAt);
    const next = (entry: CacheEntry) => {
      const claim = entry.claim?.uuid === record.uuid ? null : entry.claim;
      const isNewer = entry.done === null || capturedAt(entry.done.record) <= capturedAt(record);
      return { done: isNewer && until > now ? { record, until } : entry.done, claim };
    };
    await this.#change(account, place.name, now, next, limits);
  }

  /** Gives up the claim of a capture that failed. */
  async release(account: string, name: string, uuid: string, now: number = this.#now()): Promise<void> {
    await this.#change(account, name, now, (entry) => (entry.claim?.uuid === uuid ? { ...entry, claim: null } : null));
  }

  /** Removes an answer whose file is gone. */
  async drop(account: string, name: string, uuid: string, now: number = this.#now()): Promise<void> {
    await this.#change(account, name, now, (entry) =>
      entry.done?.record.uuid === uuid ? { ...entry, done: null } : null,
    );
  }

  /** Compare-and-set until it holds; `next` answers null to leave the entry as it is. Returns what stands afterwards. */
  async #change(
    account: string,
    name: string,
    now: number,
    next: (entry: CacheEntry) => CacheEntry | null,
    limits?: CallLimits,
  ): Promise<CacheEntry> {
    return compareAndSet(async () => {
      const found = await this.#entries.get<CacheEntry>(key(account, name));
      const entry = standing(found?.value, now);
      const wanted = next(entry);
      if (wanted === null) return entry;
      await this.#write(key(account, name), wanted, found, now);
      return wanted;
    }, limits);
  }

  async #write(name: string, { done, claim }: CacheEntry, found: Entry<CacheEntry> | null, now: number): Promise<void> {
    const until = Math.max(done?.until ?? 0, claim?.until ?? 0);
    if (until <= now) {
      if (found !== null) await this.#entries.delete(name, found.revision);
      return;
    }
    const ttlSeconds = Math.max(1, Math.ceil((until - now) / 1000));
    if (found === null) await this.#entries.create(name, { done, claim }, { ttlSeconds });
    else await this.#entries.update(name, { done, claim }, found.revision, { ttlSeconds });
  }
}

/** The subjects of all entries (core NATS): where every change can be heard of. */
export const cacheSubjects = '$KV.cache.>';

export const cacheSubject = (account: string, name: string) => `$KV.cache.${key(account, name)}`;

/** The capture that answers a request which takes none older than `maxAge` seconds, or null. */
export function answers({ done }: CacheEntry, maxAge: number, now: number): CaptureRecord | null {
  if (done === null || done.until <= now) return null;
  return now - capturedAt(done.record) <= maxAge * 1000 ? done.record : null;
}

const key = (account: string, name: string) => `${account}.${name}`;

const capturedAt = ({ outcome, acceptedAt }: CaptureRecord) => outcome?.capturedAt ?? acceptedAt;

/** What of an entry has not lapsed. */
function standing(entry: CacheEntry | undefined, now: number): CacheEntry {
  if (entry === undefined) return nothing;
  const { done, claim } = entry;
  return {
    done: done !== null && done.until > now ? done : null,
    claim: claim !== null && claim.until > now ? claim : null,
  };
}

/** Part of every name: another number leaves all entries behind, when equal requests no longer make equal pictures. */
const nameVersion = 1;

/**
 * The name under which equal captures of an account meet: made of the page and every option that can change a pixel,
 * after defaults, with the region as asked. Who asks for a capture that is kept, and refreshed, is not answered with one
 * that is not. 64 hex digits.
 */
export function cacheName(
  source: { readonly kind: 'url'; readonly url: string } | { readonly kind: 'html'; readonly html: string },
  options: RenderOptions,
  region: Region | 'auto',
  persistence?: { readonly refreshIntervalMs: number },
): string {
  const page = source.kind === 'url' ? ['url', new URL(source.url).href] : ['html', sha256(source.html)];
  const kept = persistence === undefined ? [] : [persistence];
  return sha256(canonical([nameVersion, page, region, withoutIdle(options), ...kept]));
}

/** Options that the format has no use for do not part captures that are equal. */
function withoutIdle({ quality, pdf, ...rest }: RenderOptions): object {
  switch (rest.format) {
    case 'png':
      return rest;
    case 'jpeg':
    case 'webp':
      return { ...rest, quality };
    case 'pdf':
      // One single page has the size of its content.
      return { ...rest, pdf: rest.isFullPage ? { ...pdf, paper: null, landscape: null } : pdf };
  }
}

/** JSON with the keys of every object in order, so that equal values make equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
}

/** Of a text in UTF-8: 64 hex digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
