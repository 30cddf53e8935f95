import { randomUUIDv7 } from 'node:crypto';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { IdempotencyKeys } from '@webcapture/shared/state/idempotency.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';

/** A claim whose capture has no record lapses so long after the last word of its front: that one has died. */
const claimMs = 15_000;

const renewEveryMs = claimMs / 3;

const callMs = 3000;

/** Somebody else has taken the key over: nothing may be begun under it. */
export class LostHold extends Error {}

/** A new claim, on a capture that is named in advance. */
export const newClaim = () => ({ uuid: randomUUIDv7(), until: Date.now() + claimMs });

/** An idempotency key in the hands of the request that answers for it; renewed until `end` is called. */
export class Hold {
  readonly #keys: Pick<IdempotencyKeys, 'renew'>;
  readonly #place: { readonly account: string; readonly key: string };
  readonly #log: Logger;
  readonly #ended = new AbortController();
  #uuid: string;

  constructor(
    keys: Pick<IdempotencyKeys, 'renew'>,
    place: { readonly account: string; readonly key: string; readonly uuid: string },
    log: Logger,
  ) {
    this.#keys = keys;
    this.#place = place;
    this.#uuid = place.uuid;
    this.#log = log;
    void this.#renew();
  }

  /** Of the capture that the claim names. */
  get uuid(): string {
    return this.#uuid;
  }

  end(): void {
    this.#ended.abort();
  }

  /**
   * The uuid to render under: the claim's, or `uuid`, which the claim names from then on.
   *
   * @throws LostHold, or what NATS answers
   */
  async nameCapture(uuid: string = this.#uuid): Promise<string> {
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
    const claim = { uuid, until: Date.now() + claimMs };
    return withDeadline(this.#keys.renew(account, key, this.#uuid, claim), callMs, 'renewing an idempotency key');
  }
}
