import AxeBuilder from '@axe-core/playwright';
import { type BrowserContext, chromium, type Page } from 'playwright';
import { afterEach, expect, inject } from 'vitest';
import { workerWide } from './worker-wide.ts';

export interface OpenOptions {
  /** Signed in with it. */
  readonly key?: string;
  /** Signed in with it as the operator. */
  readonly adminToken?: string;
  /** Such as #/captures. */
  readonly route?: string;
  readonly isPhone?: boolean;
  /** Another address than that of the first front. */
  readonly base?: string;
}

const phone = { width: 390, height: 844 };

/** For what never comes: on a busy machine all else may take long. */
const deadlineMs = 150_000;

/** Nothing of one context reaches another, so that files can share it. */
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
 * Gives the tests of a file the dashboard of a service, each in a browser window of its own until the test ends. A test fails if
 * one of its pages has errors of scripts, refusals of the content security policy, or dialogs.
 */
export function useDashboard(service: () => { readonly url: string }): (options?: OpenOptions) => Promise<Page> {
  let contexts: BrowserContext[] = [];
  let troubles: string[] = [];
  // Pages follow events, of which a key has few streams.
  afterEach(async () => {
    const found = troubles;
    const all = contexts;
    troubles = [];
    contexts = [];
    await Promise.all(all.map((context) => context.close()));
    expect(found, 'troubles of the dashboard').toEqual([]);
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
    // Those of a page that is closed with its test are of no other test.
    const ofTest = troubles;
    page.on('pageerror', (error) => ofTest.push(String(error)));
    page.on('dialog', (dialog) => {
      ofTest.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      // An answer of the API that is an error is one for the page to tell.
      const isAnswer = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isAnswer) ofTest.push(message.text());
    });
    await page.addInitScript(
      (secrets) => {
        // At the first page only: signing out is signing out.
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

/** Keeps the requests of a page to these addresses without an answer until the function that it resolves to is called. */
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

/** Expects a page to be accessible, and as wide as the window, in light, in dark, and on a phone. */
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

/** Expects nothing on the page, as it stands, that axe calls serious or critical. */
export async function expectAccessible(page: Page): Promise<void> {
  // To load axe costs more than to run it.
  const isLoaded = await page.evaluate(() => 'axe' in globalThis);
  const { violations } = await new AxeBuilder({ page, ...(isLoaded && { axeSource: 'void 0' }) })
    // The dashboard has no frames, whose results another page would have to put together.
    .setLegacyMode()
    // Nobody reads of the elements that pass, which axe would describe one by one.
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
