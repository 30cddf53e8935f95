import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { BrowserSupply, type BrowserState } from './browser-supply.ts';
import { IdleBrowser } from './idle-browser.ts';
import { launchBrowser } from './launch.ts';
import { MemoryGuard } from './memory-guard.ts';
import { OwnBrowsers } from './own-browsers.ts';
import type { PageLoan } from './page-loan.ts';
import { loadStealthProvider } from './load-stealth-provider.ts';
import type { StealthProvider } from './stealth-provider.ts';
import { stealthSwitches } from './stealth-switches.ts';
import { headlessShellSwitches } from './switches.ts';
import type { PageEgress } from './warm-page.ts';

export interface BrowsersConfig {
  readonly headlessShellPath: string;
  readonly chromiumPath: string;
  readonly sandbox: 'on' | 'off';
  readonly slots: number;
  readonly capturesPerBrowser: number;
  readonly browserMemoryBytes: number;
  readonly pageMemoryBytes: number;
  readonly antiBotIdleMs: number;
  readonly patienceMs: number;
  /** Module of the operator's stealth provider. */
  readonly stealthProvider: string | undefined;
}

/** For so long after a capture in a browser of its own, another browser waits for the next such capture. */
const spareIdleMs = 60_000;

/** All browsers of a renderer. */
export interface Browsers {
  readonly state: BrowserState;
  readonly stealth: StealthProvider;
  /**
   * A page for one capture.
   *
   * @throws BrowserLostError when there is no browser for it
   */
  take(wish: { readonly antiBot: boolean; readonly ownBrowser: boolean }): Promise<PageLoan>;
  close(): Promise<void>;
}

/** @throws Error that says what is missing when the browser cannot be started */
export async function startBrowsers(
  config: BrowsersConfig,
  deps: { readonly log: Logger; readonly egress: PageEgress },
): Promise<Browsers> {
  const { sandbox, headlessShellPath, capturesPerBrowser, slots, patienceMs } = config;
  const { egress, log } = deps;
  const stealth = await loadStealthProvider(config.stealthProvider, config.chromiumPath);
  // What is wrong with its switches is to show now, and not in the first capture.
  await stealthSwitches(stealth);
  log.info({ provider: stealth.name, executable: stealth.executablePath }, 'stealth provider loaded');
  const guard = new MemoryGuard({ pageBytes: config.pageMemoryBytes, log });
  const stealthSetup = { contextOptions: stealth.contextOptions, initScripts: stealth.initScripts };

  const launchShell = () =>
    launchBrowser({ executablePath: headlessShellPath, sandbox, switches: headlessShellSwitches });
  const launchStealth = async () =>
    launchBrowser({
      executablePath: stealth.executablePath,
      sandbox,
      switches: await stealthSwitches(stealth),
      withoutSwitches: stealth.withoutSwitches,
    });

  const supply = await BrowserSupply.start({
    launch: launchShell,
    egress,
    guard,
    log,
    // One more than can be in use: whoever comes finds one, and it need not be replaced at once.
    warmPages: slots + 1,
    capturesPerBrowser,
    patienceMs,
    browserMemoryBytes: config.browserMemoryBytes,
  }).catch((error: unknown) => {
    guard.close();
    throw error;
  });
  const antiBotBrowser = new IdleBrowser({
    launch: launchStealth,
    egress,
    guard,
    log,
    setup: stealthSetup,
    capturesPerBrowser,
    patienceMs,
    idleMs: config.antiBotIdleMs,
  });

  const keep = { egress, guard, patienceMs, idleMs: spareIdleMs };
  const own = new OwnBrowsers({ ...keep, launch: launchShell });
  const ownAntiBot = new OwnBrowsers({ ...keep, launch: launchStealth, setup: stealthSetup });

  return {
    get state() {
      return supply.state;
    },
    stealth,
    take: ({ antiBot, ownBrowser }) => {
      if (ownBrowser) return (antiBot ? ownAntiBot : own).take();
      return (antiBot ? antiBotBrowser : supply).take();
    },
    close: async () => {
      await Promise.all([supply, antiBotBrowser, own, ownAntiBot].map((browsers) => browsers.close()));
      guard.close();
    },
  };
}
