import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BrowserPool, type BrowserPoolOptions } from '../../../services/renderer/browser/browser-pool.ts';
import { launchBrowser, type LaunchedBrowser } from '../../../services/renderer/browser/launch.ts';
import { MemoryGuard } from '../../../services/renderer/browser/memory.ts';
import { DedicatedBrowsers, OnDemandBrowser } from '../../../services/renderer/browser/on-demand.ts';
import { PagePool } from '../../../services/renderer/browser/page-pool.ts';
import { BrowserLostError } from '../../../services/renderer/browser/page.ts';
import { headlessShellSwitches } from '../../../services/renderer/browser/switches.ts';
import { startEgressProxy, type EgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { until } from '../../harness/until.ts';
import { engineConfig, log } from '../../harness/engine.ts';

let egress: EgressProxy;
let guard: MemoryGuard;
let pool: BrowserPool | undefined;
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

async function start(options: Partial<BrowserPoolOptions> = {}): Promise<BrowserPool> {
  return (pool = await BrowserPool.start({
    launch,
    egress,
    guard,
    log,
    warmPages: 1,
    livenessTimeoutMs: 15_000,
    capturesPerBrowser: 100,
    browserMemoryBytes: 64 * 1024 ** 3,
    ...options,
  }));
}

beforeEach(async () => {
  launched = [];
  failLaunches = 0;
  pool = undefined;
  egress = await startEgressProxy({ policy: createEgressPolicy({ allow: ['127.0.0.0/8'] }), log });
  guard = new MemoryGuard({ pageBytes: 1024 ** 3, log });
});

afterEach(async () => {
  await pool?.close();
  guard.close();
  await egress.close();
  const left = launched.filter(({ browser }) => browser.isConnected());
  if (left.length > 0) throw new Error(`${left.length} browsers were left running`);
});

describe('the browser pool', () => {
  test('lends a page of its own to each', async () => {
    const pages = await start();
    const acquired = await Promise.all([pages.acquire(), pages.acquire(), pages.acquire()]);
    expect(new Set(acquired.map(({ page }) => page)).size).toBe(3);
    expect(new Set(acquired.map(({ context }) => context)).size).toBe(3);
    expect(new Set(acquired.map(({ proxySession }) => proxySession.server)).size).toBe(3);
    await Promise.all(acquired.map((acquired) => acquired.release()));
    for (const { page } of acquired) expect(page.isClosed()).toBe(true);
    expect(launched).toHaveLength(1);
  });

  test('replaces the browser after its share of captures, without a gap', async () => {
    const pages = await start({ capturesPerBrowser: 3 });
    const long = await pages.acquire();
    for (let capture = 0; capture < 6; capture += 1) {
      expect(pages.state).toBe('up');
      const { release } = await pages.acquire();
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
    const acquired = await pages.acquire();
    expect(acquired.browserLost()).toBe(false);
    launched[0]?.kill();
    await until('the loss to be seen', () => acquired.browserLost());
    const next = await pages.acquire();
    expect(await next.page.evaluate('1 + 1')).toBe(2);
    expect(launched).toHaveLength(2);
    await Promise.all([acquired.release(), next.release()]);
  });

  test('goes on trying when a browser does not start, and tells its state', async () => {
    const pages = await start();
    failLaunches = 2;
    launched[0]?.kill();
    await until('the state to be down', () => pages.state === 'down');
    await until('the state to be up again', () => pages.state === 'up');
    const { release } = await pages.acquire();
    await release();
  });

  test('replaces a browser that holds too much memory', async () => {
    const pages = await start({ browserMemoryBytes: 1 });
    const { release } = await pages.acquire();
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
    await expect(pages.acquire()).rejects.toBeInstanceOf(BrowserLostError);
    expect(pages.state).toBe('down');
  });
});

test('a browser that retires while a page is being opened waits for it, and for its capture', async () => {
  const pages = new PagePool({
    launched: await launch(),
    egress,
    guard,
    warmPages: 0,
    livenessTimeoutMs: 15_000,
    onFailure: () => undefined,
  });
  const opening = pages.acquire();
  expect(pages.busy).toBe(1);
  const retired = pages.retire();
  const { page, release } = await opening;
  expect(await page.evaluate('1 + 1')).toBe(2);
  await release();
  await retired;
  expect(launched[0]?.browser.isConnected()).toBe(false);
});

test('the memory guard ends a page that holds too much, and no other', async () => {
  guard.close();
  guard = new MemoryGuard({ pageBytes: 300 * 1024 ** 2, log });
  const pages = await start();
  const [greedy, modest] = [await pages.acquire(), await pages.acquire()];
  const crashed = new Promise<void>((resolve) => greedy.page.once('crash', () => resolve()));
  void greedy.page
    .evaluate('window.hoard = []; setInterval(() => hoard.push(new Uint8Array(2e7).fill(1)), 5); 0')
    .catch(() => undefined);
  await crashed;
  expect(await modest.page.evaluate('1 + 1')).toBe(2);
  await Promise.all([greedy.release(), modest.release()]);
});

describe('a browser that is needed now and then', () => {
  const idle = (options: { idleTimeoutMs?: number; capturesPerBrowser?: number } = {}) =>
    new OnDemandBrowser({
      launch,
      egress,
      guard,
      log,
      livenessTimeoutMs: 15_000,
      setup: { contextOptions: {}, initScripts: [] },
      capturesPerBrowser: 100,
      idleTimeoutMs: 60_000,
      ...options,
    });

  test('starts with the first capture, serves the next, and ends when nothing comes', async () => {
    const browser = idle({ idleTimeoutMs: 100 });
    expect(launched).toHaveLength(0);
    const acquired = await Promise.all([browser.acquire(), browser.acquire()]);
    expect(launched).toHaveLength(1);
    await acquired[0].release();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(launched[0]?.browser.isConnected()).toBe(true);
    await acquired[1].release();
    await until('the browser to end', () => launched[0]?.browser.isConnected() === false);
    const again = await browser.acquire();
    expect(launched).toHaveLength(2);
    await again.release();
    await browser.close();
  });

  test('is replaced after its share of captures, and when it went away', async () => {
    const browser = idle({ capturesPerBrowser: 2 });
    for (let capture = 0; capture < 3; capture += 1) await (await browser.acquire()).release();
    expect(launched).toHaveLength(2);
    const lost = await browser.acquire();
    launched[1]?.kill();
    await until('the loss to be seen', () => lost.browserLost());
    await lost.release();
    await (await browser.acquire()).release();
    expect(launched).toHaveLength(3);
    await browser.close();
  });

  test('that does not start fails its capture, not the next', async () => {
    const browser = idle();
    failLaunches = 1;
    await expect(browser.acquire()).rejects.toBeInstanceOf(BrowserLostError);
    await (await browser.acquire()).release();
    await browser.close();
  });
});

describe('browsers that are shared with nobody', () => {
  const owns = (idleTimeoutMs = 60_000) =>
    new DedicatedBrowsers({ launch, egress, guard, livenessTimeoutMs: 15_000, idleTimeoutMs });
  const running = () => launched.filter(({ browser }) => browser.isConnected()).length;

  test('end with their capture; the next one is up before it is wanted', async () => {
    const own = owns();
    const acquired = await Promise.all([own.acquire(), own.acquire()]);
    expect(launched).toHaveLength(2);
    const [first, second] = acquired.map(({ context }) => context.browser());
    expect(first).not.toBe(second);
    await acquired[0].release();
    expect([first?.isConnected(), second?.isConnected()]).toEqual([false, true]);
    await until('a spare one', () => running() === 2);
    const next = await own.acquire();
    expect(launched).toHaveLength(3);
    await Promise.all([next.release(), acquired[1].release()]);
    await until('no more than one spare', () => running() === 1);
    await own.close();
    expect(running()).toBe(0);
  });

  test('leave no spare one for long, and one that died in the meantime is not lent', async () => {
    const own = owns(200);
    await (await own.acquire()).release();
    await until('the spare one', () => launched.length === 2);
    await until('the spare one to end', () => running() === 0);
    await own.close();
    // One that is kept for as long as it takes to kill it.
    const patient = owns();
    await (await patient.acquire()).release();
    await until('another spare one', () => launched[3]?.browser.contexts()[0]?.pages().length === 1);
    launched[3]?.kill();
    await until('its end', () => launched[3]?.browser.isConnected() === false);
    const acquired = await patient.acquire();
    expect(await acquired.page.evaluate('1 + 1')).toBe(2);
    const taking = patient.acquire().catch((error: unknown) => error);
    await patient.close();
    expect(await taking).toBeInstanceOf(BrowserLostError);
    expect(running()).toBe(0);
  });
});
