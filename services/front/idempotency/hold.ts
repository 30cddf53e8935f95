import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { IdempotencyKeys } from '@webcapture/shared/state/idempotency.ts';
import { uuidV7 } from '@webcapture/shared/state/uuid.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';

/** A claim whose capture has no record lapses so long after the last word of its front: that one has died. */
const claimMs = 15_000;

const renewEveryMs = claimMs / 3;

const callMs = 3000;

/** Somebody else has taken the key over: nothing may be begun under it. */
export class LostHold extends Error {}

/** A new claim, on a capture that is named in advance. `now` is the server's, in Unix ms. */
export const newClaim = (now: number) => ({ uuid: uuidV7(now), until: now + claimMs });

/** An idempotency key in the hands of the request that answers for it; renewed until `end` is called. */
export class Hold {
  readonly #keys: Pick<IdempotencyKeys, 'renew'>;
  readonly #place: { readonly account: string; readonly key: string };
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #ended = new AbortController();
  #uuid: string;
  #claimedUntil = 0;

  constructor(
    keys: Pick<IdempotencyKeys, 'renew'>,
    place: { readonly account: string; readonly key: string; readonly uuid: string },
    { log, now }: { readonly log: Logger; readonly now: () => number },
  ) {
    this.#keys = keys;
    this.#place = place;
    this.#uuid = place.uuid;
    this.#log = log;
    this.#now = now;
    void this.#renew();
  }

  /** Of the capture that the claim names. */
  get uuid(): string {
    return this.#uuid;
  }

  /** A capture may be under way, which has no record before it ends. */
  get isNamed(): boolean {
    return this.#claimedUntil > this.#now();
  }

  end(): void {
    this.#ended.abort();
  }

  /**
   * The uuid to render under: the claim's, or `uuid`, which the claim names from then on, for at least `lastsMs`.
   *
   * @throws LostHold, or what NATS answers
   */
  async nameCapture({
    uuid = this.#uuid,
    lastsMs = 0,
  }: { readonly uuid?: string | undefined; readonly lastsMs?: number } = {}): Promise<string> {
    this.#claimedUntil = this.#now() + lastsMs;
    // Also for its own: a front that was paused may have lost the key without knowing.
    if (!(await this.#write(uuid))) throw new LostHold();
    this.#uuid = uuid;
    return uuid;
  }

  async #renew(): Promise<void> {
    while (await delay(renewEveryMs, this.#ended.signal)) {
      try {
        const uuid = this.#uuid;
        // It may have been named anew meanwhile.
        if (!(await this.#write(uuid)) && uuid === this.#uuid) return;
      } catch (error) {
        this.#log.debug({ err: error, uuid: this.#uuid }, 'an idempotency key could not be renewed; trying again');
      }
    }
  }

  #write(uuid: string): Promise<boolean> {
    const { account, key } = this.#place;
    const claim = { uuid, until: Math.max(this.#claimedUntil, this.#now() + claimMs) };
    return withDeadline(this.#keys.renew(account, key, this.#uuid, claim), callMs, 'renewing an idempotency key');
  }
}
