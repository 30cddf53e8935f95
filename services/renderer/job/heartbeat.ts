import { heartbeatIntervalMs, type RendererHeartbeat } from '@webcapture/shared/contract/heartbeat.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { sayGoodbye, sayHeartbeat } from '@webcapture/shared/state/fleet.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';

/** Says every two seconds that this renderer lives, and goodbye at the end. */
export class Heartbeat {
  readonly #live: Entries;
  readonly #read: () => RendererHeartbeat;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;

  constructor(session: NatsSession, read: () => RendererHeartbeat, log: Logger) {
    this.#live = new Entries(session, 'live');
    this.#read = read;
    this.#log = log;
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    const { region, pod } = this.#read();
    await sayGoodbye(this.#live, region, pod);
  }

  /** Says it at once, outside of the rhythm: what a front must know soon, e.g. that a drain has begun. */
  async sayNow(): Promise<void> {
    try {
      await withDeadline(sayHeartbeat(this.#live, this.#read()), heartbeatIntervalMs, 'a heartbeat');
    } catch (error) {
      this.#log.warn({ err: error }, 'a heartbeat was not written');
    }
  }

  async #run(): Promise<void> {
    do await this.sayNow();
    while (await delay(heartbeatIntervalMs, this.#stop.signal));
  }
}
