import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { BrowserPool, type BrowserState } from './browser-pool.ts';
import { launchBrowser } from './launch.ts';
import { MemoryGuard } from './memory.ts';
import { DedicatedBrowsers, OnDemandBrowser } from './on-demand.ts';
import type { CapturePage, PageEgress } from './page.ts';
import { loadStealthProvider, stealthSwitches, type StealthProvider } from './stealth.ts';
import { headlessShellSwitches } from './switches.ts';

export interface BrowsersConfig {
  /** Renders everything but antiBot. */
  readonly headlessShellPath: string;
  /** The full browser, for antiBot. */
  readonly chromiumPath: string;
  readonly sandbox: 'on' | 'off';
  /** Captures at a time; so many pages are kept warm. */
  readonly slots: number;
  /** A browser is replaced after so many captures. */
  readonly capturesPerBrowser: number;
  /** A browser is replaced when its processes hold more memory than this. */
  readonly browserMemoryBytes: number;
  /** A page whose own process holds more memory than this is killed, and its capture fails. */
  readonly pageMemoryBytes?: number;
  /** A browser that answers nothing for so many milliseconds is killed, and another one takes its place. */
  readonly livenessTimeoutMs?: number;
  /** The browser for antiBot is closed after so many milliseconds without work. */
  readonly antiBotIdleTimeoutMs?: number;
  /** Path of the module that makes the stealth provider; without one it is full Chromium. */
  readonly stealthProvider?: string | undefined;
}

const defaults = {
  pageMemoryBytes: 768 * 1024 * 1024,
  livenessTimeoutMs: 15_000,
  antiBotIdleTimeoutMs: 3 * 60_000,
} as const;

/** For so long after a capture in a browser of its own, another browser waits for the next such capture. */
const spareIdleTimeoutMs = 60_000;

/** All browsers of a renderer. */
export interface Browsers {
  readonly state: BrowserState;
  readonly stealth: StealthProvider;
  /**
   * A page for one capture.
   *
   * @throws BrowserLostError when there is no browser for it
   */
  acquire(wanted: { readonly antiBot: boolean; readonly ownBrowser: boolean }): Promise<CapturePage>;
  close(): Promise<void>;
}

/** @throws Error that says what is missing when the browser cannot be started */
export async function startBrowsers(
  config: BrowsersConfig,
  deps: { readonly log: Logger; readonly egress: PageEgress },
): Promise<Browsers> {
  const { sandbox, slots, capturesPerBrowser, browserMemoryBytes, ...settings } = { ...defaults, ...config };
  const { pageMemoryBytes, livenessTimeoutMs, antiBotIdleTimeoutMs } = settings;
  const { egress, log } = deps;
  const stealth = await loadStealthProvider(config.stealthProvider, config.chromiumPath);
  // What is wrong with its switches is to show now, and not in the first capture.
  await stealthSwitches(stealth);
  log.info({ provider: stealth.name, executable: stealth.executablePath }, 'stealth provider loaded');
  const guard = new MemoryGuard({ pageBytes: pageMemoryBytes, log });
  const stealthSetup = { contextOptions: stealth.contextOptions, initScripts: stealth.initScripts };

  const launchShell = () =>
    launchBrowser({ executablePath: config.headlessShellPath, sandbox, switches: headlessShellSwitches });
  const launchStealth = async () =>
    launchBrowser({
      executablePath: stealth.executablePath,
      sandbox,
      switches: await stealthSwitches(stealth),
      withoutSwitches: stealth.withoutSwitches,
    });

  const pool = await BrowserPool.start({
    launch: launchShell,
    egress,
    guard,
    log,
    // One more than can be in use: whoever comes finds one, and it need not be replaced at once.
    warmPages: slots + 1,
    capturesPerBrowser,
    livenessTimeoutMs,
    browserMemoryBytes,
  }).catch((error: unknown) => {
    guard.close();
    throw error;
  });
  const antiBotBrowser = new OnDemandBrowser({
    launch: launchStealth,
    egress,
    guard,
    log,
    setup: stealthSetup,
    capturesPerBrowser,
    livenessTimeoutMs,
    idleTimeoutMs: antiBotIdleTimeoutMs,
  });

  const dedicated = { egress, guard, livenessTimeoutMs, idleTimeoutMs: spareIdleTimeoutMs };
  const dedicatedBrowsers = new DedicatedBrowsers({ ...dedicated, launch: launchShell });
  const dedicatedAntiBotBrowsers = new DedicatedBrowsers({ ...dedicated, launch: launchStealth, setup: stealthSetup });

  return {
    get state() {
      return pool.state;
    },
    stealth,
    acquire: ({ antiBot, ownBrowser }) => {
      if (ownBrowser) return (antiBot ? dedicatedAntiBotBrowsers : dedicatedBrowsers).acquire();
      return (antiBot ? antiBotBrowser : pool).acquire();
    },
    close: async () => {
      const all = [pool, antiBotBrowser, dedicatedBrowsers, dedicatedAntiBotBrowsers];
      await Promise.all(all.map((browsers) => browsers.close()));
      guard.close();
    },
  };
}
