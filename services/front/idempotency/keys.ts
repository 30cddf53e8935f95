import type { CaptureResult, PendingCapture } from '@webcapture/shared/api/capture.ts';
import { changeEntry, Entries } from '@webcapture/shared/nats/entries.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { LeaseState } from '@webcapture/shared/captures/cache.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { sha256 } from '../capture/cache-key.ts';

/** The response to the first request with a key. */
export interface KeptAnswer {
  /** UUID of the capture of the response. */
  readonly uuid: string;
  readonly region: Region;
  /** The `data` of a JSON response; null if the response is the file. */
  readonly data: CaptureResult | PendingCapture | null;
}

/** The stored state of a key: a lease until there is a response. */
export interface IdempotencyEntry {
  /** SHA-256 of the first request's body. */
  readonly bodyHash: string;
  /**
   * The lease of the request that determines the response for its key, renewed while its front lives. It contains the uuid
   * of the capture in advance, so that other requests can find the capture.
   */
  readonly lease: LeaseState;
  readonly answer: KeptAnswer | null;
}

/** Time for which a response is kept: 24 hours. */
const ttlSeconds = 86_400;

/**
 * Idempotency keys by account, changed by compare-and-set. The server removes them 24 hours after the last change.
 * Methods throw the errors of NATS.
 */
export class IdempotencyKeys {
  readonly #entries: Entries;

  constructor(session: NatsSession) {
    this.#entries = new Entries(session, 'db');
  }

  /**
   * Gives a request the lease on a key if the key is free, or if its lease is that of `instead` (a uuid), which has ended
   * without a response. Returns the stored entry: the request has the lease if the entry contains its uuid.
   */
  acquire(
    account: string,
    key: string,
    wanted: Omit<IdempotencyEntry, 'answer'>,
    instead?: string,
  ): Promise<IdempotencyEntry> {
    const fresh = { ...wanted, answer: null };
    return this.#change(account, key, (entry) => {
      const isFree = entry === null || (isOpenFor(entry, instead) && entry.bodyHash === wanted.bodyHash);
      return isFree ? fresh : entry;
    });
  }

  /** Renews the lease of the capture `uuid`, optionally for another uuid. Returns false if the lease is lost. */
  async renew(account: string, key: string, uuid: string, lease: LeaseState): Promise<boolean> {
    const next = (entry: IdempotencyEntry | null) => (isOpenFor(entry, uuid) ? { ...entry, lease } : entry);
    return isOpenFor(await this.#change(account, key, next), lease.uuid);
  }

  /** Stores the response of the request that has the lease, unless a response is stored already. */
  async keep(account: string, key: string, uuid: string, answer: KeptAnswer): Promise<void> {
    await this.#change(account, key, (entry) => (isOpenFor(entry, uuid) ? { ...entry, answer } : entry));
  }

  /** Removes a key whose request has ended without a response. */
  async release(account: string, key: string, uuid: string): Promise<void> {
    await this.#change(account, key, (entry) => (isOpenFor(entry, uuid) ? null : entry));
  }

  #change<Next extends IdempotencyEntry | null>(
    account: string,
    key: string,
    next: (entry: IdempotencyEntry | null) => Next,
  ): Promise<Next> {
    return changeEntry(this.#entries, idempotencyKey(account, key), next, () => ttlSeconds);
  }
}

/** Returns the key of an entry in `KV_db`. It contains a hash, because an Idempotency-Key can contain characters that subjects cannot. */
export const idempotencyKey = (account: string, key: string) => `idem.${account}.${sha256(key)}`;

function isOpenFor(entry: IdempotencyEntry | null, uuid: string | undefined): entry is IdempotencyEntry {
  return entry !== null && entry.answer === null && entry.lease.uuid === uuid;
}
