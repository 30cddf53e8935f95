import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { withdrawHeartbeat, publishHeartbeat } from '@webcapture/shared/queue/publish-heartbeat.ts';
import { heartbeatIntervalMs } from '@webcapture/shared/queue/heartbeat.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { FailureCause } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/** After one that got lost, so soon that fronts do not count the renderer as dead: a call that failed took its interval already. */
const retryDelayMs = 200;

/** Publishes every two seconds that this renderer lives and what it does, and withdraws that at the end. */
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
    await withdrawHeartbeat(this.#live, region, pod);
  }

  /**
   * Publishes a heartbeat outside of the interval: what a front must know soon, e.g. that a drain has begun. Returns whether it
   * was stored.
   */
  async publishNow(): Promise<boolean> {
    try {
      await withDeadline(publishHeartbeat(this.#live, this.#read()), heartbeatIntervalMs, 'publishing a heartbeat');
      return true;
    } catch (error) {
      this.#log.warn({ err: error }, 'publishing a heartbeat failed');
      return false;
    }
  }

  async #run(): Promise<void> {
    let stored: boolean;
    do stored = await this.publishNow();
    while (await delay(stored ? heartbeatIntervalMs : retryDelayMs, this.#stop.signal));
  }
}

const windowMs = 5 * 60_000;

interface EndedCapture {
  /** Null when it completed. */
  readonly failure: { readonly cause: FailureCause } | null;
  /** Null for a background capture: nobody waits for it, so its time in the queue tells nothing. */
  readonly queueWaitMs: number | null;
  readonly renderMs: number;
}

/** The captures of the last five minutes, for the heartbeat. */
export class RecentCaptures {
  #ended: (EndedCapture & { readonly at: number })[] = [];
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(capture: EndedCapture): void {
    this.#ended.push({ ...capture, at: this.#now() });
  }

  summary(): RendererHeartbeat['recent'] {
    const oldest = this.#now() - windowMs;
    this.#ended = this.#ended.filter(({ at }) => at >= oldest);
    const waits = this.#ended.flatMap(({ queueWaitMs }) => queueWaitMs ?? []).toSorted((a, b) => a - b);
    const spent = this.#ended.reduce((sum, { renderMs }) => sum + renderMs, 0);
    return {
      ended: this.#ended.length,
      ...(this.#ended.length === 0 ? {} : { meanRenderMs: Math.round(spent / this.#ended.length) }),
      failedByUs: this.#ended.filter(({ failure }) => failure?.cause === 'service').length,
      queueWaitP95Ms: Math.round(waits[Math.ceil(waits.length * 0.95) - 1] ?? 0),
    };
  }
}
