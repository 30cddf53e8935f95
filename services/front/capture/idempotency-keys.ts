import type { CaptureResult, PendingCapture } from '@webcapture/shared/api/capture.ts';
import { changeEntry } from '@webcapture/shared/nats/change-entry.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import type { LeaseState } from '@webcapture/shared/captures/cache.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { sha256 } from './cache-key.ts';

/** What the first request was answered. */
export interface KeptAnswer {
  /** Of the capture that was answered. */
  readonly uuid: string;
  readonly region: Region;
  /** The `data` of a JSON answer; null when the answer is the file itself. */
  readonly data: CaptureResult | PendingCapture | null;
}

/** What stands under a key: a lease until there is an answer. */
export interface IdempotencyEntry {
  /** SHA-256 of the first request's body. */
  readonly bodyHash: string;
  /**
   * The lease of the request that answers for all with its key, renewed while its front lives. It names the capture in
   * advance: whoever finds the lease finds the capture.
   */
  readonly claim: LeaseState;
  readonly answer: KeptAnswer | null;
}

/** How long an answer is kept: 24 hours. */
const ttlSeconds = 86_400;

/**
 * Idempotency keys by account, changed by compare-and-set. The server removes them 24 hours after the last change.
 * Throws what the server answers, or its absence.
 */
export class IdempotencyKeys {
  readonly #entries: Entries;

  constructor(session: NatsSession) {
    this.#entries = new Entries(session, 'db');
  }

  /**
   * Gives a request the lease on the key, unless another one has it, but for `instead` (a uuid), which is known to bring
   * no answer. Returns what stands afterwards: the request has the lease if that names its capture.
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

  /** Extends the lease of the capture `uuid`, or has it name another one. False when it is lost. */
  async renew(account: string, key: string, uuid: string, lease: LeaseState): Promise<boolean> {
    const next = (entry: IdempotencyEntry | null) => (isOpenFor(entry, uuid) ? { ...entry, claim: lease } : entry);
    return isOpenFor(await this.#change(account, key, next), lease.uuid);
  }

  /** Keeps the answer of the request that has the lease; an answer that is there already stays. */
  async keep(account: string, key: string, uuid: string, answer: KeptAnswer): Promise<void> {
    await this.#change(account, key, (entry) => (isOpenFor(entry, uuid) ? { ...entry, answer } : entry));
  }

  /** Forgets a key whose request brought no answer. */
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

/** Where a key is kept in `KV_db`; clients may put into it what no subject can hold. */
export const idempotencyKey = (account: string, key: string) => `idem.${account}.${sha256(key)}`;

function isOpenFor(entry: IdempotencyEntry | null, uuid: string | undefined): entry is IdempotencyEntry {
  return entry !== null && entry.answer === null && entry.claim.uuid === uuid;
}
