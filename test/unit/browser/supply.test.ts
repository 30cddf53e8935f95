import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BrowserLostError } from '../../../services/renderer/browser/browser-lost-error.ts';
import { BrowserSupply, type BrowserSupplyOptions } from '../../../services/renderer/browser/browser-supply.ts';
import { IdleBrowser } from '../../../services/renderer/browser/idle-browser.ts';
import { launchBrowser, type LaunchedBrowser } from '../../../services/renderer/browser/launch.ts';
import { MemoryGuard } from '../../../services/renderer/browser/memory-guard.ts';
import { OwnBrowsers } from '../../../services/renderer/browser/own-browsers.ts';
import { headlessShellSwitches } from '../../../services/renderer/browser/switches.ts';
import { startEgressProxy, type EgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { until } from '../../harness/until.ts';
import { engineConfig, log } from '../../harness/engine.ts';

let egress: EgressProxy;
let guard: MemoryGuard;
let supply: BrowserSupply | undefined;
let launched: LaunchedBrowser[];
let failLaunches: number;

const launch = async () => {
  if (failLaunches > 0) {
    failLaunches -= 1;
    throw new Error('no browser today');
  }
  const browser = await launchBrowser({
    executablePath: engineConfig.headlessShellPath,
    sandbox: 'off',
    switches: headlessShellSwitches,
  });
  launched.push(browser);
  return browser;
};

async function start(options: Partial<BrowserSupplyOptions> = {}): Promise<BrowserSupply> {
  return (supply = await BrowserSupply.start({
    launch,
    egress,
    guard,
    log,
    warmPages: 1,
    patienceMs: 15_000,
    capturesPerBrowser: 100,
    browserMemoryBytes: 64 * 1024 ** 3,
    ...options,
  }));
}

beforeEach(async () => {
  launched = [];
  failLaunches = 0;
  supply = undefined;
  egress = await startEgressProxy({ policy: createEgressPolicy({ allow: ['127.0.0.0/8'] }), log });
  guard = new MemoryGuard({ pageBytes: 1024 ** 3, log });
});

afterEach(async () => {
  await supply?.close();
  guard.close();
  await egress.close();
  const left = launched.filter(({ browser }) => browser.isConnected());
  if (left.length > 0) throw new Error(`${left.length} browsers were left running`);
});

describe('the supply of pages', () => {
  test('lends a page of its own to each', async () => {
    const pages = await start();
    const loans = await Promise.all([pages.take(), pages.take(), pages.take()]);
    expect(new Set(loans.map(({ page }) => page)).size).toBe(3);
    expect(new Set(loans.map(({ context }) => context)).size).toBe(3);
    expect(new Set(loans.map(({ lane }) => lane.server)).size).toBe(3);
    await Promise.all(loans.map((loan) => loan.release()));
    for (const { page } of loans) expect(page.isClosed()).toBe(true);
    expect(launched).toHaveLength(1);
  });

  test('replaces the browser after its share of captures, without a gap', async () => {
    const pages = await start({ capturesPerBrowser: 3 });
    const long = await pages.take();
    for (let capture = 0; capture < 6; capture += 1) {
      expect(pages.state).toBe('up');
      const { release } = await pages.take();
      await release();
    }
    await until('the next browser', () => launched.length >= 2);
    // The first one waits for its last capture.
    expect(launched[0]?.browser.isConnected()).toBe(true);
    expect(await long.page.evaluate('1 + 1')).toBe(2);
    await long.release();
    await until('the first browser to end', () => launched[0]?.browser.isConnected() === false);
    expect(pages.state).toBe('up');
  });

  test('replaces a browser that went away, and says so to those who were in it', async () => {
    const pages = await start();
    const loan = await pages.take();
    expect(loan.browserLost()).toBe(false);
    launched[0]?.kill();
    await until('the loss to be seen', () => loan.browserLost());
    const next = await pages.take();
    expect(await next.page.evaluate('1 + 1')).toBe(2);
    expect(launched).toHaveLength(2);
    await Promise.all([loan.release(), next.release()]);
  });

  test('goes on trying when a browser does not start, and tells its state', async () => {
    const pages = await start();
    failLaunches = 2;
    launched[0]?.kill();
    await until('the state to be down', () => pages.state === 'down');
    await until('the state to be up again', () => pages.state === 'up');
    const { release } = await pages.take();
    await release();
  });

  test('replaces a browser that holds too much memory', async () => {
    const pages = await start({ browserMemoryBytes: 1 });
    const { release } = await pages.take();
    await until('the next browser', () => launched.length >= 2);
    await release();
  });

  test('does not start without a browser', async () => {
    failLaunches = 1;
    await expect(start()).rejects.toThrow('no browser today');
  });

  test('lends nothing once it is closed', async () => {
    const pages = await start();
    await pages.close();
    await expect(pages.take()).rejects.toBeInstanceOf(BrowserLostError);
    expect(pages.state).toBe('down');
  });
});

test('the memory guard ends a page that holds too much, and no other', async () => {
  guard.close();
  guard = new MemoryGuard({ pageBytes: 300 * 1024 ** 2, log });
  const pages = await start();
  const [greedy, modest] = [await pages.take(), await pages.take()];
  const crashed = new Promise<void>((resolve) => greedy.page.once('crash', () => resolve()));
  void greedy.page
    .evaluate('window.hoard = []; setInterval(() => hoard.push(new Uint8Array(2e7).fill(1)), 5); 0')
    .catch(() => undefined);
  await crashed;
  expect(await modest.page.evaluate('1 + 1')).toBe(2);
  await Promise.all([greedy.release(), modest.release()]);
});

describe('a browser that is needed now and then', () => {
  const idle = (options: { idleMs?: number; capturesPerBrowser?: number } = {}) =>
    new IdleBrowser({
      launch,
      egress,
      guard,
      log,
      patienceMs: 15_000,
      setup: { contextOptions: {}, initScripts: [] },
      capturesPerBrowser: 100,
      idleMs: 60_000,
      ...options,
    });

  test('starts with the first capture, serves the next, and ends when nothing comes', async () => {
    const browser = idle({ idleMs: 100 });
    expect(launched).toHaveLength(0);
    const loans = await Promise.all([browser.take(), browser.take()]);
    expect(launched).toHaveLength(1);
    await loans[0].release();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(launched[0]?.browser.isConnected()).toBe(true);
    await loans[1].release();
    await until('the browser to end', () => launched[0]?.browser.isConnected() === false);
    const again = await browser.take();
    expect(launched).toHaveLength(2);
    await again.release();
    await browser.close();
  });

  test('is replaced after its share of captures, and when it went away', async () => {
    const browser = idle({ capturesPerBrowser: 2 });
    for (let capture = 0; capture < 3; capture += 1) await (await browser.take()).release();
    expect(launched).toHaveLength(2);
    const lost = await browser.take();
    launched[1]?.kill();
    await until('the loss to be seen', () => lost.browserLost());
    await lost.release();
    await (await browser.take()).release();
    expect(launched).toHaveLength(3);
    await browser.close();
  });

  test('that does not start fails its capture, not the next', async () => {
    const browser = idle();
    failLaunches = 1;
    await expect(browser.take()).rejects.toBeInstanceOf(BrowserLostError);
    await (await browser.take()).release();
    await browser.close();
  });
});

describe('browsers that are shared with nobody', () => {
  const owns = (idleMs = 60_000) => new OwnBrowsers({ launch, egress, guard, patienceMs: 15_000, idleMs });
  const running = () => launched.filter(({ browser }) => browser.isConnected()).length;

  test('end with their capture; the next one is up before it is wanted', async () => {
    const own = owns();
    const loans = await Promise.all([own.take(), own.take()]);
    expect(launched).toHaveLength(2);
    const [first, second] = loans.map(({ context }) => context.browser());
    expect(first).not.toBe(second);
    await loans[0].release();
    expect([first?.isConnected(), second?.isConnected()]).toEqual([false, true]);
    await until('a spare one', () => running() === 2);
    const next = await own.take();
    expect(launched).toHaveLength(3);
    await Promise.all([next.release(), loans[1].release()]);
    await until('no more than one spare', () => running() === 1);
    await own.close();
    expect(running()).toBe(0);
  });

  test('leave no spare one for long, and one that died in the meantime is not lent', async () => {
    const own = owns(200);
    await (await own.take()).release();
    await until('the spare one', () => launched.length === 2);
    await until('the spare one to end', () => running() === 0);
    await own.close();
    // One that is kept for as long as it takes to kill it.
    const patient = owns();
    await (await patient.take()).release();
    await until('another spare one', () => launched[3]?.browser.contexts()[0]?.pages().length === 1);
    launched[3]?.kill();
    await until('its end', () => launched[3]?.browser.isConnected() === false);
    const loan = await patient.take();
    expect(await loan.page.evaluate('1 + 1')).toBe(2);
    const taking = patient.take().catch((error: unknown) => error);
    await patient.close();
    expect(await taking).toBeInstanceOf(BrowserLostError);
    expect(running()).toBe(0);
  });
});
