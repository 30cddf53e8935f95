import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { type PulledMessage, PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { PullSubscription } from '@webcapture/shared/nats/pull.ts';
import { backgroundShards, captureDurable, signalSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { RegionSignal } from '@webcapture/shared/queue/jobs.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';

export interface JobSourceOptions {
  readonly region: Region;
  /** Slots that wait for a job. */
  readonly free: () => number;
  /** Takes a job, whether or not a slot is free: a request that waits at the server cannot be taken back. */
  readonly onJob: (message: PulledMessage) => void;
  readonly log: Logger;
}

/** Background goes first on every so many turns, so that a steady stream of requests cannot starve it. */
const backgroundFirstEvery = 8;

/** Without a signal for so long, all background shards are checked: the leader signals every few seconds. */
const maxSilenceMs = 60_000;

/** A shard that could not be asked is asked again after this, without a signal too. */
const retryMs = 5000;

/**
 * The server confirms a job before its consumers count it, and answers a poll in between with 404; so a shard that was
 * signalled is asked once more after this.
 */
const secondLookMs = 1000;

/**
 * Where a renderer gets its jobs from. JetStream ranks no messages, hence a durable for each priority, and for background
 * captures one for each shard of accounts, which are served in turn. The renderer as a whole asks, not each slot: one
 * long request waits for interactive jobs. Of background jobs it is told on the subject of its region, and asks only the
 * shards in which something may wait, so that an idle renderer sends a request a minute.
 */
export class JobSource {
  readonly #session: NatsSession;
  readonly #options: JobSourceOptions;
  readonly #inbox: PullInbox;
  readonly #interactive: PullSubscription;
  readonly #background: readonly PullSubscription[];
  /** Background shards in which something may wait, each with the number of the signal that named it last. */
  readonly #waiting = new Map<number, number>();
  /** Shards to be asked once more after the server has said that nothing is left in them. */
  readonly #unsure = new Set<number>();
  readonly #secondLooks = new Set<number>();
  #secondLook: NodeJS.Timeout | undefined;
  readonly #stopListening: () => void;
  #silenceTimer: NodeJS.Timeout;
  #retry: NodeJS.Timeout | undefined;
  #searching = 0;
  #signals = 0;
  #turn = 0;
  #shard = 0;
  #isOpen = true;

  constructor(session: NatsSession, options: JobSourceOptions) {
    this.#session = session;
    this.#options = options;
    this.#inbox = new PullInbox(session);
    this.#interactive = this.#subscription(captureDurable(options.region, 'interactive'));
    this.#background = Array.from({ length: backgroundShards }, (_, shard) =>
      this.#subscription(captureDurable(options.region, 'background', shard)),
    );
    const signals = session.nc.subscribe(signalSubject(options.region), {
      callback: (error, message) => {
        if (error === null) this.#onSignal(message.data);
      },
    });
    // What was signalled meanwhile is lost.
    const forget = session.onStatus(({ type }) => {
      if (type === 'reconnect') this.checkAllShards();
    });
    this.#stopListening = () => {
      signals.unsubscribe();
      forget();
    };
    this.#silenceTimer = setInterval(() => this.checkAllShards(), maxSilenceMs);
    this.checkAllShards();
  }

  /** To be called when a slot has become free. */
  ask(): void {
    if (!this.#isOpen) return;
    if (this.#waiting.size > 0) this.#startSearches(1);
    else this.#requestInteractive();
  }

  /** Something may wait in any shard: after a start, or a reconnection. */
  checkAllShards(): void {
    for (let shard = 0; shard < backgroundShards; shard++) this.#expect(shard);
    this.ask();
  }

  /** Asks no more. What is on its way all the same is returned. */
  close(): void {
    this.#isOpen = false;
    clearInterval(this.#silenceTimer);
    clearTimeout(this.#retry);
    clearTimeout(this.#secondLook);
    this.#stopListening();
    for (const each of [this.#interactive, ...this.#background]) each.close();
    this.#inbox.close();
  }

  #subscription(durable: string): PullSubscription {
    const { log } = this.#options;
    return new PullSubscription(this.#inbox, {
      stream: streamNames.captures,
      durable,
      onMessage: (message) => this.#onJob(message),
      onProblem: (error) => log.warn({ err: error, durable }, 'requesting jobs failed; retrying'),
    });
  }

  #onSignal(data: Uint8Array): void {
    clearInterval(this.#silenceTimer);
    this.#silenceTimer = setInterval(() => this.checkAllShards(), maxSilenceMs);
    try {
      const { shards, now } = JSON.parse(new TextDecoder().decode(data)) as RegionSignal;
      if (now !== undefined) this.#session.clock.learn(now);
      for (let shard = 0; shard < backgroundShards; shard++) {
        if (!shards.includes(shard)) continue;
        this.#expect(shard);
        this.#unsure.add(shard);
      }
    } catch (error) {
      this.#options.log.warn({ err: error }, 'ignoring a malformed signal for renderers');
    }
    // One slot searches for all: where it finds something, others join in.
    if (this.#searching === 0) this.ask();
  }

  #expect(shard: number): void {
    this.#waiting.set(shard, ++this.#signals);
  }

  /** Has up to so many more of the free slots search for a job of their own. */
  #startSearches(slots: number): void {
    for (let count = 0; count < slots && this.#searching < this.#options.free(); count++) void this.#search();
  }

  /** Free slots that do not search wait for interactive jobs. */
  #requestInteractive(): void {
    const missing = this.#options.free() - this.#searching - this.#interactive.outstanding;
    if (this.#isOpen && missing > 0) this.#interactive.request(missing);
  }

  /** Takes a job that a waiting request or a search has brought. */
  #onJob(message: PulledMessage): void {
    const { clock } = this.#session;
    const isInteractive = message.consumer === captureDurable(this.#options.region, 'interactive');
    // A front has just published an interactive job, so its time stamp is close to the time of the server. The first signal is more exact.
    if (isInteractive && !clock.isKnown) clock.learn(message.timestamp);
    this.#options.onJob(message);
  }

  /** Finds a free slot its next job. Never throws. */
  async #search(): Promise<void> {
    this.#searching++;
    let found: PulledMessage | null = null;
    let hasFailed = false;
    try {
      found = await this.#next();
    } catch (error) {
      hasFailed = true;
      this.#options.log.warn({ err: error }, 'requesting jobs failed; retrying');
    }
    this.#searching--;
    if (found !== null) this.#onJob(found);
    if (!this.#isOpen) return;
    // Where nothing can be found, a waiting request is told as soon as that changes.
    if (this.#waiting.size === 0 || hasFailed) this.#requestInteractive();
    else this.#startSearches(2);
    if (!hasFailed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.ask(), retryMs);
  }

  async #next(): Promise<PulledMessage | null> {
    this.#turn = (this.#turn + 1) % backgroundFirstEvery;
    if (this.#turn === 0) return (await this.#nextInBackground()) ?? (await this.#interactive.poll());
    // A request that waits at the server would have been answered.
    const interactive = this.#interactive.outstanding > 0 ? null : await this.#interactive.poll();
    return interactive ?? (await this.#nextInBackground());
  }

  async #nextInBackground(): Promise<PulledMessage | null> {
    while (this.#waiting.size > 0 && this.#isOpen) {
      const shard = this.#nextShard();
      const signal = this.#waiting.get(shard);
      const message = (await this.#background[shard]?.poll()) ?? null;
      // A signal that came meanwhile may be of a job that the answer does not know of.
      if ((message === null || message.pending === 0) && this.#waiting.get(shard) === signal) this.#onEmpty(shard);
      if (message !== null) return message;
    }
    return null;
  }

  #onEmpty(shard: number): void {
    this.#waiting.delete(shard);
    if (!this.#unsure.delete(shard)) return;
    this.#secondLooks.add(shard);
    this.#secondLook ??= setTimeout(() => {
      this.#secondLook = undefined;
      for (const each of this.#secondLooks) this.#expect(each);
      this.#secondLooks.clear();
      this.ask();
    }, secondLookMs);
  }

  /** The accounts take turns. */
  #nextShard(): number {
    do this.#shard = (this.#shard + 1) % backgroundShards;
    while (!this.#waiting.has(this.#shard));
    return this.#shard;
  }
}
