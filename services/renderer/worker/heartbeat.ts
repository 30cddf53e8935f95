import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { withdrawHeartbeat, publishHeartbeat } from '@webcapture/shared/queue/publish-heartbeat.ts';
import { heartbeatIntervalMs } from '@webcapture/shared/queue/heartbeat.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { FailureCause } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/**
 * Delay after a failed heartbeat. It is short, because the failed call has already taken the interval, and fronts must not consider the
 * renderer dead.
 */
const retryDelayMs = 200;

/** Publishes the status of this renderer every 2 s and withdraws it when the renderer stops. */
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
   * Publishes a heartbeat before it is due, for changes that a front must see soon, such as the start of a drain. Returns whether NATS
   * stored it.
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
  /** Null if the capture completed. */
  readonly failure: { readonly cause: FailureCause } | null;
  /** Null for a background capture, because no client waits for it and its time in the queue has no meaning. */
  readonly queueWaitMs: number | null;
  readonly renderMs: number;
}

/** The captures of the last 5 minutes, for the heartbeat. */
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
      internalFailures: this.#ended.filter(({ failure }) => failure?.cause === 'service').length,
      interactive: waits.length,
      queueWaitP95Ms: Math.round(waits[Math.ceil(waits.length * 0.95) - 1] ?? 0),
    };
  }
}
