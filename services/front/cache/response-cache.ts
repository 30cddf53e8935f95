import type { CachePlace } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { answers, cacheSubject, cacheSubjects, type Cache, type CacheEntry } from '@webcapture/shared/state/cache.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import { uuidV7 } from '@webcapture/shared/state/uuid.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import type { CaptureEnd } from '../capture/dispatcher.ts';
import { follow } from './follow.ts';
import type { CacheResult } from './metrics.ts';
import { RecentReads } from './recent-reads.ts';

export interface ResponseCacheDeps {
  readonly session: NatsSession;
  readonly cache: Cache;
  readonly authenticator: Pick<Authenticator, 'accountOf'>;
  readonly captures: Pick<Captures, 'get'>;
  readonly store: Pick<FileStore, 'stat'>;
  readonly count: (result: CacheResult) => void;
  readonly log: Logger;
}

/** A request, once its key has been verified. */
export interface CacheAsk {
  readonly account: string;
  /** Undefined: neither answered from the cache nor kept there. */
  readonly place: CachePlace | undefined;
  /** What {@link ResponseCache.candidate} found. */
  readonly candidate: CaptureRecord | null;
  /** An answer without its file is none. */
  readonly wantsFile: boolean;
  /** The longest that the capture can take, from its acceptance on. */
  readonly lastsMs: number;
  readonly clientGone: AbortSignal;
  /** Told when the wait for another capture begins, and when it is over. */
  readonly onWait?: (waiting: boolean) => void;
}

/** What a capture needs to know that renders for all equal ones. */
export interface CacheLead {
  readonly uuid: string;
  readonly place: CachePlace;
  /** To be called when its job is queued: from then on it ends, whatever becomes of this front. */
  readonly onQueued: () => void;
}

export interface CacheAnswer extends CaptureEnd {
  readonly fromCache: boolean;
}

/** An entry is not served from memory for longer than this, whatever was heard of it. */
const maxAgeMs = 1000;

/** About 3 KB each. */
const maxEntries = 10_000;

/** Looking an answer up may cost this much before it is a miss. */
const lookupMs = 1500;

/**
 * A claim whose capture is not queued within this lapses: its front has died, or something else has come between. It costs
 * a second rendering, no more.
 */
const acceptMs = 10_000;

/** So many captures may fail under a follower before it answers with the last failure. */
const maxFailures = 2;

/** Answers equal requests of an account with one capture: from the cache, or by waiting for the one under way. */
export class ResponseCache {
  readonly #deps: ResponseCacheDeps;
  readonly #recent: RecentReads<CacheEntry>;

