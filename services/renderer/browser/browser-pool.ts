import { backoffMs, delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { type BrowserSource, PagePool } from './page-pool.ts';
import { BrowserLostError, type CapturePage } from './page.ts';

export interface BrowserPoolOptions extends BrowserSource {
  readonly log: Logger;
  /** Pages kept warm: the captures that run at a time. */
  readonly warmPages: number;
  readonly capturesPerBrowser: number;
  readonly browserMemoryBytes: number;
}

export type BrowserState = 'up' | 'starting' | 'down';

/** How long a capture waits for a browser that is on its way. */
const acquireTimeoutMs = 30_000;
const backoff = { baseMs: 200, maxMs: 10_000 };

/**
 * The browser that captures share, always one: replaced without a gap after so many captures, when it holds too much
 * memory, and when it misbehaves. The next one is up, with warm pages, before the last one retires.
 */
export class BrowserPool {
  readonly #options: BrowserPoolOptions;
  readonly #retired = new Set<PagePool>();
  readonly #closed = new AbortController();
  #current: PagePool | undefined;
  #replacing: Promise<void> | undefined;
  #launchFailures = 0;

  private constructor(options: BrowserPoolOptions) {
    this.#options = options;
  }

  /** @throws Error that says what is missing when the browser cannot be started */
  static async start(options: BrowserPoolOptions): Promise<BrowserPool> {
    const pool = new BrowserPool(options);
    pool.#current = await pool.#launch();
    return pool;
  }

  get state(): BrowserState {
    if (this.#current?.connected) return 'up';
    return this.#launchFailures === 0 && !this.#closed.signal.aborted ? 'starting' : 'down';
  }

  /**
   * A page for one capture.
   *
   * @throws BrowserLostError when there is no browser, and none comes in time
   */
  async acquire(): Promise<CapturePage> {
    const end = performance.now() + acquireTimeoutMs;
    while (!this.#closed.signal.aborted && performance.now() < end) {
      const pool = this.#current;
      if (pool?.connected) return this.#acquireFrom(pool);
      const next = (this.#replacing ??= this.#launchNext());
      await withDeadline(next, Math.max(1, end - performance.now()), 'waiting for a browser').catch(() => undefined);
    }
    throw new BrowserLostError('there is no browser');
  }

  /** Ends all browsers, with the captures that still run in them. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#replacing?.catch(() => undefined);
    const pools = [...this.#retired, ...(this.#current ? [this.#current] : [])];
    this.#current = undefined;
    await Promise.all(pools.map((pool) => pool.close()));
  }

  async #acquireFrom(pool: PagePool): Promise<CapturePage> {
    const page = await pool.acquire();
    const { capturesPerBrowser } = this.#options;
    if (pool === this.#current && pool.acquired >= capturesPerBrowser) {
      this.#replace(`the browser has served ${pool.acquired} captures`);
    }
    return page;
  }

  #replace(reason: string): void {
    if (this.#replacing !== undefined || this.#closed.signal.aborted) return;
    this.#options.log.info({ reason }, 'replacing the browser');
    this.#replacing = this.#launchNext();
  }

  /** Launches until one is up, then swaps it in. Resolves when that is done or this is closed. */
  async #launchNext(): Promise<void> {
    const { log } = this.#options;
    try {
      while (!this.#closed.signal.aborted) {
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
          await delay(backoffMs(this.#launchFailures, backoff.baseMs, backoff.maxMs), this.#closed.signal);
        }
      }
    } finally {
      this.#replacing = undefined;
    }
  }

  async #launch(): Promise<PagePool> {
    const { launch, warmPages, browserMemoryBytes, log } = this.#options;
    const start = performance.now();
    const launched = await launch();
    let failure: unknown;
    const pool: PagePool = new PagePool({
      ...this.#options,
      launched,
      onMemory: (bytes) => {
        if (pool !== this.#current || bytes <= browserMemoryBytes) return;
        this.#replace(`the browser holds ${Math.round(bytes / 1024 / 1024)} MiB of memory`);
      },
      onFailure: (reason, cause) => {
        failure = cause;
        if (pool !== this.#current) return;
        log.warn({ reason, err: cause, pid: launched.pid }, 'the browser failed');
        this.#replace(reason);
      },
    });
    await pool.fill();
    if (this.#closed.signal.aborted || pool.warm < warmPages) {
      await pool.close();
      throw new BrowserLostError('the browser started, but opened no page', { cause: failure });
    }
    log.info({ pid: launched.pid, ms: Math.round(performance.now() - start) }, 'the browser is up');
    return pool;
  }

  #retire(pool: PagePool): void {
    this.#retired.add(pool);
    void pool.retire().finally(() => this.#retired.delete(pool));
  }
}
