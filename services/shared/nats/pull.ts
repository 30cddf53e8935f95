import { JetStreamError } from '@nats-io/jetstream';
import { ConnectionError, nanos } from '@nats-io/nats-core';
import { backoffMs, DeadlineError } from '../runtime/deadline.ts';
import type { PulledMessage, Puller, PullInbox, PullStatus } from './pull-inbox.ts';

/** The durable is not there: not provisioned yet, or removed with its region. */
export class ConsumerMissingError extends JetStreamError {}

/** What the server says of a pull request, other than with a message. */
const status = { heartbeat: 100, noMessages: 404, requestTimeout: 408, noResponders: 503 } as const;

export interface PullOptions {
  readonly stream: string;
  readonly durable: string;
  /** Gets every message that comes, also one that is late: then it may be one more than was asked for. */
  readonly onMessage: (message: PulledMessage) => void;
  /** Told why nothing can be had: the first time in a row, then every twentieth. It is tried on. */
  readonly onProblem?: (error: Error) => void;
  /** How long a request waits on the server. */
  readonly expiresMs?: number;
  /** How often the server says that it still has a request. */
  readonly heartbeatMs?: number;
}

const retryMs = { first: 200, last: 5000 } as const;

/** One in this many failures in a row is reported. */
const problemEvery = 20;

/** Requests that end within this time are renewed together. */
const gatherMs = 10;

/** A request that would wait for less on the server ends later than those before it. */
const minWaitMs = 2000;

/** This long after its end, the server has forgotten a request. */
const overdueMs = 3000;

const pollTimeoutMs = 2000;

/** Requests that end at the same time. */
interface Cohort {
  readonly id: number;
  /** By the monotonic clock. */
  readonly endsAt: number;
  /** Messages that may still come of them. */
  asked: number;
}

interface Poll {
  readonly resolve: (message: PulledMessage | null) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Pulls exactly as many messages from a durable as were requested, over the inbox of the process. Requests wait on the server for a minute and
 * are renewed together: an idle process makes one request a minute. They are repeated after a reconnection, after the server forgot them,
 * and with increasing delays while the consumer is missing or has no leader.
 *
 * A delivered message is never dropped, because that would use up a delivery of a job that no renderer started.
 */
export class PullSubscription {
  readonly #inbox: PullInbox;
  readonly #options: PullOptions;
  readonly #expiresMs: number;
  readonly #heartbeatMs: number;
  readonly #puller: Puller;
  readonly #id: string;
  /** Requested, but not asked of the server (any more). */
  #wanted = 0;
  /** The oldest first; two at most times. */
  #cohorts: Cohort[] = [];
  readonly #polls = new Map<string, Poll>();
  /** Polls that were given up before the server answered them. */
  readonly #latePolls = new Set<string>();
  #nextId = 1;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #isRetrying = false;
  #isSending = false;
  readonly #monitor: NodeJS.Timeout;
  #heard = false;
  #silentTurns = 0;
  #isClosed = false;

  constructor(inbox: PullInbox, options: PullOptions) {
    this.#inbox = inbox;
    this.#options = options;
    this.#expiresMs = options.expiresMs ?? 60_000;
    // The server takes no more than half of the time that a request waits.
    this.#heartbeatMs = Math.min(options.heartbeatMs ?? 5000, Math.floor(this.#expiresMs / 2));
    this.#puller = {
      stream: options.stream,
      durable: options.durable,
      delivered: (message) => this.#deliver(message),
      answered: (request, answer) => this.#onStatus(request, answer),
      denied: (error) => this.#fail(error),
      closed: () => this.close(),
      lost: () => this.#lose(new ConnectionError('the connection to NATS was lost')),
      resumed: () => {
        this.#failures = 0;
        this.#stopTimer();
        this.#send();
      },
    };
    this.#id = inbox.join(this.#puller);
    this.#monitor = setInterval(() => this.#check(), this.#heartbeatMs);
  }