  constructor(deps: ResponseCacheDeps) {
    this.#deps = deps;
    this.#recent = new RecentReads({
      session: deps.session,
      subjects: cacheSubjects,
      maxAgeMs,
      maxEntries,
      isKept: ({ done }) => done !== null,
    });
  }

  /**
   * A capture that could answer the request, under the account that the token of the Authorization header belongs to.
   * Whether the key holds is to be found out before anything of it is told. Never throws for want of NATS: then there
   * is none.
   */
  async candidate(authorization: string | undefined, place: CachePlace | undefined): Promise<CaptureRecord | null> {
    if (place === undefined) return null;
    try {
      const lookup = this.#deps.authenticator.accountOf(authorization);
      const account = await withDeadline(lookup, lookupMs, 'looking up a key');
      if (account === null) return null;
      const entry = await this.#recent.get(cacheSubject(account, place.name), () =>
        withDeadline(this.#deps.cache.get(account, place.name), lookupMs, 'reading the cache'),
      );
      return answers(entry, place.ttl, this.#deps.session.now());
    } catch (error) {
      if (!isTransient(error)) throw error;
      return null;
    }
  }

  /**
   * The answer: the candidate; else the capture of an equal request that is under way on any front; else what `render`
   * brings. When the leader fails, one of those who follow it renders in its place; when that one fails too, they fail
   * as it did. Null when the client went away while following.
   *
   * @throws ServiceError what `render` throws, or the failure of the captures that were followed
   */
  async answer(
    ask: CacheAsk,
    render: (lead: CacheLead | undefined) => Promise<CaptureEnd>,
  ): Promise<CacheAnswer | null> {
    const { account, place, candidate } = ask;
    if (place === undefined) return { ...(await render(undefined)), fromCache: false };
    if (candidate?.account === account && (await this.#isWhole(candidate, ask, place))) {
      return this.#found(candidate, 'hit');
    }
    let isFollower = false;
    let instead: string | undefined;
    for (let failures = 0; ;) {
      const uuid = uuidV7(this.#deps.session.now());
      const lead: CacheLead = { uuid, place, onQueued: () => this.#extend(ask, uuid, place) };
      const entry = await this.#claim(ask, lead, instead);
      const answer = entry === null ? null : answers(entry, place.ttl, this.#deps.session.now());
      if (answer !== null) {
        if (await this.#isWhole(answer, ask, place)) return this.#found(answer, isFollower ? 'followed' : 'hit');
        continue;
      }
      const leader = entry?.claim ?? null;
      if (leader === null || leader.uuid === lead.uuid) return this.#lead(account, lead, render);

      isFollower = true;
      ask.onWait?.(true);
      const end = await follow(account, place, leader, ask.clientGone, {
        ...this.#deps,
        now: this.#deps.session.now,
        onWrite: (listener) => this.#recent.onWrite(cacheSubject(account, place.name), listener),
      }).finally(() => ask.onWait?.(false));
      if (end.kind === 'client-gone') return null;
      if (end.kind === 'completed') {
        if (await this.#isWhole(end.record, ask, place)) return this.#found(end.record, 'followed');
      } else if (end.kind === 'failed' && ++failures >= maxFailures) {
        throw new ServiceError(end.failure.code, end.failure.message);
      }
      instead = leader.uuid;
    }
  }

  /** The candidate, if it may answer: for whoever neither waits for another capture nor has others wait. */
  hit(candidate: CaptureRecord | null, account: string): CaptureRecord | null {
    if (candidate?.account !== account) return null;
    this.#deps.count('hit');
    return candidate;
  }

  /** What stands after claiming; null when the cache is away: then the capture is rendered whatever others do. */
  async #claim(ask: CacheAsk, lead: CacheLead, instead: string | undefined): Promise<CacheEntry | null> {
    const { name, ttl } = lead.place;
    const claim = { uuid: lead.uuid, until: this.#deps.session.now() + acceptMs };
    try {
      const claiming = this.#deps.cache.claim(ask.account, name, claim, { maxAge: ttl, instead });
      return await withDeadline(claiming, lookupMs, 'claiming a place in the cache');
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'the cache could not be used');
      return null;
    }
  }

  async #lead(
    account: string,
    lead: CacheLead,
    render: (lead: CacheLead) => Promise<CaptureEnd>,
  ): Promise<CacheAnswer> {
    this.#deps.count('miss');
    let isOver = true;
    try {
      const end = await render(lead);
      // One whose client went away while it was being rendered is completed by its renderer.
      isOver = !isOpen(end.record) && end.record.status !== 'completed';
      return { ...end, fromCache: false };
    } finally {
      if (isOver) this.#release(account, lead);
    }
  }

  /** Nobody waits for this: a claim that lapses costs a second rendering. */
  #extend({ account, lastsMs }: CacheAsk, uuid: string, { name }: CachePlace): void {
    const claim = { uuid, until: this.#deps.session.now() + lastsMs };
    this.#deps.cache.extend(account, name, claim).catch((error: unknown) => {
      this.#deps.log.debug({ err: error, uuid }, 'a claim in the cache could not be extended');
    });
  }

  /** Those who follow need not wait for the claim to lapse. Nobody waits for this. */
  #release(account: string, { uuid, place }: CacheLead): void {
    this.#deps.cache.release(account, place.name, uuid).catch((error: unknown) => {
      this.#deps.log.debug({ err: error, uuid }, 'giving up a claim failed');
    });
  }

  #found(record: CaptureRecord, result: CacheResult): CacheAnswer {
    this.#deps.count(result);
    return { record, bytes: null, fromCache: true };
  }

  /** Whether the file is there, where it is wanted. If not, the entry goes. */
  async #isWhole({ uuid, fileName }: CaptureRecord, ask: CacheAsk, place: CachePlace): Promise<boolean> {
    if (!ask.wantsFile || (await this.#deps.store.stat(fileName)) !== null) return true;
    await this.#deps.cache.drop(ask.account, place.name, uuid);
    return false;
  }
}
