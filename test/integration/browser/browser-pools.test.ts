// @module-tag long
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BrowserPool, type BrowserPoolOptions } from '../../../services/renderer/browser/browser-pool.ts';
import type { LaunchedBrowser } from '../../../services/renderer/browser/launch.ts';
import { BrowserLostError, type CapturePage } from '../../../services/renderer/browser/page.ts';
import type { ResourceGuard } from '../../../services/renderer/browser/resource-guard.ts';
import type { EgressProxy } from '../../../services/renderer/egress/proxy.ts';
import {
  launchHeadlessShell,
  poolDefaults,
  startLocalEgress,
  startUnlimitedGuard,
} from '../../harness/browser-pool.ts';
import { until } from '../../harness/until.ts';
import { log } from '../../harness/engine.ts';

let egress: EgressProxy;
let guard: ResourceGuard;
let pool: BrowserPool | undefined;
let launched: LaunchedBrowser[];
let failLaunches: number;

const launch = async () => {
  if (failLaunches > 0) {
    failLaunches -= 1;
    throw new Error('no browser today');
  }
  const browser = await launchHeadlessShell();
  launched.push(browser);
  return browser;
};

async function start(options: Partial<BrowserPoolOptions> = {}): Promise<BrowserPool> {
  return (pool = await BrowserPool.start({
    launch,
    egress,
    guard,
    ...poolDefaults,
    ...options,
  }));
}

/** Returns 2 if the page works. */
const sum = async ({ cdp }: CapturePage) =>
  (await cdp.send('Runtime.evaluate', { expression: '1 + 1', returnByValue: true })).result.value as unknown;

const running = () => launched.filter(({ browser }) => browser.isConnected()).length;
const browserOf = ({ context }: CapturePage) => context.browser();

beforeAll(async () => {
  egress = await startLocalEgress();
  guard = startUnlimitedGuard();
});

afterAll(async () => {
  guard.close();
  await egress.close();
});

beforeEach(() => {
  launched = [];
  failLaunches = 0;
  pool = undefined;
});

afterEach(async () => {
  await pool?.close();
  const left = launched.filter(({ browser }) => browser.isConnected());
  if (left.length > 0) throw new Error(`${left.length} browsers were left running`);
});

describe('the browser pool', () => {
  test('lends each capture a page in its own browser until it is released', async () => {
    const pages = await start({ maxBrowsers: 3 });
    const acquired = await Promise.all([pages.acquire(), pages.acquire(), pages.acquire()]);
    expect(new Set(acquired.map(browserOf)).size).toBe(3);
    expect(new Set(acquired.map(({ proxySession }) => proxySession.server)).size).toBe(3);
    let served = false;
    const waiting = pages.acquire().finally(() => (served = true));
    expect(await sum(acquired[0])).toBe(2);
    expect(served).toBe(false);
    await acquired[1].release();
    const next = await waiting;
    expect(browserOf(next)).toBe(browserOf(acquired[1]));
    expect(next.context).not.toBe(acquired[1].context);
    await Promise.all([acquired[0], acquired[2], next].map(({ release }) => release()));
    for (const { page } of acquired) expect(page.isClosed()).toBe(true);
    expect(launched).toHaveLength(3);
  });

  test('replaces browsers after their number of captures, without a gap', async () => {
    const pages = await start({ capturesPerBrowser: 2 });
    const long = await pages.acquire();
    for (let capture = 0; capture < 4; capture += 1) {
      expect(pages.state).toBe('up');
      const { release } = await pages.acquire();
      await release();
    }
    expect(launched.length).toBeGreaterThan(2);
    expect(await sum(long)).toBe(2);
    await long.release();
    await until('two new browsers', () => running() === 2);
    expect(pages.state).toBe('up');
  });

  test('replaces a lost browser, and reports the loss to its captures', async () => {
    const pages = await start();
    const acquired = await pages.acquire();
    expect(acquired.browserLost()).toBe(false);
    expect(await acquired.responds()).toBe(true);
    launched[0]?.kill();
    await until('the loss to be seen', () => acquired.browserLost());
    expect(await acquired.responds()).toBe(false);
    const next = await pages.acquire();
    expect(await sum(next)).toBe(2);
    await Promise.all([acquired.release(), next.release()]);
    await until('another one in its place', () => launched.length === 3 && running() === 2);
    // An idle browser is replaced, too.
    launched[1]?.kill();
    await until('another one in its place', () => launched.length === 4 && running() === 2);
    expect(pages.state).toBe('up');
  });

  test('retries when a browser does not start, and reports its state', async () => {
    const pages = await start({ maxBrowsers: 1 });
    failLaunches = 2;
    launched[0]?.kill();
    await until('the state to be down', () => pages.state === 'down');
    await until('the state to be up again', () => pages.state === 'up');
    const { release } = await pages.acquire();
    await release();
  });

  test('replaces a browser in which a capture timed out', async () => {
    const pages = await start({ maxBrowsers: 1 });
    const { release } = await pages.acquire();
    await release({ timedOut: true });
    const next = await pages.acquire();
    expect(launched.map(({ browser }) => browser.isConnected())).toEqual([false, true]);
    await next.release();
  });

  test('does not start without a browser', async () => {
    failLaunches = 1;
    await expect(start()).rejects.toThrow('no browser today');
  });

  test('lends no page after it is closed', async () => {
    const pages = await start({ maxBrowsers: 1 });
    await pages.close();
    await expect(pages.acquire()).rejects.toBeInstanceOf(BrowserLostError);
    expect(pages.state).toBe('down');
  });
});

