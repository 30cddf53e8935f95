import { LRUCache } from 'lru-cache';
import type { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { type Account, type Accounts, withDefaultLimits } from '@webcapture/shared/accounts/accounts.ts';
import {
  type AddedBytes,
  type EmbeddedLimit,
  type ExceededLimit,
  exceededLimit,
} from '@webcapture/shared/accounts/byte-limits.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import { noBytes, type StoredBytes } from '@webcapture/shared/captures/usage.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { ReadCache } from './read-cache.ts';

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

/** What an account stores, with what this front has accepted for it since the reading began. */
interface KnownBytes {
  readonly account: Account;
  readonly used: StoredBytes;
  readonly readAt: number;
}

/** Whether an account has room for the file of a capture that has been rendered. */
export class ByteQuota {
  readonly #deps: ByteQuotaDeps;
  readonly #known = new LRUCache<string, KnownBytes>({ max: maxAccounts });
  readonly #readings = new ReadCache<KnownBytes>({ maxAgeMs: nearAgeMs });

  constructor(deps: ByteQuotaDeps) {
    this.#deps = deps;
  }

  /**
   * The limit that the account exceeds with these bytes, which then must not be stored; null: none, and the bytes are counted here until
   * the usage ledger is read again. Throws what NATS answers when the ledger cannot be read.
   */
  async exceeded(account: string, added: Partial<StoredBytes>): Promise<ExceededLimit | null> {
    const known = this.#known.get(account);
    const ageMs = performance.now() - (known?.readAt ?? -Infinity);
    const isFresh = ageMs < nearAgeMs || (ageMs < farAgeMs && known !== undefined && this.#isFar(known, added));
    const current = known !== undefined && isFresh ? known : await this.#read(account);
    const exceeded = this.#exceededBy(current, added);
    // Another settlement may have counted its bytes while this one waited for the reading.
    const latest = this.#known.get(account) ?? current;
    if (exceeded === null) this.#known.set(account, { ...latest, used: plus(latest.used, added) });
    return exceeded;
  }

  #exceededBy({ account, used }: KnownBytes, added: AddedBytes): ExceededLimit | null {
    return exceededLimit(used, added, { ...account, embedded: this.#deps.share.limit() });
  }

  /** Whether the account would have half of its limits, and `farBytes`, to spare. */
  #isFar(known: KnownBytes, added: Partial<StoredBytes>): boolean {
    const entries = Object.entries(plus(known.used, added)).map(([name, bytes]) => [name, 2 * bytes + farBytes]);
    return this.#exceededBy({ ...known, used: noBytes }, Object.fromEntries(entries) as StoredBytes) === null;
  }

  async #read(id: string): Promise<KnownBytes> {
    const { accounts, usage, defaultLimits, now } = this.#deps;
    const known = await this.#readings.get(id, async () => {
      const readAt = performance.now();
      const [found, used] = await Promise.all([accounts.get(id), usage.read(id, now(), 'rough')]);
      const account = withDefaultLimits(found?.value ?? { id, name: id, createdAt: 0 }, defaultLimits);
      const { queuedBytes, storedBytes, persistedBytes, keptHtmlBytes } = used;
      const read = { account, used: { queuedBytes, storedBytes, persistedBytes, keptHtmlBytes }, readAt };
      this.#known.set(id, read);
      return read;
    });
    return this.#known.get(id) ?? known;
  }
}

const plus = (a: StoredBytes, b: Partial<StoredBytes>): StoredBytes => ({
  queuedBytes: a.queuedBytes + (b.queuedBytes ?? 0),
  storedBytes: a.storedBytes + (b.storedBytes ?? 0),
  persistedBytes: a.persistedBytes + (b.persistedBytes ?? 0),
  keptHtmlBytes: a.keptHtmlBytes + (b.keptHtmlBytes ?? 0),
});
