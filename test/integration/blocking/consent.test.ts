// @module-tag long
import type { Browser } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import type { Blocker } from '../../../services/renderer/blocking/blocker.ts';
import { timeOf } from '../../harness/time-of.ts';
import { builtInBlocker, fullChromium, headlessShell, launch, openBlocked, startBlocking } from './support/browser.ts';
import { consentFrame, consentPages, onetrustScript, plainPage } from './support/consent-pages.ts';
import { startSite, type Site } from './support/site.ts';

type PageName = keyof typeof consentPages;

const names = Object.keys(consentPages) as PageName[];
const pageOf = (name: string) => `www.site.test/${name}`;

/** A strict policy that forbids the page's own inline styles and connections, and allows its frames. */
const strictPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'none'; frame-src *; img-src *";

/** The full browser runs frames of other sites in separate processes. */
const tried = [
  ['the headless shell', headlessShell, names],
  ['the full browser', fullChromium, ['onetrust', 'framed']],
] as const;

describe.each(tried)('consent dialogs in %s', (_, executablePath, dialogs) => {
  let browser: Browser;
  let blocker: Blocker;
  let site: Site;

  beforeAll(async () => {
    site = await startSite({
      ...Object.fromEntries(names.map((name) => [pageOf(name), consentPages[name]])),
      [pageOf('plain')]: plainPage,
      'cdn.consent-frame.test/index.html': consentFrame,
      [pageOf('strict')]: (_request, response) => {
        response.setHeader('content-type', 'text/html');
        response.setHeader('content-security-policy', strictPolicy);
        response.end('<!doctype html><h1>A page</h1><div class="cookie-banner">We use cookies.</div>');
      },
      // The site serves the script of the manager itself, and the dialog opens some time after the page has loaded.
      [pageOf('late')]: plainPage.replace('</body>', '<script src="/assets/consent-manager.js"></script></body>'),
      'www.site.test/assets/consent-manager.js': (_request, response) => {
        response.setHeader('content-type', 'text/javascript');
        response.end(`addEventListener('load', () => setTimeout(() => { ${onetrustScript} }, 400))`);
      },
      [pageOf('after')]: plainPage.replace(
        '</body>',
        `<script>window.show = () => document.body.insertAdjacentHTML('beforeend',
          '<div id="onetrust-banner-sdk" style="position: fixed; inset: 0; display: block !important">cookies</div>')</script></body>`,
      ),
      [pageOf('reloads')]: consentPages.onetrust
        .replaceAll(/window\.answer = what;/g, 'window.answer = what; sessionStorage.answer = what; location.reload();')
        .replace(
          'lock(true);',
          'window.answer = sessionStorage.answer; if (sessionStorage.answer) throw 0; lock(true);',
        ),
      [pageOf('busy')]: consentPages.homemade.replace(
        '</body>',
        '<script>onload = () => setTimeout(() => { for (;;); }, 1)</script></body>',
      ),
      [pageOf('shell')]: `<!doctype html><body><div id="app" style="position: fixed; inset: 0; overflow: auto">
        <h1>Sign in</h1><p>By signing in you accept our cookie policy.</p><button>Agree and continue</button></div></body>`,
      [pageOf('recipes')]: `<!doctype html><body style="overflow: hidden; height: 100vh; margin: 0">
        <header style="position: fixed; top: 0; left: 0; right: 0"><nav><a href="/">Accept</a> <a href="/c">Cookies</a></nav></header>
        <div id="cart" style="position: fixed; right: 0; bottom: 0; width: 300px; height: 200px">3 cookies in your basket <button>Go to checkout</button></div>
        <div role="dialog" id="login" style="position: fixed; top: 100px">Sign in <button>OK</button></div></body>`,
    });
    [browser, blocker] = await Promise.all([launch(executablePath), builtInBlocker()]);
  });

  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  /** Network rules do not match these host names, so that the dialogs appear. */
  const open = (name: string, cookieBanners = true) =>
    openBlocked(browser, blocker, site.url(pageOf(name)), { cookieBanners });

  it.each(dialogs)('are rejected (%s)', async (name) => {
    const { page } = await open(name);
    expect(await page.evaluate('window.answer')).toBe(name === 'homemade' ? undefined : 'rejected');
    await page.context().close();
  });

  if (executablePath === fullChromium) return;

  it('are waited for if a consent manager is present', async () => {
    const { page } = await open('late');
    expect(await page.evaluate('window.answer')).toBe('rejected');
    await page.context().close();
  });

  it('are hidden if they appear after the wait', async () => {
    const { page, session } = await open('after');
    await page.evaluate('show()');
    await session.hideBlockedLeftovers(Date.now() + 10_000);
    expect(await page.locator('#onetrust-banner-sdk').isVisible()).toBe(false);
    await page.context().close();
  });

  it('may reload the page after the answer', async () => {
    const { page } = await open('reloads');
    expect(await page.locator('#onetrust-banner-sdk').count()).toBe(0);
    expect(await page.evaluate('window.answer')).toBe('rejected');
    await page.context().close();
  });

  it('are rejected in the document that the page navigates to', async () => {
    const { page, session } = await open('plain');
    await page.goto(site.url(pageOf('onetrust')));
    await session.hideBlockedLeftovers(Date.now() + 10_000);
    expect(await page.evaluate('window.answer')).toBe('rejected');
    await page.context().close();
  });

  it('are not waited for without a consent manager', async () => {
    const { page, session } = await open('plain');
    // The deadline is 10 s.
    expect(await timeOf(() => session.hideBlockedLeftovers(Date.now() + 10_000))).toBeLessThan(5000);
    await page.context().close();
  });

  it('do not delay the screenshot of an unresponsive page', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const block = { ...blockNothing, cookieBanners: true };
    const session = await startBlocking(page, block, blocker);
    await page.goto(site.url(pageOf('busy')), { waitUntil: 'commit' });
    // Without the deadline, this call would never return.
    await session.hideBlockedLeftovers(Date.now() + 1500);
    await context.close();
  });

  it('remain without the option', async () => {
    const { page } = await openBlocked(browser, blocker, site.url(pageOf('onetrust')), { ads: true, trackers: true });
    expect(await page.locator('#onetrust-banner-sdk').isVisible()).toBe(true);
    expect(await page.evaluate('window.answer')).toBe(undefined);
    await page.context().close();
  });

  it('are hidden even if a content security policy forbids styles', async () => {
    const { page } = await open('strict');
    expect(await page.locator('.cookie-banner').isVisible()).toBe(false);
    await page.context().close();
  });

  it('are not confused with other fixed elements', async () => {
    const { page } = await open('recipes');
    for (const selector of ['header', '#cart', '#login']) expect(await page.locator(selector).isVisible()).toBe(true);
    expect(await page.evaluate('getComputedStyle(document.body).overflowY')).toBe('hidden');
    await page.context().close();
  });

  it('are not confused with the page itself', async () => {
    const { page } = await open('shell');
    expect(await page.locator('#app').isVisible()).toBe(true);
    await page.context().close();
  });

  it('leave no trace in the page', async () => {
    const { page } = await open('plain');
    const seen = await page.evaluate(`[Object.keys(window).filter((key) => /consent|webcapture/i.test(key)),
      document.querySelectorAll('style').length, typeof autoconsentSendMessage]`);
    expect(seen).toEqual([[], 1, 'undefined']);
    await page.context().close();
  });
});
