import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { backoffMs, delay } from '@webcapture/shared/lifecycle/delay.ts';
import { canonical, sha256 } from '@webcapture/shared/state/canonical.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { FollowUps } from '@webcapture/shared/state/follow-ups.ts';
import type { IdempotencyEntry, IdempotencyKeys, KeptAnswer } from '@webcapture/shared/state/idempotency.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import { uuidV7 } from '@webcapture/shared/state/uuid.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { readState } from '../capture/read-state.ts';
import { reach } from '../http/reach.ts';
import { Hold, LostHold, newClaim } from './hold.ts';
import type { IdempotencyResult } from './metrics.ts';

export interface IdempotencyDeps {
  readonly keys: IdempotencyKeys;
  readonly captures: Pick<Captures, 'get' | 'fail'>;
  readonly followUps: Pick<FollowUps, 'arrange'>;
  readonly count: (result: IdempotencyResult) => void;
  /** Unix ms, by the server's clock: claims of other fronts lapse by it. */
  readonly now: () => number;
  readonly log: Logger;
}

/** A request, once its API key has been verified. */
export interface IdempotentAsk {
  readonly account: string;
  /** The Idempotency-Key; undefined: the request stands for itself. */
  readonly key: string | undefined;
  /** After defaults. */
  readonly body: unknown;
  readonly clientGone: AbortSignal;
  /** What this request is answered once its capture stands so; null as long as there is none, or when it failed. */
  readonly answerOf: (record: CaptureRecord) => KeptAnswer | null;
  /** Told when the wait for another request begins, and when it is over. */
  readonly onWait?: (waiting: boolean) => void;
}

/**
 * The uuid to render under: asked for right before, and with `uuid` when it has to be that one. A capture that a client
 * waits for has no record until it ends: right before it is queued it is named again, and `lastsMs` tells how long it may
 * take, so that nobody renders in its place meanwhile.
 */
export type NameCapture = (options?: {
  readonly uuid?: string | undefined;
  readonly lastsMs?: number;
}) => Promise<string>;

/** The answer of this request, or that of an earlier one. */
type IdempotentAnswer<T> =
  { readonly replayed: false; readonly answer: T } | { readonly replayed: true; readonly answer: KeptAnswer };

/** Within this it is found out how a key stands, or the request is refused. */
const callMs = 3000;

/** An answer that is there does not wait for longer than this to be kept. */
const keepMs = 2000;

const away = 'The Idempotency-Key cannot be looked up right now.';

