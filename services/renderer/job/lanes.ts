import { captureDurable, backgroundShards, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';

/** Asks a durable for one message, waiting up to `waitMs` (0: not at all). */
export type Pull = (stream: string, durable: string, waitMs: number) => Promise<PulledMessage | null>;

/** Background goes first on every so many turns, so that a steady stream of requests cannot starve it. */
const backgroundFirstEvery = 8;

/** How long a free slot waits on the interactive lane before it looks further. */
const interactiveWaitMs = 300;

/** All slots together look at background lanes that were all empty only so often. */
const emptyMs = 250;

/**
 * Finds a free slot its next job: interactive first, then background, one account shard after the other so that ten
 * thousand captures of one account do not starve another's, then a short wait on interactive. JetStream ranks no
 * messages by itself, hence a durable for each lane.
 */
export class Lanes {
  readonly #pull: Pull;
  readonly #region: Region;
  readonly #now: () => number;
  #turn = 0;
  #shard = 0;
  #emptyAt = -Infinity;

  constructor(pull: Pull, region: Region, now: () => number = () => performance.now()) {
    this.#pull = pull;
    this.#region = region;
    this.#now = now;
  }

  /** The next job, or null when there was none for a while. */
  async next(): Promise<PulledMessage | null> {
    this.#turn = (this.#turn + 1) % backgroundFirstEvery;
    if (this.#turn === 0) {
      return (await this.#background()) ?? (await this.#interactive(interactiveWaitMs));
    }
    return (await this.#interactive(0)) ?? (await this.#background()) ?? (await this.#interactive(interactiveWaitMs));
  }

  #interactive(waitMs: number): Promise<PulledMessage | null> {
    return this.#pull(streamNames.captures, captureDurable(this.#region, 'interactive'), waitMs);
  }

  /** The shards are asked all at once when nothing waits, which is the usual case, would be wasteful: in turn, then. */
  async #background(): Promise<PulledMessage | null> {
    if (this.#now() - this.#emptyAt < emptyMs) return null;
    for (let asked = 0; asked < backgroundShards; asked++) {
      const shard = this.#shard;
      this.#shard = (shard + 1) % backgroundShards;
      const message = await this.#pull(streamNames.captures, captureDurable(this.#region, 'background', shard), 0);
      if (message !== null) return message;
    }
    this.#emptyAt = this.#now();
    return null;
  }
}
