import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { RendererConfig } from '../config.ts';
import { BrowserPool, type BrowserState } from './browser-pool.ts';
import { launchBrowser } from './launch.ts';
import { MemoryGuard } from './memory.ts';
import { DedicatedBrowsers, OnDemandBrowser } from './on-demand.ts';
import type { BrowserSource } from './page-pool.ts';
import type { CapturePage, PageEgress } from './page.ts';
import { loadStealthProvider, stealthSwitches, type StealthProvider } from './stealth.ts';
import { headlessShellSwitches } from './switches.ts';

export interface BrowsersConfig
  extends
    Pick<
      RendererConfig,
      'headlessShellPath' | 'chromiumPath' | 'sandbox' | 'slots' | 'capturesPerBrowser' | 'browserMemoryBytes'
    >,
    Partial<Pick<RendererConfig, 'pageMemoryBytes' | 'stealthProvider'>> {
  /** A browser that answers nothing for so many milliseconds is killed, and another one takes its place. */
  readonly livenessTimeoutMs?: number;
  /** The browser for antiBot is closed after so many milliseconds without work. */
  readonly antiBotIdleTimeoutMs?: number;
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
  const {
    sandbox,
    slots,
    capturesPerBrowser,
    browserMemoryBytes,
    pageMemoryBytes,
    livenessTimeoutMs,
    antiBotIdleTimeoutMs,
  } = { ...defaults, ...config };
  const { egress, log } = deps;
  const stealth = await loadStealthProvider(config.stealthProvider, config.chromiumPath);
  // What is wrong with its switches is to show now, and not in the first capture.
  await stealthSwitches(stealth);
  log.info({ provider: stealth.name, executable: stealth.executablePath }, 'stealth provider loaded');
  const guard = new MemoryGuard({ pageBytes: pageMemoryBytes, log });

  const source = { egress, guard, livenessTimeoutMs };
  const shell: BrowserSource = {
    ...source,
    launch: () => launchBrowser({ executablePath: config.headlessShellPath, sandbox, switches: headlessShellSwitches }),
  };
  const { executablePath, withoutSwitches, contextOptions, initScripts } = stealth;
  const antiBot: BrowserSource = {
    ...source,
    setup: { contextOptions, initScripts },
    launch: async () =>
      launchBrowser({ executablePath, sandbox, switches: await stealthSwitches(stealth), withoutSwitches }),
  };

  // One warm page more than can be in use: whoever comes finds one, and it need not be replaced at once.
  const shared = { log, warmPages: slots + 1, capturesPerBrowser, browserMemoryBytes };
  const pool = await BrowserPool.start({ ...shell, ...shared }).catch((error: unknown) => {
    guard.close();
    throw error;
  });
  const antiBotBrowser = new OnDemandBrowser({
    ...antiBot,
    log,
    capturesPerBrowser,
    idleTimeoutMs: antiBotIdleTimeoutMs,
  });
  const dedicatedBrowsers = new DedicatedBrowsers({ ...shell, idleTimeoutMs: spareIdleTimeoutMs });
  const dedicatedAntiBotBrowsers = new DedicatedBrowsers({ ...antiBot, idleTimeoutMs: spareIdleTimeoutMs });

  return {
    get state() {
      return pool.state;
    },
    stealth,
    acquire: (wanted) => {
      if (wanted.ownBrowser) return (wanted.antiBot ? dedicatedAntiBotBrowsers : dedicatedBrowsers).acquire();
      return (wanted.antiBot ? antiBotBrowser : pool).acquire();
    },
    close: async () => {
      const all = [pool, antiBotBrowser, dedicatedBrowsers, dedicatedAntiBotBrowsers];
      await Promise.all(all.map((browsers) => browsers.close()));
      guard.close();
    },
  };
}
