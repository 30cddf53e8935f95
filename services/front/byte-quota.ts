import { LRUCache } from 'lru-cache';
import type { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { type Account, type Accounts, withDefaultLimits } from '@webcapture/shared/accounts/accounts.ts';
import { type EmbeddedLimit, type ExceededLimit, exceededLimit } from '@webcapture/shared/accounts/byte-limits.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import type { CaptureRef } from '@webcapture/shared/captures/captures.ts';
import type { StoredBytes } from '@webcapture/shared/captures/capture-record.ts';
import { noBytes } from '@webcapture/shared/captures/usage.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { entryLimit } from './entry-limit.ts';
import { ReadCache } from './read-cache.ts';

/** Interval of reads of the store's maximum size, which only operators change. */
const sizeIntervalMs = 60_000;

const sizeTimeoutMs = 5000;

interface EmbeddedShareOptions {
  /** Percentage of the store's maximum size. */
  readonly percent: number;
  readonly holdsFiles: boolean;
  readonly log: Logger;
}

/** The part of the store in NATS that one account may use, if the stream of files has a maximum size. */
export class EmbeddedShare {
  readonly #session: Pick<NatsSession, 'jsm'>;
  readonly #options: EmbeddedShareOptions;
  #maxBytes = -1;

  constructor(session: Pick<NatsSession, 'jsm'>, options: EmbeddedShareOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Whether the store in NATS contains files; otherwise it contains only HTML. */
  get holdsFiles(): boolean {
    return this.#options.holdsFiles;
  }

  /** Returns undefined if the stream has no maximum size, or if its size is not known yet. */
  limit(): EmbeddedLimit | undefined {
    if (this.#maxBytes <= 0) return undefined;
    const { percent, holdsFiles } = this.#options;
    return { maxEmbeddedBytes: Math.floor((this.#maxBytes * percent) / 100), holdsFiles };
  }

  /** Reads the size periodically until the signal aborts. Never throws. */
  async follow(signal: AbortSignal): Promise<void> {
    while (await delay(sizeIntervalMs, signal)) await this.look();
  }

  /** Reads the maximum size of the stream. Never throws: on failure, the last known size stays in use. */
  async look(): Promise<void> {
    try {
      const reading = this.#session.jsm.streams.info(streamNames.files);
      const { config } = await withDeadline(reading, sizeTimeoutMs, 'reading the size of the store');
      this.#maxBytes = config.max_bytes;
    } catch (error) {
      this.#options.log.debug({ err: error }, 'the maximum size of the store could not be read');
    }
  }
}

/** Maximum age of the known usage of an account near one of its limits. */
const nearAgeMs = 250;
/** Maximum age of the known usage of an account far from all limits. */
const farAgeMs = 2000;

/** More bytes than all fronts can accept for one account within `farAgeMs`, at an assumed 128 MiB a second. */
const farBytes = 256 * 2 ** 20;

const maxAccounts = 10_000;

interface ByteQuotaDeps {
  readonly accounts: Accounts;
  readonly usage: AccountUsage;
  readonly defaultLimits: AccountLimits;
  readonly share: EmbeddedShare;
  /** The server's clock, Unix ms. */
  readonly now: () => number;
}

/** The stored bytes of an account, read from the usage ledger. */
interface KnownBytes {
  readonly account: Account;
  readonly used: StoredBytes;
  /** Time at which the read of the ledger started, by the monotonic clock. */
  readonly readAt: number;
  /** Bytes that this front has stored since `readAt`. `used` may include some of them. */
  readonly later: readonly { readonly bytes: StoredBytes; readonly at: number }[];
}

/** Bytes that are reserved for a file. Call `release` when the record of the file is written (`isStored`), or when that has failed. */
export type ByteReservation =
  { readonly exceeded: ExceededLimit } | { readonly exceeded: null; release(isStored: boolean): void };

/** Checks whether an account has room for the file of a rendered capture. */
export class ByteQuota {
  readonly #deps: ByteQuotaDeps;
  readonly #known = new LRUCache<string, KnownBytes>(entryLimit(maxAccounts));
  readonly #readings = new ReadCache<KnownBytes>();
  /**
   * Active reservations of this front, by account and by capture. A capture has one entry, because a result may be settled twice
   * concurrently.
   */
  readonly #reserved = new Map<string, Map<string, StoredBytes>>();

  constructor(deps: ByteQuotaDeps) {
    this.#deps = deps;
  }

  /**
   * Reserves bytes for a capture or its refresh, unless the account would exceed one of its limits. Throws the errors of NATS if the
   * usage ledger cannot be read.
   */
  async reserve({ account, uuid, revision = 0 }: CaptureRef, added: StoredBytes): Promise<ByteReservation> {
    const startedAt = performance.now();
    const name = `${uuid}:${revision}`;
    const before = this.#known.get(account);
    let known = before !== undefined && this.#isFresh(before, added) ? before : await this.#read(account);
    // Files that were deleted since that read may have made room.
    if (known.readAt < startedAt && this.#exceededBy(known, name, added) !== null) known = await this.#read(account);
    // From here on, nothing is awaited. Concurrent reservations are therefore counted one by one.
    const exceeded = this.#exceededBy(this.#known.get(account) ?? known, name, added);
    if (exceeded !== null) return { exceeded };
    const reserved = this.#reserved.get(account) ?? new Map<string, StoredBytes>();
    this.#reserved.set(account, reserved.set(name, added));
    const release = (isStored: boolean) => {
      reserved.delete(name);
      if (reserved.size === 0) this.#reserved.delete(account);
      if (isStored) this.#count(account, added);
    };
    return { exceeded, release };
  }

  #count(account: string, bytes: StoredBytes): void {
    const known = this.#known.get(account);
    if (known === undefined) return;
    this.#known.set(account, { ...known, later: [...known.later, { bytes, at: performance.now() }] });
  }

  #isFresh(known: KnownBytes, added: StoredBytes): boolean {
    const ageMs = performance.now() - known.readAt;
    return ageMs < nearAgeMs || (ageMs < farAgeMs && this.#isFar(known, added));
  }

  /** Returns the limit that the account would exceed with these bytes, its stored bytes and its other reservations. */
  #exceededBy(known: KnownBytes, name: string, added: StoredBytes): ExceededLimit | null {
    const reserved = [...(this.#reserved.get(known.account.id) ?? [])].filter(([other]) => other !== name);
    const more = [...reserved.map(([, bytes]) => bytes), ...known.later.map(({ bytes }) => bytes)];
    return exceededLimit(more.reduce(withMore, known.used), added, this.#limitsOf(known));
  }

  /** Returns whether, with these bytes, at least half of each limit and `farBytes` would remain free. */
  #isFar(known: KnownBytes, added: StoredBytes): boolean {
    const { queuedBytes, storedBytes, persistedBytes, keptHtmlBytes } = withMore(known.used, added);
    const room = (bytes: number) => 2 * bytes + farBytes;
    const wanted = {
      queuedBytes: room(queuedBytes),
      storedBytes: room(storedBytes),
      persistedBytes: room(persistedBytes),
      keptHtmlBytes,
    };
    return exceededLimit(noBytes, wanted, this.#limitsOf(known)) === null;
  }

  #limitsOf({ account }: KnownBytes) {
    return { ...account, embedded: this.#deps.share.limit() };
  }

  /** Joins a read in progress, or starts one. */
  #read(id: string): Promise<KnownBytes> {
    return this.#readings.get(id, () => this.#readNow(id));
  }

  async #readNow(id: string): Promise<KnownBytes> {
    const { accounts, usage, defaultLimits, now } = this.#deps;
    const readAt = performance.now();
    const [found, used] = await Promise.all([accounts.get(id), usage.read(id, now(), 'rough')]);
    const account = withDefaultLimits(found?.value ?? { id, name: id, createdAt: 0 }, defaultLimits);
    const later = (this.#known.get(id)?.later ?? []).filter(({ at }) => at > readAt);
    const known = { account, used, readAt, later };
    this.#known.set(id, known);
    return known;
  }
}

/** Adds bytes. Ignores decreases, because the ledger may include them already. */
const withMore = (used: StoredBytes, more: StoredBytes): StoredBytes => ({
  queuedBytes: used.queuedBytes + Math.max(0, more.queuedBytes),
  storedBytes: used.storedBytes + Math.max(0, more.storedBytes),
  persistedBytes: used.persistedBytes + Math.max(0, more.persistedBytes),
  keptHtmlBytes: used.keptHtmlBytes + Math.max(0, more.keptHtmlBytes),
});
