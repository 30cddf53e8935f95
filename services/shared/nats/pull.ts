import { JetStreamError } from '@nats-io/jetstream';
import { ConnectionError, nanos } from '@nats-io/nats-core';
import { backoffMs, DeadlineError } from '../runtime/deadline.ts';
import type { PulledMessage, Puller, PullInbox, PullStatus } from './pull-inbox.ts';

/** Thrown if the durable does not exist, because it is not provisioned yet or was removed with its region. */
export class ConsumerMissingError extends JetStreamError {}

/** Statuses of the server for a pull request. */
const status = { heartbeat: 100, noMessages: 404, requestTimeout: 408, noResponders: 503 } as const;

export interface PullOptions {
  readonly stream: string;
  readonly durable: string;
  /** Called with every message, including late ones; there may be more than requested. */
  readonly onMessage: (message: PulledMessage) => void;
  /** Called with the first of several consecutive failures, and then with every twentieth. Attempts continue. */
  readonly onProblem?: (error: Error) => void;
  /** Maximum time that a request waits on the server. */
  readonly expiresMs?: number;
  /** Interval at which the server confirms that it has a request. */
  readonly heartbeatMs?: number;
}

const retryMs = { first: 200, last: 5000 } as const;

/** Interval, in consecutive failures, at which one is reported. */
const problemEvery = 20;

/** Time within which requests that end are renewed together. */
const gatherMs = 10;

/** If the current requests end sooner than this, a new request does not join them but ends later. */
const minWaitMs = 2000;

/** Time after the end of a request after which the server has certainly forgotten it. */
const overdueMs = 3000;

const pollTimeoutMs = 2000;

/** Requests that end at the same time. */
interface Cohort {
  readonly id: number;
  /** End of the cohort on the monotonic clock. */
  readonly endsAt: number;
  /** Number of messages that may still arrive for these requests. */
  asked: number;
}

interface Poll {
  readonly resolve: (message: PulledMessage | null) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Pulls exactly as many messages from a durable as were requested, through the inbox of the process. Requests wait on the server for a
 * minute and are renewed together, so an idle process makes one request a minute. They are repeated after a reconnection and after the
 * server forgot them. While the consumer is missing or has no leader, they are repeated with increasing delays. A delivered message is
 * never dropped: that would use up a delivery of a job that no renderer started.
 */
export class PullSubscription {
  readonly #inbox: PullInbox;
  readonly #options: PullOptions;
  readonly #expiresMs: number;
  readonly #heartbeatMs: number;
  readonly #puller: Puller;
  readonly #id: string;
  /** Number of wanted messages for which the server has no request. */
  #wanted = 0;
  /** The oldest cohort comes first. There are usually at most two. */
  #cohorts: Cohort[] = [];
  readonly #polls = new Map<string, Poll>();
  /** Polls that timed out before the server answered. */
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
    // The server accepts heartbeats at intervals up to half of the time that a request waits.
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

  /** Requests `count` more messages. */
  request(count: number): void {
    if (this.#isClosed || count <= 0) return;
    this.#wanted += count;
    if (this.#isSending) return;
    // All requests of one turn of the event loop are sent together.
    this.#isSending = true;
    queueMicrotask(() => {
      this.#isSending = false;
      this.#send();
    });
  }

  /** Number of messages that may still arrive for earlier requests. */
  get outstanding(): number {
    return this.#wanted + this.#asked;
  }

  /**
   * Returns one message that is available now, in addition to the requested ones; null if there is none.
   *
   * @throws ConsumerMissingError; a ConnectionError or DeadlineError if the server does not answer (a late message is passed to
   * `onMessage`)
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

  /** Cancels all requests. Messages that are delivered nevertheless are nak'd immediately. */
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
    // A late message takes the place of one that would otherwise be requested again.
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
    // The status belongs to a cancelled request.
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
      // The server answered the poll with a message that had been requested already.
      this.#take(1);
    }
  }

  #errorOf({ code, description }: PullStatus): Error {
    const { stream, durable } = this.#options;
    if (code === status.noResponders || /deleted/i.test(description)) {
      return new ConsumerMissingError(`the durable ${durable} of ${stream} does not exist or has no leader`);
    }
    return new JetStreamError(`a pull request to ${durable} of ${stream} was refused: ${code} ${description}`);
  }

  /** Subtracts up to `count` from the numbers of requested messages, first from that of the given cohort. Returns the subtracted number. */
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
    // The consumer, or the connection to it, is lost, and all requests with it.
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
   * Checks, when a heartbeat is expected, whether the server still has the requests. Counts intervals instead of time: a process that was
   * paused receives pending messages only afterwards.
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
