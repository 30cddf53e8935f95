import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { QueueFacts } from './health/facts.ts';

const timeoutMs = 15_000;

/** Interval in which the same message is logged once, because readings and attempts follow each other within a second. */
const logIntervalMs = 60_000;

/** The provisioning operations. Each throws the server's error when the server refuses. */
export interface ProvisionSteps {
  /** Applies the wanted configuration to all streams, buckets and durables. */
  readonly provision: () => Promise<void>;
  /** Creates the bucket of the leader election, if it does not exist. */
  readonly bootstrap: () => Promise<void>;
  /** Creates missing durables and changes no existing one. */
  readonly addDurables: () => Promise<void>;
}

/** Rights of this controller to provision. */
export interface ProvisionRights {
  readonly leads: boolean;
  readonly mayBootstrap: boolean;
  /** Whether the controller may create the queues of a region that is new in its configuration, which is allowed before it leads. */
  readonly mayAdd: boolean;
}

/** Keeps all streams and durables provisioned while this controller leads the fleet. */
export class Provisioner {
  readonly #steps: ProvisionSteps;
  readonly #log: Logger;
  readonly #now: () => number;
  #running: Promise<void> | null = null;
  #complete = false;
  #canElect = false;
  /** Message of the last failure; null after a success. */
  #problem: string | null = null;
  /** Monotonic milliseconds at which the current interval of log lines began. */
  #intervalStart = -Infinity;
  /** Messages of failures that were logged in the current interval. */
  readonly #logged = new Set<string>();

  /** @param now monotonic milliseconds */
  constructor(steps: ProvisionSteps, log: Logger, now: () => number = () => performance.now()) {
    this.#steps = steps;
    this.#log = log;
    this.#now = now;
  }

  /** The reason why the controller waits, including the server's message if the last attempt failed. */
  get obstacle(): string {
    const waiting = 'streams and consumers are being provisioned';
    return this.#problem === null ? waiting : `${waiting}; the last attempt failed: ${this.#problem}`;
  }

  /** Whether the last reading found everything. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Whether the bucket of the leader election exists. */
  get canElect(): boolean {
    return this.#canElect;
  }

  /** Starts to provision what a reading missed, within this controller's rights. It does not wait; the next reading shows the result. */
  heal(facts: QueueFacts, rights: ProvisionRights): void {
    this.#complete = facts.kind === 'answered' && facts.missing.length === 0;
    if (facts.kind === 'unreachable') return;
    this.#canElect = !facts.missing.includes(streamNames.live);
    if (facts.missing.length === 0 || this.#running !== null) return;
    const step = this.#stepFor(facts.missing, rights);
    if (step === null) return;
    this.#run(step).then(
      () => (this.#problem = null),
      (error: unknown) => this.#logFailure(facts.missing, error),
    );
    this.#logMissing(facts.missing);
  }

  #logMissing(missing: readonly string[]): void {
    // After a failure, the line with the reason is logged instead.
    if (this.#problem !== null || !this.#startsInterval()) return;
    this.#log.info({ missing: missing.length, first: missing[0] }, 'provisioning missing streams and consumers');
  }

  #logFailure(missing: readonly string[], error: unknown): void {
    this.#problem = error instanceof Error ? error.message : String(error);
    this.#startsInterval();
    if (this.#logged.has(this.#problem)) return;
    this.#logged.add(this.#problem);
    this.#log.warn(
      { err: error, missing: missing.length, first: missing[0] },
      `provisioning of streams and consumers failed: ${this.#problem}; retrying`,
    );
  }

  /** Begins a new interval of log lines if the last one is over; returns whether it did. */
  #startsInterval(): boolean {
    const now = this.#now();
    if (now - this.#intervalStart < logIntervalMs) return false;
    this.#intervalStart = now;
    this.#logged.clear();
    return true;
  }

  #stepFor(missing: readonly string[], { leads, mayBootstrap, mayAdd }: ProvisionRights) {
    const { provision, bootstrap, addDurables } = this.#steps;
    if (leads) return provision;
    if (!this.#canElect) return mayBootstrap ? bootstrap : null;
    return mayAdd && missing.every(isDurable) ? addDurables : null;
  }

  /** Joins a run in progress. Throws the server's error when the server refuses. */
  run(): Promise<void> {
    return this.#run(this.#steps.provision);
  }

  async #run(provision: () => Promise<void>): Promise<void> {
    this.#running ??= withDeadline(provision(), timeoutMs, 'provisioning of streams and consumers').finally(
      () => (this.#running = null),
    );
    await this.#running;
  }
}

/** Whether a missing object is a durable, which is named `<stream>/<durable>`, and not a stream. */
const isDurable = (name: string) => name.includes('/');
