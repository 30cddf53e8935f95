import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { type PulledMessage, PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { PullSubscription } from '@webcapture/shared/nats/pull.ts';
import { backgroundShards, captureDurable, signalSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { RegionSignal } from '@webcapture/shared/queue/jobs.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';

export interface JobSourceOptions {
  readonly region: Region;
  /** Returns the number of slots that wait for a job. */
  readonly free: () => number;
  /** Receives a job, even if no slot is free: a pull request that waits at the server cannot be cancelled. */
  readonly onJob: (message: PulledMessage) => void;
  readonly log: Logger;
}

/** Every n-th search checks background jobs first, so that continuous requests cannot starve them. */
const backgroundFirstEvery = 8;

/** Time without a signal after which all background shards are checked. The leader sends signals every few seconds. */
const maxSilenceMs = 60_000;

/** Delay before a shard is polled again after an error, without another signal. */
const retryMs = 5000;

/**
 * Delay of the second poll of a signaled shard. The server confirms a job before its consumers count it, and answers a poll between the two
 * with 404.
 */
const secondLookMs = 1000;

/**
 * Pulls the jobs of a renderer. JetStream has no message priorities, so each priority has a durable consumer. Background captures have one
 * for each shard of accounts, and the shards are served round-robin. The renderer pulls for all slots together. One pull request waits for
 * interactive jobs. For background jobs, signals on the subject of the region name the shards that may have messages, and only those are
 * polled. An idle renderer sends one request per minute.
 */
export class JobSource {
  readonly #session: NatsSession;
  readonly #options: JobSourceOptions;
  readonly #inbox: PullInbox;
  readonly #interactive: PullSubscription;
  readonly #background: readonly PullSubscription[];
  /** Background shards that may have messages, each with the number of its latest signal. */
  readonly #waiting = new Map<number, number>();
  /** Signaled shards that need a second poll after the server has answered that they are empty. */
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
    // Signals that were sent during a disconnection are lost, so all shards are checked after it.
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

  /** Requests jobs. Call it when a slot becomes free. */
  ask(): void {
    if (!this.#isOpen) return;
    if (this.#waiting.size > 0) this.#startSearches(1);
    else this.#requestInteractive();
  }

  /** Polls every shard. Any of them may have messages after a start or a reconnection. */
  checkAllShards(): void {
    for (let shard = 0; shard < backgroundShards; shard++) this.#expect(shard);
    this.ask();
  }

  /** Stops pulling. Jobs that still arrive are returned. */
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
    // At first, one slot searches for all. When it finds a job, others search too.
    if (this.#searching === 0) this.ask();
  }

  #expect(shard: number): void {
    this.#waiting.set(shard, ++this.#signals);
  }

  /** Lets at most `slots` additional free slots search for a job. */
  #startSearches(slots: number): void {
    for (let count = 0; count < slots && this.#searching < this.#options.free(); count++) void this.#search();
  }

  /** Pulls interactive jobs for free slots that do not search. */
  #requestInteractive(): void {
    const missing = this.#options.free() - this.#searching - this.#interactive.outstanding;
    if (this.#isOpen && missing > 0) this.#interactive.request(missing);
  }

  /** Passes on a job that a waiting pull request, or a search, has received. */
  #onJob(message: PulledMessage): void {
    const { clock } = this.#session;
    const isInteractive = message.consumer === captureDurable(this.#options.region, 'interactive');
    // A front has just published an interactive job, so its timestamp is close to the server's time. The next signal is more precise.
    if (isInteractive && !clock.isKnown) clock.learn(message.timestamp);
    this.#options.onJob(message);
  }

  /** Searches for the next job of a free slot. Never throws. */
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
    // If no shard has messages, the waiting pull request receives the next job.
    if (this.#waiting.size === 0 || hasFailed) this.#requestInteractive();
    else this.#startSearches(2);
    if (!hasFailed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.ask(), retryMs);
  }

  async #next(): Promise<PulledMessage | null> {
    this.#turn = (this.#turn + 1) % backgroundFirstEvery;
    if (this.#turn === 0) return (await this.#nextInBackground()) ?? (await this.#interactive.poll());
    // While a pull request waits at the server, there is no interactive job: the server would have delivered it.
    const interactive = this.#interactive.outstanding > 0 ? null : await this.#interactive.poll();
    return interactive ?? (await this.#nextInBackground());
  }

  async #nextInBackground(): Promise<PulledMessage | null> {
    while (this.#waiting.size > 0 && this.#isOpen) {
      const shard = this.#nextShard();
      const signal = this.#waiting.get(shard);
      const message = (await this.#background[shard]?.poll()) ?? null;
      // A signal that arrived during the poll may announce a job that the answer does not include.
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

  /** Round-robin over the shards that may have messages. */
  #nextShard(): number {
    do this.#shard = (this.#shard + 1) % backgroundShards;
    while (!this.#waiting.has(this.#shard));
    return this.#shard;
  }
}