/** Answers all requests of an account with the same Idempotency-Key as the first one, on whichever fronts they are. */
export class Idempotency {
  readonly #deps: IdempotencyDeps;

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
  }

  /**
   * What `run` brings; or, `replayed`, what it brought for an earlier request, which is waited for. When that one fails,
   * or dies before its capture has a record, `run` is called in its place. Null when the client went away.
   *
   * @throws ServiceError VALIDATION_ERROR for another body under the same key, INTERNAL_ERROR when the key cannot be
   *   looked up, and what `run` throws
   */
  async answer<T extends KeptAnswer>(
    ask: IdempotentAsk,
    run: (nameCapture: NameCapture) => Promise<T | null>,
  ): Promise<IdempotentAnswer<T> | null> {
    const { account, key, clientGone } = ask;
    if (key === undefined) return first(await run(async ({ uuid = uuidV7(this.#deps.now()) } = {}) => uuid));
    const bodyHash = sha256(canonical(ask.body));
    let hasWaited = false;
    let instead: string | undefined;
    try {
      for (let attempt = 1; !clientGone.aborted; attempt++) {
        const wanted = { bodyHash, claim: newClaim(this.#deps.now()) };
        const entry = await reach(() => this.#deps.keys.claim(account, key, wanted, instead), callMs, away);
        if (entry.bodyHash !== bodyHash) throw this.#mismatch();
        if (entry.claim.uuid === wanted.claim.uuid) {
          if (hasWaited) ask.onWait?.(false);
          const isFirst = instead === undefined && !hasWaited;
          hasWaited = false;
          const held = await this.#hold({ ...ask, key }, entry, run, isFirst ? 'first' : 'taken_over');
          if (held !== 'lost') return first(held);
          continue;
        }
        const found = await this.#look({ ...ask, key }, entry);
        if (found === 'over') {
          instead = entry.claim.uuid;
          continue;
        }
        if (found !== null) {
          this.#deps.count(hasWaited ? 'waited' : 'replayed');
          return { answer: found, replayed: true };
        }
        if (!hasWaited) ask.onWait?.(true);
        hasWaited = true;
        await delay(backoffMs(attempt, 50, 2000), clientGone);
      }
      return null;
    } finally {
      if (hasWaited) ask.onWait?.(false);
    }
  }

  #mismatch(): ServiceError {
    this.#deps.count('mismatch');
    return new ServiceError(
      'VALIDATION_ERROR',
      'This Idempotency-Key was sent with another body in the last 24 hours. Send another key with another body.',
    );
  }

  /** The answer of the request that holds the key; null while it is under way; `over` when it will not bring any. */
  async #look(ask: IdempotentAsk & { key: string }, entry: IdempotencyEntry): Promise<KeptAnswer | 'over' | null> {
    const { answer, claim } = entry;
    if (answer !== null) return answer;
    const record = await this.#recordOf(ask.account, claim.uuid);
    if (record === null) return claim.until < this.#deps.now() ? 'over' : null;
    const found = ask.answerOf(record);
    if (found !== null) {
      await this.#keep(ask, claim.uuid, found);
      return found;
    }
    return isOpen(record) ? null : 'over';
  }

  async #hold<T extends KeptAnswer>(
    ask: IdempotentAsk & { key: string },
    { claim }: IdempotencyEntry,
    run: (nameCapture: NameCapture) => Promise<T | null>,
    result: IdempotencyResult,
  ): Promise<T | 'lost' | null> {
    const { keys, log, now, count } = this.#deps;
    count(result);
    const hold = new Hold(keys, { account: ask.account, key: ask.key, uuid: claim.uuid }, { log, now });
    try {
      const answer = await run((options = {}) => reach(() => hold.nameCapture(options), callMs, away));
      if (answer === null) await this.#giveUp(ask, hold.uuid, hold.isNamed);
      else await this.#keep(ask, hold.uuid, answer);
      return answer;
    } catch (error) {
      if (error instanceof LostHold) return 'lost';
      await this.#giveUp(ask, hold.uuid, false);
      throw error;
    } finally {
      hold.end();
    }
  }

  /** An answer that could not be kept is found by its capture. */
  async #keep({ account, key }: { account: string; key: string }, uuid: string, answer: KeptAnswer): Promise<void> {
    const { uuid: captured, region, data } = answer;
    const kept = { uuid: captured, region, data };
    try {
      await reach(() => this.#deps.keys.keep(account, key, uuid, kept), keepMs, away);
    } catch (error) {
      this.#deps.log.warn({ err: error, uuid, account }, 'the answer to an idempotency key could not be kept');
    }
  }

  /** Makes the key free at once, unless the capture can still bring an answer, or did. */
  async #giveUp(
    { account, key }: { account: string; key: string },
    uuid: string,
    mayBeRendered: boolean,
  ): Promise<void> {
    const { captures, keys, log } = this.#deps;
    try {
      await reach(
        async () => {
          const status = (await captures.get(account, uuid))?.value.status;
          if ((status === undefined && !mayBeRendered) || status === 'failed') await keys.release(account, key, uuid);
        },
        keepMs,
        away,
      );
    } catch (error) {
      log.warn({ err: error, uuid, account }, 'an idempotency key could not be given up; its claim will lapse');
    }
  }

  async #recordOf(account: string, uuid: string): Promise<CaptureRecord | null> {
    try {
      return await readState(this.#deps, account, uuid);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'CAPTURE_NOT_FOUND') return null;
      throw error;
    }
  }
}

function first<T>(answer: T | null): IdempotentAnswer<T> | null {
  return answer === null ? null : { answer, replayed: false };
}
