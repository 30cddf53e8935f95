import { availableParallelism } from 'node:os';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { CaptureLimits, RendererConfig } from '../config.ts';
import { BrowserPool, type BrowserState } from './browser-pool.ts';
import { createBrowserHome } from './certificate-store.ts';
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
    Partial<Pick<RendererConfig, 'stealthProvider' | 'caBundle'>> {
  /** Defaults to {@link defaultCaptureLimits}. */
  readonly captureLimits?: Partial<CaptureLimits>;
  /** Time in milliseconds after which a browser that does not answer is killed and replaced. */
  readonly livenessTimeoutMs?: number;
  /** Time without work, in milliseconds, after which browsers for antiBot are closed. */
  readonly antiBotIdleTimeoutMs?: number;
}

const mebibyte = 1024 * 1024;

/** The defaults of the configuration. */
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
  /** Maximum memory of a page's process, in bytes. */
  readonly pageBytes: number;
  readonly stealth: StealthProvider;
  /**
   * Returns a page for one capture, in a browser that runs no other capture at the same time.
   *
   * @throws BrowserLostError if no browser is available
   */
  acquire(wanted: {
    readonly antiBot: boolean;
    readonly ownBrowser: boolean;
    /** The account whose captures may use the same page one after another. */
    readonly reuseFor?: string | undefined;
  }): Promise<CapturePage>;
  close(): Promise<void>;
}

/** @throws Error that says what is missing if the browser cannot start */
export async function startBrowsers(
  config: BrowsersConfig,
  deps: {
    readonly log: Logger;
    readonly egress: PageEgress;
    /** Called for each capture that is aborted because its page exceeded a limit. */
    readonly onPageLimit?: ((resource: Resource) => void) | undefined;
    /** See {@link BrowserSource}. */
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
  // Invalid switches are reported here, and not in the first capture.
  await stealthSwitches(stealth);
  log.info({ provider: stealth.name, executable: stealth.executablePath }, 'stealth provider loaded');
  const home = config.caBundle && (await createBrowserHome(config.caBundle.certificates));
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
    // The number exceeds the number of parallel captures by one, so that each capture finds a browser with a warm page.
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
        home: home?.folder,
      }),
  }).catch(async (error: unknown) => {
    guard.close();
    await home?.remove();
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
        home: home?.folder,
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
      await home?.remove();
    },
  };
}
