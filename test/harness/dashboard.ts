import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';

/** What a dashboard is opened as. */
export interface Visitor {
  readonly key?: string;
  readonly adminToken?: string;
  readonly colorScheme?: 'light' | 'dark';
  /** As wide as a phone. */
  readonly isPhone?: boolean;
}

/** The dashboard in a real browser, for the tests of one file. */
export interface DashboardBrowser {
  /** Opens a page of it, such as `/captures`, in a context of its own that ends with the test. */
  readonly open: (url: string, route: string, visitor: Visitor) => Promise<Page>;
}

/** Gives the tests of a file one browser. What a page reports as an error, or tries against its policy, fails the test. */
export function useDashboard(): DashboardBrowser {
  let browser: Browser | undefined;
  let contexts: BrowserContext[] = [];
  let troubles: string[] = [];
  beforeAll(async () => {
    const { headlessShell, sandbox } = inject('tools');
    browser = await chromium.launch({ executablePath: headlessShell, chromiumSandbox: sandbox === 'on' });
  });
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    const found = troubles;
    contexts = [];
    troubles = [];
    if (found.length > 0) throw new Error(`the dashboard had errors:\n${found.join('\n')}`);
  });
  afterAll(() => browser?.close());
  return {
    open: async (url, route, { key, adminToken, colorScheme = 'light', isPhone = false }) => {
      const context = await browser?.newContext({
        colorScheme,
        viewport: isPhone ? { width: 390, height: 844 } : { width: 1280, height: 900 },
        locale: 'en-US',
        timezoneId: 'UTC',
      });
      if (context === undefined) throw new Error('the browser is there only while tests run');
      contexts.push(context);
      context.setDefaultTimeout(60_000);
      const secrets = { 'webcapture.key': key, 'webcapture.admin-token': adminToken };
      await context.addInitScript((given) => {
        if (location.protocol === 'about:' || sessionStorage.getItem('signed-in') !== null) return;
        sessionStorage.setItem('signed-in', 'once');
        for (const [name, secret] of Object.entries(given)) if (secret) sessionStorage.setItem(name, secret);
      }, secrets);
      const page = await context.newPage();
      page.on('pageerror', (error) => troubles.push(String(error.stack)));
      page.on('console', (message) => {
        if (/Content Security Policy/.test(message.text())) troubles.push(message.text());
      });
      page.on('dialog', (dialog) => {
        troubles.push(`a script of a captured page ran: ${dialog.message()}`);
        void dialog.dismiss();
      });
      await page.goto(`${url}/dashboard/#${route}`);
      return page;
    },
  };
}

/** What axe finds serious on a page, in words; nothing is what a test wants. */
export async function seriousProblems(page: Page): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes
          .map(({ html }) => html)
          .join(' | ')
          .slice(0, 500)}`,
    );
}

/** Whether a page is wider than its window. */
export function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
}
