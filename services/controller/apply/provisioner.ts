import type { Region } from '@webcapture/shared/contract/regions.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { provision } from '@webcapture/shared/nats/provision.ts';
import type { StreamSettings } from '@webcapture/shared/nats/streams.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { QueueFacts } from '../gather/facts.ts';

const limitMs = 15_000;

/** Sees to it that all streams and durables are there. Any number of controllers may do so at once. */
export class Provisioner {
  readonly #session: NatsSession;
  readonly #settings: StreamSettings;
  readonly #regions: readonly Region[];
  readonly #log: Logger;
  #running: Promise<void> | null = null;
  #complete = false;
  #failing = false;

  constructor(session: NatsSession, settings: StreamSettings, regions: readonly Region[], log: Logger) {
    this.#session = session;
    this.#settings = settings;
    this.#regions = regions;
    this.#log = log;
  }

  /** Whether everything was there at the last reading. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Begins to make what a reading missed; does not wait for it, the next reading tells. */
  heal(facts: QueueFacts): void {
    this.#complete = facts.kind === 'answered' && facts.missing.length === 0;
    if (facts.kind === 'unreachable' || facts.missing.length === 0 || this.#running !== null) return;
    this.#log.info({ missing: facts.missing.length, first: facts.missing[0] }, 'setting up streams and durables');
    this.run().then(
      () => (this.#failing = false),
      (error: unknown) => {
        if (!this.#failing) this.#log.warn({ err: error }, 'streams and durables could not be set up; trying on');
        this.#failing = true;
      },
    );
  }

  /** Brings everything to its wanted configuration. Throws the server's error when it refuses. */
  async run(): Promise<void> {
    this.#running ??= withDeadline(
      provision(this.#session.jsm, this.#settings, this.#regions),
      limitMs,
      'setting up the streams',
    ).finally(() => (this.#running = null));
    await this.#running;
  }
}