  /** Lets `count` more messages come. */
  request(count: number): void {
    if (this.#isClosed || count <= 0) return;
    this.#wanted += count;
    if (this.#isSending) return;
    // What is requested in one turn is asked for at once.
    this.#isSending = true;
    queueMicrotask(() => {
      this.#isSending = false;
      this.#send();
    });
  }

  /** Messages that may still come without being requested again. */
  get outstanding(): number {
    return this.#wanted + this.#asked;
  }

  /**
   * One message if there is one now, besides those that were requested; null when there is none.
   *
   * @throws ConsumerMissingError; a ConnectionError or DeadlineError when the server does not answer (what it then brings late goes
   *   to `onMessage`)
   */
  async poll(timeoutMs = pollTimeoutMs): Promise<PulledMessage | null> {
    if (this.#isClosed) return null;
    if (!this.#inbox.connected) throw new ConnectionError('there is no connection to NATS');
    const name = `p${this.#nextId++}`;
    const { promise, resolve, reject } = Promise.withResolvers<PulledMessage | null>();
    this.#polls.set(name, { resolve, reject });
    const timer = setTimeout(() => {
      if (!this.#polls.delete(name)) return;
      this.#latePolls.add(name);
      reject(new DeadlineError(`asking ${this.#options.durable} for a message`, timeoutMs));
    }, timeoutMs);
    try {
      this.#inbox.ask(this.#puller, this.#id, name, { batch: 1, no_wait: true });
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#polls.delete(name);
    }
  }

  /** Takes all requests back. What is delivered all the same is nak'd at once. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#monitor);
    this.#stopTimer();
    for (const { resolve } of this.#polls.values()) resolve(null);
    this.#inbox.leave(this.#puller, this.#id, this.#asked > 0 || this.#polls.size > 0);
    this.#polls.clear();
    this.#cohorts = [];
    this.#wanted = 0;
  }

  get #asked(): number {
    return this.#cohorts.reduce((sum, { asked }) => sum + asked, 0);
  }

  #send(): void {
    if (this.#isClosed || this.#isRetrying || this.#wanted === 0 || !this.#inbox.connected) return;
    const now = performance.now();
    this.#cohorts = this.#cohorts.filter(({ asked }) => asked > 0);
    let cohort = this.#cohorts.at(-1);
    if (cohort === undefined || cohort.endsAt - now < Math.min(minWaitMs, this.#expiresMs / 4)) {
      cohort = { id: this.#nextId++, endsAt: now + this.#expiresMs, asked: 0 };
      this.#cohorts.push(cohort);
    }
    const expiresMs = Math.round(cohort.endsAt - now);
    const batch = this.#wanted;
    this.#wanted = 0;
    cohort.asked += batch;
    this.#silentTurns = 0;
    this.#inbox.ask(this.#puller, this.#id, `${cohort.id}_${batch}`, {
      batch,
      expires: nanos(expiresMs),
      idle_heartbeat: nanos(Math.min(this.#heartbeatMs, Math.floor(expiresMs / 2))),
    });
  }

  #deliver(message: PulledMessage): void {
    this.#works();
    const [first] = this.#polls;
    if (first !== undefined) {
      this.#polls.delete(first[0]);
      first[1].resolve(message);
      return;
    }
    // A late one counts for what would be asked for again.
    if (this.#take(1) === 0 && this.#wanted > 0) this.#wanted--;
    try {
      this.#options.onMessage(message);
    } catch (error) {
      this.#options.onProblem?.(error as Error);
    }
  }

  #onStatus(request: string, answer: PullStatus): void {
    if (request.startsWith('p')) return this.#onPollStatus(request, answer);
    const [cohort = 0, batch = 0] = request.split('_').map(Number);
    // Of requests that were given up.
    if (this.#cohorts.every(({ id }) => id !== cohort)) return;
    if (answer.code === status.heartbeat) return this.#works();
    if (answer.code !== status.noMessages && answer.code !== status.requestTimeout) {
      return this.#fail(this.#errorOf(answer));
    }
    this.#works();
    this.#wanted += this.#take(answer.pending ?? batch, cohort);
    this.#sendIn(gatherMs);
  }

  #onPollStatus(name: string, answer: PullStatus): void {
    const poll = this.#polls.get(name);
    const hasNone = answer.code === status.noMessages || answer.code === status.requestTimeout;
    if (poll !== undefined) {
      this.#polls.delete(name);
      if (hasNone) poll.resolve(null);
      else poll.reject(this.#errorOf(answer));
    } else if (!this.#latePolls.delete(name) && hasNone) {
      // What it was answered with had been requested.
      this.#take(1);
    }
  }

  #errorOf({ code, description }: PullStatus): Error {
    const { stream, durable } = this.#options;
    if (code === status.noResponders || /deleted/i.test(description)) {
      return new ConsumerMissingError(`the durable ${durable} of ${stream} is not there, or has no leader`);
    }
    return new JetStreamError(`a pull request to ${durable} of ${stream} was refused: ${code} ${description}`);
  }

  /** Of those messages as many as are still to come, of these requests first, do not come any more. */
  #take(count: number, cohort?: number): number {
    const first = this.#cohorts.find(({ id }) => id === cohort);
    let left = count;
    for (const each of first === undefined ? this.#cohorts : [first, ...this.#cohorts]) {
      const taken = Math.min(each.asked, left);
      each.asked -= taken;
      left -= taken;
    }
    return count - left;
  }

  #takeBack(): void {
    this.#wanted += this.#asked;
    this.#cohorts = [];
  }

  #lose(error: Error): void {
    this.#takeBack();
    for (const { reject } of this.#polls.values()) reject(error);
    this.#polls.clear();
    this.#latePolls.clear();
  }

  #works(): void {
    this.#heard = true;
    this.#failures = 0;
  }

  #fail(error: Error): void {
    this.#failures++;
    if (this.#failures % problemEvery === 1) this.#options.onProblem?.(error);
    for (const { reject } of this.#polls.values()) reject(error);
    this.#polls.clear();
    // The consumer, or the way to it, is gone: and so are all requests.
    this.#takeBack();
    this.#isRetrying = true;
    this.#sendIn(backoffMs(this.#failures, retryMs.first, retryMs.last));
  }

  #sendIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#stopTimer();
      this.#send();
    }, ms);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#isRetrying = false;
  }

  /**
   * Looks, at each heartbeat that should have come, whether the server still has the requests. Turns are counted and not time, since a
   * process that was held up finds what came meanwhile only afterwards.
   */
  #check(): void {
    const overdue = performance.now() - overdueMs;
    for (const cohort of this.#cohorts) {
      if (cohort.endsAt < overdue) this.#wanted += this.#take(cohort.asked, cohort.id);
    }
    this.#silentTurns = this.#heard || this.#asked === 0 || !this.#inbox.connected ? 0 : this.#silentTurns + 1;
    this.#heard = false;
    if (this.#silentTurns >= 2) {
      this.#silentTurns = 0;
      const { stream, durable } = this.#options;
      this.#fail(new JetStreamError(`the server keeps no pull request to ${durable} of ${stream}: no heartbeat came`));
    } else if (!this.#isRetrying) {
      this.#send();
    }
  }
}
