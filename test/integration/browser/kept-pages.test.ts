// @module-tag long
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BrowserPool, type BrowserPoolOptions } from '../../../services/renderer/browser/browser-pool.ts';
import type { CapturePage } from '../../../services/renderer/browser/page.ts';
import type { WipeOutcome } from '../../../services/renderer/browser/page-wipe.ts';
import type { ResourceGuard } from '../../../services/renderer/browser/resource-guard.ts';
import type { EgressProxy } from '../../../services/renderer/egress/proxy.ts';
import {
  launchHeadlessShell,
  poolDefaults,
  startLocalEgress,
  startUnlimitedGuard,
} from '../../harness/browser-pool.ts';
import { html, TestSite } from '../../harness/engine.ts';
import { until } from '../../harness/until.ts';

let site: TestSite;
let egress: EgressProxy;
let guard: ResourceGuard;
let pool: BrowserPool;
let wipes: WipeOutcome[];
let reused: number;
let launches: number;

async function start(options: Partial<BrowserPoolOptions> = {}): Promise<void> {
  pool = await BrowserPool.start({
    launch: () => {
      launches += 1;
      return launchHeadlessShell();
    },
    egress,
    guard,
    ...poolDefaults,
    keptPages: { giveWayMs: 60_000, checkIntervalMs: 20 },
    onWipe: (outcome) => void wipes.push(outcome),
    onPageReused: () => void (reused += 1),
    ...options,
  });
  // All browsers are up, and have a fresh page.
  const { maxBrowsers = 2 } = options;
  const pages = await Promise.all(Array.from({ length: maxBrowsers - 1 }, () => pool.acquire()));
  await until('the last one', () => launches === maxBrowsers);
  const last = maxBrowsers > 1 ? [await pool.acquire()] : [];
  await Promise.all([...pages, ...last].map(({ release }) => release()));
}

/** Runs a capture of an account, or a capture that allows no reuse of its page. */
async function capture(reuseFor?: string, end = { timedOut: false, hasCompleted: true }): Promise<CapturePage> {
  const page = await pool.acquire({ reuseFor });
  await page.page.goto(site.url());
  await page.release(end);
  return page;
}

beforeAll(async () => {
  site = await TestSite.start({ '/': html('text') });
  egress = await startLocalEgress();
  guard = startUnlimitedGuard();
});

beforeEach(() => {
  wipes = [];
  reused = launches = 0;
});

afterEach(() => pool.close());

afterAll(async () => {
  guard.close();
  await egress.close();
  await site.close();
});

describe('a page kept for an account', () => {
  test('serves its next capture, with new counters; other accounts get a fresh page', async () => {
    await start();
    const first = await capture('a');
    expect(first.proxySession.stats().connections).toBe(1);
    const second = await pool.acquire({ reuseFor: 'a' });
    expect(second.page).toBe(first.page);
    expect(second.cdp).not.toBe(first.cdp);
    expect(second.proxySession.stats()).toMatchObject({ connections: 0, openConnections: 0, bytesReceived: 0 });
    await second.page.goto(site.url());
    expect(second.proxySession.stats().connections).toBe(1);
    await second.release({ timedOut: false, hasCompleted: true });
    for (const account of [undefined, 'b']) {
      const other = await pool.acquire({ reuseFor: account });
      expect(other.page).not.toBe(first.page);
      await other.release();
    }
    const third = await pool.acquire({ reuseFor: 'a' });
    expect(third.page).toBe(first.page);
    await third.release();
    expect(third.page.isClosed()).toBe(true);
    expect([wipes, reused]).toEqual([['wiped', 'wiped'], 2]);
  });

  test('is closed with its context if another account needs a page', async () => {
    await start({ maxBrowsers: 1 });
    const first = await capture('a');
    const other = await pool.acquire({ reuseFor: 'b' });
    expect(first.page.isClosed()).toBe(true);
    expect(other.context).not.toBe(first.context);
    expect(other.context.browser()).toBe(first.context.browser());
    await other.release();
    expect(reused).toBe(0);
  });

  test.each([
    ['there is no fresh page for others', { giveWayMs: 0 }],
    ['it was not used for long', { idleTimeoutMs: 0, giveWayMs: 60_000 }],
  ])('is closed when %s', async (_, keptPages) => {
    await start({ maxBrowsers: 1, keptPages: { ...keptPages, checkIntervalMs: 20 } });
    const { page } = await capture('a');
    await until('its end', () => page.isClosed());
    const next = await pool.acquire({ reuseFor: 'a' });
    expect(next.page).not.toBe(page);
    await next.release();
  });

  test('is kept while there is a fresh page', async () => {
    await start({ keptPages: { giveWayMs: 0, checkIntervalMs: 1 } });
    const { page } = await capture('a');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(page.isClosed()).toBe(false);
  });

  test('serves a limited number of captures, as does its browser', async () => {
    await start({ maxBrowsers: 1, keptPages: { maxCaptures: 2 } });
    const pages = new Set<unknown>();
    for (let count = 0; count < 4; count += 1) pages.add((await capture('a')).page);
    expect([pages.size, reused]).toEqual([2, 2]);
    await pool.close();
    launches = 0;
    await start({ maxBrowsers: 1, capturesPerBrowser: 2 });
    for (let count = 0; count < 3; count += 1) await capture('a');
    expect(launches).toBe(2);
  });

  test('must have completed its capture in time', async () => {
    await start();
    for (const end of [
      { timedOut: false, hasCompleted: false },
      { timedOut: true, hasCompleted: true },
    ]) {
      const { page } = await capture('a', end);
      await until('its end', () => page.isClosed());
    }
    expect(wipes).toEqual([]);
  });
});
