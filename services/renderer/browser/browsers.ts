import { availableParallelism } from 'node:os';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { CaptureLimits, RendererConfig } from '../config.ts';
import { BrowserPool, type BrowserState } from './browser-pool.ts';
import { launchBrowser } from './launch.ts';
import { ResourceGuard, type Resource } from './resource-guard.ts';
import type { CapturePage, PageEgress } from './page.ts';
import type { WipeOutcome } from './page-wipe.ts';
import { loadStealthProvider, stealthSwitches, type StealthProvider } from './stealth.ts';
import { headlessShellSwitches, withoutCommonSwitches } from './switches.ts';

export interface BrowsersConfig
  extends
    Pick<
      RendererConfig,
      'headlessShellPath' | 'chromiumPath' | 'sandbox' | 'slots' | 'capturesPerBrowser' | 'browserMemoryBytes'
    >,
    Partial<Pick<RendererConfig, 'stealthProvider'>> {
  /** What is left out is as in {@link defaultCaptureLimits}. */
  readonly captureLimits?: Partial<CaptureLimits>;
  /** A browser that answers nothing for so many milliseconds is killed, and another one takes its place. */
  readonly livenessTimeoutMs?: number;
  /** Browsers for antiBot are closed after so many milliseconds without work. */
  readonly antiBotIdleTimeoutMs?: number;
}

const mebibyte = 1024 * 1024;

/** As the configuration has them. */
const defaultCaptureLimits: CaptureLimits = {
  cpuMs: 60_000,
  memoryBytes: 1024 * mebibyte,
  pageBytes: 768 * mebibyte,
  diskBytes: 256 * mebibyte,
  processes: 1000,
  descriptors: 5000,
  messages: 100_000,
};

const defaults = {
  livenessTimeoutMs: 15_000,
  antiBotIdleTimeoutMs: 3 * 60_000,
} as const;

/** All browsers of a renderer. */
export interface Browsers {
  readonly state: BrowserState;
  /** The memory that the process of a page may hold. */
  readonly pageBytes: number;
  readonly stealth: StealthProvider;
  /**
   * A page for one capture, in a browser that works at no other one meanwhile.
   *
   * @throws BrowserLostError when there is no browser for it
   */
  acquire(wanted: {
    readonly antiBot: boolean;
    readonly ownBrowser: boolean;
    /** The account whose captures may use the same page one after the other. */
    readonly reuseFor?: string | undefined;
  }): Promise<CapturePage>;
  close(): Promise<void>;
}

/** @throws Error that says what is missing when the browser cannot be started */
export async function startBrowsers(
  config: BrowsersConfig,
  deps: {
    readonly log: Logger;
    readonly egress: PageEgress;
    /** Called for each capture that is ended since its page took too much. */
    readonly onPageLimit?: ((resource: Resource) => void) | undefined;
    /** As in BrowserSource. */
    readonly onPageReused?: (() => void) | undefined;
    readonly onWipe?: ((outcome: WipeOutcome) => void) | undefined;
  },
): Promise<Browsers> {
  const { sandbox, slots, capturesPerBrowser, browserMemoryBytes, livenessTimeoutMs, antiBotIdleTimeoutMs } = {
    ...defaults,
    ...config,
  };
  const { egress, log } = deps;
  const stealth = await loadStealthProvider(config.stealthProvider, config.chromiumPath);
  // What is wrong with its switches is to show now, and not in the first capture.
  await stealthSwitches(stealth);
  log.info({ provider: stealth.name, executable: stealth.executablePath }, 'stealth provider loaded');
  const limits = { ...defaultCaptureLimits, ...config.captureLimits };
  const guard = new ResourceGuard({
    limits,
    totalBytes: browserMemoryBytes,
    processorShare: availableParallelism() / slots,
    log,
    ...(deps.onPageLimit && { onExceeded: deps.onPageLimit }),
  });

  const shared = {
    egress,
    guard,
    livenessTimeoutMs,
    log,
    capturesPerBrowser,
    idleTimeoutMs: antiBotIdleTimeoutMs,
    ...(deps.onPageReused && { onPageReused: deps.onPageReused }),
    ...(deps.onWipe && { onWipe: deps.onWipe }),
    // One more than captures run at a time: whoever comes finds one with a warm page.
    maxBrowsers: slots + 1,
  };
  const pool = await BrowserPool.start({
    ...shared,
    isWarm: true,
    launch: () =>
      launchBrowser({
        executablePath: config.headlessShellPath,
        sandbox,
        switches: headlessShellSwitches,
        withoutSwitches: withoutCommonSwitches,
      }),
  }).catch((error: unknown) => {
    guard.close();
    throw error;
  });
  const { executablePath, contextOptions, initScripts } = stealth;
  const antiBotPool = new BrowserPool({
    ...shared,
    isWarm: false,
    setup: { contextOptions, initScripts },
    launch: async () =>
      launchBrowser({
        executablePath,
        sandbox,
        switches: await stealthSwitches(stealth),
        withoutSwitches: [...withoutCommonSwitches, ...stealth.withoutSwitches],
      }),
  });

  return {
    get state() {
      return pool.state;
    },
    pageBytes: limits.pageBytes,
    stealth,
    acquire: ({ antiBot, ownBrowser, reuseFor }) =>
      (antiBot ? antiBotPool : pool).acquire({ own: ownBrowser, reuseFor }),
    close: async () => {
      await Promise.all([pool.close(), antiBotPool.close()]);
      guard.close();
    },
  };
}
