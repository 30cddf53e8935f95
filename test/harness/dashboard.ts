import AxeBuilder from '@axe-core/playwright';
import { type BrowserContext, chromium, type Page } from 'playwright';
import { afterEach, expect, inject } from 'vitest';
import type { Fleet } from './fleet.ts';
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

/** A dashboard in a browser, and what went wrong in it. */
export interface OpenedDashboard {
  readonly page: Page;
  /** Errors of scripts, refusals of the content security policy, and dialogs that a page has opened. */
  readonly troubles: readonly string[];
}

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

/** Gives the tests of a file the dashboard of their fleet, each in a browser window of its own until the test ends. */
export function useDashboard(fleet: () => Fleet): (options?: OpenOptions) => Promise<OpenedDashboard> {
  let contexts: BrowserContext[] = [];
  // Pages follow events, of which a key has few streams.
  afterEach(async () => {
    const all = contexts;
    contexts = [];
    await Promise.all(all.map((context) => context.close()));
  });
  return async ({ key, adminToken, route = '', isPhone = false, base = fleet().url } = {}) => {
    const browser = await sharedBrowser();
    const context = await browser.newContext({
      viewport: isPhone ? { width: 390, height: 844 } : { width: 1280, height: 800 },
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    contexts.push(context);
    context.setDefaultTimeout(deadlineMs);
    const page = await context.newPage();
    const troubles: string[] = [];
    page.on('pageerror', (error) => troubles.push(String(error)));
    page.on('dialog', (dialog) => {
      troubles.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      // An answer of the API that is an error is one for the page to tell.
      const isAnswer = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isAnswer) troubles.push(message.text());
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
    return { page, troubles };
  };
}

/** What axe calls serious or critical on the page as it stands. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page })
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