describe('browsers on demand', () => {
  const onDemand = (options: Partial<BrowserPoolOptions> = {}) =>
    (pool = new BrowserPool({
      launch,
      egress,
      guard,
      log,
      livenessTimeoutMs: 15_000,
      setup: { contextOptions: {}, initScripts: [] },
      maxBrowsers: 3,
      isWarm: false,
      capturesPerBrowser: 100,
      idleTimeoutMs: 60_000,
      ...options,
    }));

  test('start with their capture, serve the next, and end when idle', async () => {
    const browsers = onDemand({ idleTimeoutMs: 100 });
    expect(launched).toHaveLength(0);
    const acquired = await Promise.all([browsers.acquire(), browsers.acquire()]);
    expect(launched).toHaveLength(2);
    expect(browserOf(acquired[0])).not.toBe(browserOf(acquired[1]));
    await acquired[0].release();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(acquired[1].browserLost()).toBe(false);
    await acquired[1].release();
    await until('the browsers to end', () => running() === 0);
    const again = await browsers.acquire();
    expect(launched).toHaveLength(3);
    await again.release();
  });

  test('are replaced after their number of captures, and when they are lost', async () => {
    const browsers = onDemand({ capturesPerBrowser: 2 });
    for (let capture = 0; capture < 3; capture += 1) await (await browsers.acquire()).release();
    expect(launched).toHaveLength(2);
    const lost = await browsers.acquire();
    launched[1]?.kill();
    await until('the loss to be seen', () => lost.browserLost());
    await lost.release();
    await (await browsers.acquire()).release();
    expect(launched).toHaveLength(3);
  });

  test('that do not start fail only their own capture', async () => {
    const browsers = onDemand();
    failLaunches = 1;
    await expect(browsers.acquire()).rejects.toBeInstanceOf(BrowserLostError);
    await (await browsers.acquire()).release();
  });

  test('close an idle spare soon, and do not lend a dead one', async () => {
    const browsers = onDemand({ idleTimeoutMs: 200 });
    await (await browsers.acquire({ own: true })).release();
    await until('the spare one', () => launched.length === 2);
    await until('the spare one to end', () => running() === 0);
    await browsers.close();
    // This spare is kept long enough to be killed.
    const patient = onDemand();
    await (await patient.acquire({ own: true })).release();
    await until('another spare one', () => launched[3]?.browser.contexts()[0]?.pages().length === 1);
    launched[3]?.kill();
    await until('its end', () => launched[3]?.browser.isConnected() === false);
    const acquired = await patient.acquire({ own: true });
    expect(await sum(acquired)).toBe(2);
    const taking = patient.acquire({ own: true }).catch((error: unknown) => error);
    await patient.close();
    expect(await taking).toBeInstanceOf(BrowserLostError);
    expect(running()).toBe(0);
  });
});

describe('a browser for only one capture', () => {
  test.each([true, false])('ends with it; the next one starts before it is needed (kept warm: %s)', async (isWarm) => {
    const browsers = await start({ isWarm, maxBrowsers: 3 });
    const acquired = await Promise.all([browsers.acquire({ own: true }), browsers.acquire({ own: true })]);
    const [first, second] = acquired.map(browserOf);
    expect(first).not.toBe(second);
    const before = launched.length;
    await acquired[0].release();
    await until('it to end', () => first?.isConnected() === false);
    expect(second?.isConnected()).toBe(true);
    await until('a spare one', () => launched.length === before + 1 && running() >= 2);
    const next = await browsers.acquire({ own: true });
    expect([first, second]).not.toContain(browserOf(next));
    await Promise.all([next.release(), acquired[1].release()]);
  });

  test('has not served another capture before', async () => {
    const browsers = await start({ maxBrowsers: 1 });
    const shared = await browsers.acquire();
    await shared.release();
    const own = await browsers.acquire({ own: true });
    expect(browserOf(own)).not.toBe(browserOf(shared));
    expect(browserOf(shared)?.isConnected()).toBe(false);
    await own.release();
    const next = await browsers.acquire();
    expect(browserOf(next)).not.toBe(browserOf(own));
    await next.release();
  });
});
