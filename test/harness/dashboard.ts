import AxeBuilder from '@axe-core/playwright';
import { type BrowserContext, chromium, type Page } from 'playwright';
import { afterEach, expect, inject } from 'vitest';
import { workerWide } from './worker-wide.ts';

export interface OpenOptions {
  /** Signs in with this API key. */
  readonly key?: string;
  /** Signs in as the operator with this token. */
  readonly adminToken?: string;
  /** Fragment of the page to open, such as #/captures. */
  readonly route?: string;
  readonly isPhone?: boolean;
  /** Base URL instead of that of the first front. */
  readonly base?: string;
}

const phone = { width: 390, height: 844 };

/** Timeout that matters only for failures. On a busy machine, every step may be slow. */
const deadlineMs = 150_000;

/** Contexts are isolated from each other, so files can share the browser. */
const sharedBrowser = workerWide(
  () => {
    const { headlessShell, sandbox } = inject('tools');
    return chromium.launch({
      executablePath: headlessShell,
      chromiumSandbox: sandbox === 'on',
      timeout: deadlineMs,
    });
  },
  (browser) => browser.close(),
);

/**
 * Gives the tests of a file the dashboard of a service. Each call opens a new browser window until the test ends. A test fails if
 * one of its pages reports a script error, a violation of the content security policy, or a dialog.
 */
export function useDashboard(service: () => { readonly url: string }): (options?: OpenOptions) => Promise<Page> {
  let contexts: BrowserContext[] = [];
  let troubles: string[] = [];
  // Pages follow event streams, and a key may have only a few.
  afterEach(async () => {
    const found = troubles;
    const all = contexts;
    troubles = [];
    contexts = [];
    await Promise.all(all.map((context) => context.close()));
    expect(found, 'errors of the dashboard').toEqual([]);
  });
  return async ({ key, adminToken, route = '', isPhone = false, base = service().url } = {}) => {
    const browser = await sharedBrowser();
    const context = await browser.newContext({
      viewport: isPhone ? phone : { width: 1280, height: 800 },
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    contexts.push(context);
    context.setDefaultTimeout(deadlineMs);
    const page = await context.newPage();
    // A late error of a closed page must not count for the next test.
    const ofTest = troubles;
    page.on('pageerror', (error) => ofTest.push(String(error)));
    page.on('dialog', (dialog) => {
      ofTest.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      // The page itself reports error responses of the API.
      const isAnswer = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isAnswer) ofTest.push(message.text());
    });
    await page.addInitScript(
      (secrets) => {
        // The secrets are stored only at the first load of the page. A page that signs out therefore stays signed out.
        if (sessionStorage.getItem('signed-in-once') !== null) return;
        sessionStorage.setItem('signed-in-once', 'yes');
        for (const [name, value] of secrets) sessionStorage.setItem(name, value);
      },
      [
        ...(key === undefined ? [] : [['webcapture.key', key] as const]),
        ...(adminToken === undefined ? [] : [['webcapture.admin-token', adminToken] as const]),
      ],
    );
    await page.goto(`${base}/dashboard/${route}`);
    return page;
  };
}

/** Holds the requests of a page to these addresses. They continue when the returned function is called. */
export async function holdRequests(page: Page, addresses: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(addresses, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

/** Waits until a page follows the events of the service. */
export const untilLive = (page: Page): Promise<void> => page.getByText('Live', { exact: true }).waitFor();

/** Expects a page to be accessible, and as wide as the window, in light mode, in dark mode and on a phone. */
export async function expectAllLooks(page: Page, isThere: () => Promise<void>): Promise<void> {
  const looks = [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { colorScheme: 'light', size: phone }] as const;
  for (const { colorScheme, ...look } of looks) {
    await page.emulateMedia({ colorScheme });
    if ('size' in look) await page.setViewportSize(look.size);
    await isThere();
    await expect.poll(() => page.locator('.is-loading').count()).toBe(0);
    await expectAccessible(page);
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
  }
}

/** Expects that axe finds no serious or critical problem on the page in its current state. */
export async function expectAccessible(page: Page): Promise<void> {
  // Loading axe is slower than running it.
  const isLoaded = await page.evaluate(() => 'axe' in globalThis);
  const { violations } = await new AxeBuilder({ page, ...(isLoaded && { axeSource: 'void 0' }) })
    // The dashboard has no frames, so axe does not need another page to merge results.
    .setLegacyMode()
    // Results of elements that pass are not needed, and are slow to collect.
    .options({ resultTypes: ['violations'] })
    .analyze();
  const grave = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} ${failureSummary}`).join('; ')}`,
    );
  expect(grave).toEqual([]);
}
