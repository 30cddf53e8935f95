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

/** Interval of the readings of the store's size, which only an operator changes. */
const sizeIntervalMs = 60_000;

const sizeTimeoutMs = 5000;

interface EmbeddedShareOptions {
  /** Of the store's maximum size, in percent. */
  readonly percent: number;
  readonly holdsFiles: boolean;
  readonly log: Logger;
}

/** The part of the store in NATS that one account may use, as far as the stream of files has a maximum size. */
export class EmbeddedShare {
  readonly #session: Pick<NatsSession, 'jsm'>;
  readonly #options: EmbeddedShareOptions;
  #maxBytes = -1;

  constructor(session: Pick<NatsSession, 'jsm'>, options: EmbeddedShareOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Whether files lie in NATS; without, only HTML does. */
  get holdsFiles(): boolean {
    return this.#options.holdsFiles;
  }

  /** Undefined: the stream has no maximum size, or its size is not known yet. */
  limit(): EmbeddedLimit | undefined {
    if (this.#maxBytes <= 0) return undefined;
    const { percent, holdsFiles } = this.#options;
    return { maxEmbeddedBytes: Math.floor((this.#maxBytes * percent) / 100), holdsFiles };
  }

  /** Repeats the reading until the signal aborts. Never throws. */
  async follow(signal: AbortSignal): Promise<void> {
    while (await delay(sizeIntervalMs, signal)) await this.look();
  }

  /** Reads the maximum size of the stream. Never throws: the size that was read before stays. */
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

/** Age at which the bytes of an account are read again: near one of its limits, and far from all of them. */
const nearAgeMs = 250;
const farAgeMs = 2000;

/** More than the fronts accept for one account within `farAgeMs`. 256 MiB: 128 MiB a second. */
const farBytes = 256 * 2 ** 20;

const maxAccounts = 10_000;

interface ByteQuotaDeps {
  readonly accounts: Pick<Accounts, 'get'>;
  readonly usage: Pick<AccountUsage, 'read'>;
  readonly defaultLimits: AccountLimits;
  readonly share: Pick<EmbeddedShare, 'limit'>;
  /** The server's clock, Unix ms. */
  readonly now: () => number;
}

/** What an account stores, by a reading of the usage ledger. */
interface KnownBytes {
  readonly account: Account;
  readonly used: StoredBytes;
  /** When the reading began, by the monotonic clock. */
  readonly readAt: number;
  /** What this front has stored since: the reading may have it or not. */
  readonly later: readonly { readonly bytes: StoredBytes; readonly at: number }[];
}

/** Room for a file that is being stored. `release` once its record is written, or is not: `isStored` says which. */
export type ByteReservation =
  { readonly exceeded: ExceededLimit } | { readonly exceeded: null; release(isStored: boolean): void };

/** Whether an account has room for the file of a capture that has been rendered. */
export class ByteQuota {
  readonly #deps: ByteQuotaDeps;
  readonly #known = new LRUCache<string, KnownBytes>({ max: maxAccounts });
  /** Readings that are under way. */
  readonly #readings = new Map<string, Promise<KnownBytes>>();
  /** Reservations of this front that are not released, by account and capture: a result may be settled twice at once. */
  readonly #reserved = new Map<string, Map<string, StoredBytes>>();

  constructor(deps: ByteQuotaDeps) {
    this.#deps = deps;
  }

  /**
   * Reserves room for bytes that a capture, or its refresh, is about to store, unless the account would exceed one of its limits. Throws
   * what NATS answers when the usage ledger cannot be read.
   */
  async reserve({ account, uuid, revision = 0 }: CaptureRef, added: StoredBytes): Promise<ByteReservation> {
    const startedAt = performance.now();
    const name = `${uuid}:${revision}`;
    const before = this.#known.get(account);
    let known = before !== undefined && this.#isFresh(before, added) ? before : await this.#read(account);
    // What was deleted since makes room.
    if (known.readAt < startedAt && this.#exceededBy(known, name, added) !== null) known = await this.#read(account);
    // From here on nothing is awaited: reservations count one after another.
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

  /** The limit that an account exceeds with these bytes, its stored bytes and the bytes of other reservations. */
  #exceededBy(known: KnownBytes, name: string, added: StoredBytes): ExceededLimit | null {
    const reserved = [...(this.#reserved.get(known.account.id) ?? [])].filter(([other]) => other !== name);
    const more = [...reserved.map(([, bytes]) => bytes), ...known.later.map(({ bytes }) => bytes)];
    return exceededLimit(more.reduce(withMore, known.used), added, this.#limitsOf(known));
  }

  /** Whether the account would have half of its limits, and `farBytes`, to spare. */
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

  /** A reading that is under way serves as well. */
  #read(id: string): Promise<KnownBytes> {
    const underWay = this.#readings.get(id);
    if (underWay !== undefined) return underWay;
    const reading = this.#readNow(id).finally(() => this.#readings.delete(id));
    this.#readings.set(id, reading);
    return reading;
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

/** Bytes that become fewer are not counted before the ledger has them: it may have them already. */
const withMore = (used: StoredBytes, more: StoredBytes): StoredBytes => ({
  queuedBytes: used.queuedBytes + Math.max(0, more.queuedBytes),
  storedBytes: used.storedBytes + Math.max(0, more.storedBytes),
  persistedBytes: used.persistedBytes + Math.max(0, more.persistedBytes),
  keptHtmlBytes: used.keptHtmlBytes + Math.max(0, more.keptHtmlBytes),
});
