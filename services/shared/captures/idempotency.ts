import type { CaptureResult, PendingCapture } from '../api/capture.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { compareAndSet } from '../nats/retry.ts';
import type { Region } from '../runtime/regions.ts';
import { sha256 } from './cache.ts';

/** The request that answers for all with its key. While its front lives, `until` (Unix ms) is put off again and again. */
export interface IdempotencyClaim {
  /** Names the capture in advance: whoever finds the claim finds the capture. */
  readonly uuid: string;
  readonly until: number;
}

/** What the first request was answered. */
export interface KeptAnswer {
  /** Of the capture that was answered. */
  readonly uuid: string;
  readonly region: Region;
  /** The `data` of a JSON answer; null when the answer is the file itself. */
  readonly data: CaptureResult | PendingCapture | null;
}

/** What stands under a key: a claim until there is an answer. */
export interface IdempotencyEntry {
  /** SHA-256 of the first request's body. */
  readonly bodyHash: string;
  readonly claim: IdempotencyClaim;
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
   * Makes a request the one that answers for the key, unless another one is, but for `instead` (a uuid), which is known
   * to bring no answer. Returns what stands afterwards: the request holds the key if the claim is its own.
   */
  async claim(
    account: string,
    key: string,
    wanted: { readonly bodyHash: string; readonly claim: IdempotencyClaim },
    instead?: string,
  ): Promise<IdempotencyEntry> {
    const free: IdempotencyEntry = { ...wanted, answer: null };
    const next = (entry: IdempotencyEntry | null) => {
      if (entry === null) return free;
      const isLost = entry.answer === null && entry.claim.uuid === instead && entry.bodyHash === wanted.bodyHash;
      return isLost ? free : entry;
    };
    return (await this.#change(account, key, next)) ?? free;
  }

  /** Changes the claim of `uuid`: puts it off, or names another capture. False when it is no longer there. */
  async renew(account: string, key: string, uuid: string, claim: IdempotencyClaim): Promise<boolean> {
    const stands = await this.#change(account, key, (entry) => (isOpenFor(entry, uuid) ? { ...entry, claim } : entry));
    return isOpenFor(stands, claim.uuid);
  }

  /** Keeps the answer of the request that holds the claim; an answer that is there already stays. */
  async keep(account: string, key: string, uuid: string, answer: KeptAnswer): Promise<void> {
    await this.#change(account, key, (entry) => (isOpenFor(entry, uuid) ? { ...entry, answer } : entry));
  }

  /** Forgets a key whose request brought no answer. */
  async release(account: string, key: string, uuid: string): Promise<void> {
    await this.#change(account, key, (entry) => (isOpenFor(entry, uuid) ? null : entry));
  }

  /** Compare-and-set until it holds; the same entry again leaves it as it is. Returns what stands afterwards. */
  async #change(
    account: string,
    key: string,
    next: (entry: IdempotencyEntry | null) => IdempotencyEntry | null,
  ): Promise<IdempotencyEntry | null> {
    const name = idempotencyKey(account, key);
    return compareAndSet(async () => {
      const found = await this.#entries.get<IdempotencyEntry>(name);
      const entry = found?.value ?? null;
      const wanted = next(entry);
      if (wanted === entry) return entry;
      if (wanted === null) await this.#entries.delete(name, found?.revision);
      else if (found === null) await this.#entries.create(name, wanted, { ttlSeconds });
      else await this.#entries.update(name, wanted, found.revision, { ttlSeconds });
      return wanted;
    });
  }
}

/** Where a key is kept in `KV_db`; clients may put into it what no subject can hold. */
export const idempotencyKey = (account: string, key: string) => `idem.${account}.${sha256(key)}`;

function isOpenFor(entry: IdempotencyEntry | null, uuid: string): entry is IdempotencyEntry {
  return entry !== null && entry.answer === null && entry.claim.uuid === uuid;
}
