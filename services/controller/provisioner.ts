import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { QueueFacts } from './health/facts.ts';
import { consumerConfigs } from './streams.ts';

const timeoutMs = 15_000;

/** Keeps all streams and durables provisioned, while this controller leads the fleet. */
export class Provisioner {
  readonly #provision: () => Promise<void>;
  readonly #bootstrap: () => Promise<void>;
  readonly #log: Logger;
  #running: Promise<void> | null = null;
  #complete = false;
  #canElect = false;
  #failing = false;

  /**
   * `provision` brings everything to its wanted configuration; `bootstrap` creates the bucket in which leaders are elected, if it is not
   * there. Both throw the server's error when that refuses.
   */
  constructor(provision: () => Promise<void>, bootstrap: () => Promise<void>, log: Logger) {
    this.#provision = provision;
    this.#bootstrap = bootstrap;
    this.#log = log;
  }

  /** Whether everything was there at the last reading. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Whether the bucket was there in which leaders are elected. */
  get canElect(): boolean {
    return this.#canElect;
  }

  /**
   * Begins to provision what a reading missed, without waiting: the next reading shows whether it is there. The leader provisions
   * everything; another controller that may lead only what an election needs.
   */
  heal(facts: QueueFacts, rights: { readonly leads: boolean; readonly mayBootstrap: boolean }): void {
    this.#complete = facts.kind === 'answered' && facts.missing.length === 0;
    if (facts.kind === 'unreachable') return;
    this.#canElect = !facts.missing.includes(streamNames.live);
    if (facts.missing.length === 0 || this.#running !== null) return;
    const canBootstrap = !this.#canElect && rights.mayBootstrap;
    if (!rights.leads && !canBootstrap) return;
    this.#log.info(
      { missing: facts.missing.length, first: facts.missing[0] },
      'provisioning missing streams and consumers',
    );
    this.#run(rights.leads ? this.#provision : this.#bootstrap).then(
      () => (this.#failing = false),
      (error: unknown) => {
        if (!this.#failing) this.#log.warn({ err: error }, 'provisioning of streams and consumers failed; retrying');
        this.#failing = true;
      },
    );
  }

  /** Joins a run that is under way. Throws the server's error when it refuses. */
  run(): Promise<void> {
    return this.#run(this.#provision);
  }

  async #run(provision: () => Promise<void>): Promise<void> {
    this.#running ??= withDeadline(provision(), timeoutMs, 'provisioning of streams and consumers').finally(
      () => (this.#running = null),
    );
    await this.#running;
  }
}

/**
 * Removes the durables of regions that are no longer installed, once nothing waits in them and nobody holds a job of
 * theirs. What waits is swept when its time is up.
 */
export async function removeRetiredDurables(
  session: NatsSession,
  regions: readonly Region[],
  log: Logger,
): Promise<void> {
  const wanted = new Set(consumerConfigs(regions).map(({ config }) => config.durable_name));
  for await (const info of session.jsm.consumers.list(streamNames.captures)) {
    const durable = info.config.durable_name;
    if (durable === undefined || wanted.has(durable) || info.num_pending > 0 || info.num_ack_pending > 0) continue;
    // A consumer counts what waits for it a moment after it came; the stream knows at once.
    const { state } = await session.jsm.streams.info(streamNames.captures, {
      subjects_filter: info.config.filter_subject ?? '>',
    });
    if (Object.keys(state.subjects ?? {}).length > 0) continue;
    try {
      await session.jsm.consumers.delete(streamNames.captures, durable);
      log.info({ durable }, 'removed the queue of a region that is no longer installed');
    } catch (error) {
      if (!isNotProvisioned(error)) throw error;
    }
  }
}
