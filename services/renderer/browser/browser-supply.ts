import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { backoffMs, delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { BrowserGeneration } from './browser-generation.ts';
import { BrowserLostError } from './browser-lost-error.ts';
import type { LaunchedBrowser } from './launch.ts';
import type { MemoryGuard } from './memory-guard.ts';
import type { PageLoan } from './page-loan.ts';
import type { PageEgress, PageSetup } from './warm-page.ts';

export interface BrowserSupplyOptions {
  readonly launch: () => Promise<LaunchedBrowser>;
  readonly egress: PageEgress;
  readonly log: Logger;
  readonly setup?: PageSetup;
  /** Pages kept warm: the captures that run at a time. */
  readonly warmPages: number;
  readonly capturesPerBrowser: number;
  readonly browserMemoryBytes: number;
  readonly guard: MemoryGuard;
  /** A browser that answers nothing for so many milliseconds is replaced. */
  readonly patienceMs: number;
}

export type BrowserState = 'up' | 'starting' | 'down';

/** How long a capture waits for a browser that is on its way. */
const takeDeadlineMs = 30_000;
const backoff = { baseMs: 200, maxMs: 10_000 };

/**
 * The browser that captures share, always one: replaced without a gap after so many captures, when it holds too much
 * memory, and when it misbehaves. The next one is up, with warm pages, before the last one takes no more.
 */
export class BrowserSupply {
  readonly #options: BrowserSupplyOptions;
  readonly #retired = new Set<BrowserGeneration>();
  readonly #stop = new AbortController();
  #current: BrowserGeneration | undefined;
  #next: Promise<void> | undefined;
  #launchFailures = 0;

  private constructor(options: BrowserSupplyOptions) {
    this.#options = options;
  }

  /** @throws Error that says what is missing when the browser cannot be started */
  static async start(options: BrowserSupplyOptions): Promise<BrowserSupply> {
    const supply = new BrowserSupply(options);
    supply.#current = await supply.#launch();
    return supply;
  }

  get state(): BrowserState {
    if (this.#current?.connected) return 'up';
    return this.#launchFailures === 0 && !this.#stop.signal.aborted ? 'starting' : 'down';
  }

  /**
   * A page for one capture.
   *
   * @throws BrowserLostError when there is no browser, and none comes in time
   */
  async take(): Promise<PageLoan> {
    const generation = await this.#wait();
    const page = await generation.take();
    const { capturesPerBrowser } = this.#options;
    if (generation === this.#current && generation.taken >= capturesPerBrowser) this.#replace('it has done its share');
    return page;
  }

  /** Ends all browsers, with the captures that still run in them. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#next?.catch(() => undefined);
    const generations = [...this.#retired, ...(this.#current ? [this.#current] : [])];
    this.#current = undefined;
    await Promise.all(generations.map((generation) => generation.close()));
  }

  async #wait(): Promise<BrowserGeneration> {
    const end = performance.now() + takeDeadlineMs;
    while (!this.#stop.signal.aborted && performance.now() < end) {
      if (this.#current?.connected) return this.#current;
      const next = (this.#next ??= this.#bringNext());
      await withDeadline(next, Math.max(1, end - performance.now()), 'waiting for a browser').catch(() => undefined);
    }
    throw new BrowserLostError('there is no browser');
  }

  #replace(reason: string): void {
    if (this.#next !== undefined || this.#stop.signal.aborted) return;
    this.#options.log.info({ reason }, 'replacing the browser');
    this.#next = this.#bringNext();
  }

  /** Launches until one is up, then swaps it in. Resolves when that is done or this is closed. */
  async #bringNext(): Promise<void> {
    const { log } = this.#options;
    try {
      while (!this.#stop.signal.aborted) {
        try {
          const next = await this.#launch();
          const last = this.#current;
          this.#current = next;
          this.#launchFailures = 0;
          if (last) this.#retire(last);
          return;
        } catch (error) {
          this.#launchFailures += 1;
          log.error({ err: error, failures: this.#launchFailures }, 'the browser could not be started');
          await delay(backoffMs(this.#launchFailures, backoff.baseMs, backoff.maxMs), this.#stop.signal);
        }
      }
    } finally {
      this.#next = undefined;
    }
  }

  async #launch(): Promise<BrowserGeneration> {
    const { launch, egress, setup, warmPages, guard, patienceMs, browserMemoryBytes, log } = this.#options;
    const start = performance.now();
    const launched = await launch();
    let trouble: unknown;
    const generation: BrowserGeneration = new BrowserGeneration({
      launched,
      egress,
      warmPages,
      guard,
      patienceMs,
      onMemory: (bytes) => {
        if (generation !== this.#current || bytes <= browserMemoryBytes) return;
        this.#replace(`it holds ${Math.round(bytes / 1024 / 1024)} MiB`);
      },
      ...(setup && { setup }),
      onTrouble: (reason, cause) => {
        trouble = cause;
        if (generation !== this.#current) return;
        log.warn({ reason, err: cause, pid: launched.pid }, 'the browser is in trouble');
        this.#replace(reason);
      },
    });
    await generation.fill();
    if (this.#stop.signal.aborted || generation.warm < warmPages) {
      await generation.close();
      throw new BrowserLostError('the browser started, but opened no page', { cause: trouble });
    }
    log.info({ pid: launched.pid, ms: Math.round(performance.now() - start) }, 'the browser is up');
    return generation;
  }

  #retire(generation: BrowserGeneration): void {
    this.#retired.add(generation);
    void generation.retire().finally(() => this.#retired.delete(generation));
  }
}
