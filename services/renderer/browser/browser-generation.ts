import type { Request } from 'playwright-core';
import { BrowserLostError } from './browser-lost-error.ts';
import { hasLostProxy } from './lost-proxy.ts';
import type { LaunchedBrowser } from './launch.ts';
import type { MemoryGuard } from './memory-guard.ts';
import type { PageLoan } from './page-loan.ts';
import { watchPulse } from './watch-pulse.ts';
import { closeWarmPage, openWarmPage, type PageEgress, type PageSetup, type WarmPage } from './warm-page.ts';

export interface GenerationOptions {
  readonly launched: LaunchedBrowser;
  readonly egress: PageEgress;
  readonly setup?: PageSetup;
  /** Pages kept warm ahead of need. */
  readonly warmPages: number;
  readonly guard: MemoryGuard;
  /** A browser that answers nothing for so many milliseconds is ended: its captures need not wait for their own end. */
  readonly patienceMs: number;
  /** Hears what the processes of the browser hold, while it works. */
  readonly onMemory?: (bytes: number) => void;
  /** The browser ended by itself, or does not do what it is told. Called once. */
  readonly onTrouble: (reason: string, cause?: unknown) => void;
}

/** So many captures in a row that did not come to an end are the fault of the browser, or of one of its processes. */
const mostTimeouts = 3;

/** One browser and its pages, from launch to the end of its last capture. */
export class BrowserGeneration {
  readonly #options: GenerationOptions;
  readonly #warm: WarmPage[] = [];
  readonly #busy = new Set<WarmPage>();
  readonly #idle: (() => void)[] = [];
  readonly #unwatch: () => void;
  #filling: Promise<void> | undefined;
  #taken = 0;
  #timeouts = 0;
  #retired = false;
  #troubled = false;
  #lost = false;

  constructor(options: GenerationOptions) {
    this.#options = options;
    const { launched, guard, onMemory, patienceMs } = options;
    const unguard = guard.watch({
      pid: launched.pid,
      busy: () => this.#busy.size > 0,
      ...(onMemory && { onTotal: onMemory }),
    });
    const stopPulse = watchPulse(launched.browser, {
      patienceMs,
      onSilence: () => {
        this.#trouble('it does not answer');
        launched.kill();
      },
    });
    this.#unwatch = () => {
      unguard();
      stopPulse();
    };
    launched.browser.on('disconnected', () => {
      this.#unwatch();
      this.#trouble('it went away');
    });
  }

  /** Captures begun so far. */
  get taken(): number {
    return this.#taken;
  }

  get busy(): number {
    return this.#busy.size;
  }

  get warm(): number {
    return this.#warm.length;
  }

  get connected(): boolean {
    return this.#options.launched.browser.isConnected();
  }

  /** Opens warm pages until there are enough. Resolves as well when that failed, which is reported as trouble. */
  fill(): Promise<void> {
    this.#filling ??= this.#fill().finally(() => (this.#filling = undefined));
    return this.#filling;
  }

  /**
   * A page for one capture.
   *
   * @throws BrowserLostError when the browser opens none
   */
  async take(): Promise<PageLoan> {
    let page = this.#warm.shift();
    while (page !== undefined && (page.page.isClosed() || page.crashed())) {
      void closeWarmPage(page);
      page = this.#warm.shift();
    }
    this.#taken += 1;
    const { launched, egress, setup } = this.#options;
    page ??= await openWarmPage(launched, egress, setup).catch((error: unknown) => {
      this.#trouble('it opens no page', error);
      throw new BrowserLostError('the browser opened no page', { cause: error });
    });
    const taken = page;
    this.#busy.add(taken);
    const onFailure = (request: Request) => {
      if (this.#lost || !hasLostProxy(request.failure()?.errorText)) return;
      this.#lost = true;
      this.#trouble('it has lost its proxies');
      launched.kill();
    };
    taken.context.on('requestfailed', onFailure);
    // Opening pages beside a capture slows it down: the next one is opened when one has ended, if there is a spare.
    if (this.#warm.length === 0) void this.fill();
    return {
      ...taken,
      browserLost: () => !this.connected,
      release: (end) => {
        // Its lane may be closed before it is.
        taken.context.off('requestfailed', onFailure);
        return this.#release(taken, end?.timedOut ?? false);
      },
    };
  }

  async #release(page: WarmPage, timedOut: boolean): Promise<void> {
    this.#timeouts = timedOut ? this.#timeouts + 1 : 0;
    if (this.#timeouts === mostTimeouts) this.#trouble('its captures do not end');
    const closed = await closeWarmPage(page);
    if (!closed) this.#trouble('it closes no page');
    this.#busy.delete(page);
    void this.fill();
    if (this.#busy.size === 0) for (const idle of this.#idle.splice(0)) idle();
  }

  /** Takes no more captures; resolves when the last one has ended and the browser is closed. */
  async retire(): Promise<void> {
    this.#retired = true;
    // Its last capture may take long, and nobody wants these any more.
    await Promise.all(this.#warm.splice(0).map((page) => closeWarmPage(page)));
    if (this.#busy.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    await this.close();
  }

  /** Ends the browser with all that runs in it. */
  async close(): Promise<void> {
    this.#retired = true;
    this.#unwatch();
    await this.#filling;
    const warm = this.#warm.splice(0);
    await this.#options.launched.close();
    await Promise.all(warm.map(({ lane }) => lane.close()));
  }

  async #fill(): Promise<void> {
    const { launched, egress, setup, warmPages } = this.#options;
    try {
      while (!this.#retired && this.connected && this.#warm.length < warmPages) {
        const page = await openWarmPage(launched, egress, setup);
        if (this.#retired) await closeWarmPage(page);
        else this.#warm.push(page);
      }
    } catch (error) {
      this.#trouble('it opens no page', error);
    }
  }

  #trouble(reason: string, cause?: unknown): void {
    if (this.#troubled || this.#retired) return;
    this.#troubled = true;
    this.#options.onTrouble(reason, cause);
  }
}
