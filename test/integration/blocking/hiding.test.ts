import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Blocker } from '../../../services/renderer/blocking/blocker.ts';
import { compileEngine } from '../../../services/renderer/blocking/filter-engine.ts';
import { builtInBlocker, headlessShell, launch, openBlocked } from './support/browser.ts';
import { startSite, type Site } from './support/site.ts';

const list = `##.generic-ad
###box-ad
##a[href^="http://sponsor.test/"]
www.site.test##.site-ad
www.elsewhere.test##.other-ad
www.site.test#@#.allowed-ad
##.allowed-ad
www.site.test##:nonsense(((
www.site.test##.next-to-nonsense
www.site.test##.styled:style(height: 7px !important)
##.shown-by-force
`;

const body = `<div class="generic-ad">a</div><div id="box-ad">a</div><a href="http://sponsor.test/x">a</a>
  <div class="site-ad">a</div><div class="other-ad">a</div><div class="allowed-ad">a</div><div class="next-to-nonsense">a</div>
  <div class="styled">a</div><div class="shown-by-force" style="display: block !important">a</div>`;

/** Returns the selectors whose element is visible. */
async function shownOf(page: Page, selectors: readonly string[]): Promise<string[]> {
  const states = await Promise.all(selectors.map((selector) => page.locator(selector).isVisible()));
  return selectors.filter((_selector, index) => states[index]);
}

describe('hiding', () => {
  let browser: Browser;
  let blocker: Blocker;
  let site: Site;

  beforeAll(async () => {
    site = await startSite({
      'www.site.test/': `<!doctype html>${body}`,
      'www.site.test/strict': (_request, response) => {
        response.setHeader('content-type', 'text/html');
        response.setHeader('content-security-policy', "default-src 'none'");
        response.end(`<!doctype html>${body}`);
      },
      'www.site.test/frames': `<!doctype html><iframe src="/"></iframe>`,
    });
    const builtIn = await builtInBlocker();
    blocker = { ...builtIn, engines: { ...builtIn.engines, ads: compileEngine(list).engine } };
    browser = await launch(headlessShell);
  });

  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  const visible = ['.other-ad', '.allowed-ad', '.styled'];
  const hidden = ['.generic-ad', '#box-ad', 'a', '.site-ad', '.next-to-nonsense', '.shown-by-force'];

  it.each(['', 'strict'])('follows the lists by class, id, link and site (/%s)', async (path) => {
    const { page } = await openBlocked(browser, blocker, site.url(`www.site.test/${path}`), { ads: true });
    expect(await shownOf(page, [...visible, ...hidden])).toEqual(visible);
    expect(await page.locator('.styled').evaluate((element) => element.clientHeight)).toBe(7);
    await page.context().close();
  });

  it('applies to frames', async () => {
    const { page } = await openBlocked(browser, blocker, site.url('www.site.test/frames'), { ads: true });
    const frame = page.frameLocator('iframe');
    expect(await frame.locator('.generic-ad').isVisible()).toBe(false);
    expect(await frame.locator('.other-ad').isVisible()).toBe(true);
    await page.context().close();
  });

  it('includes new elements when repeated', async () => {
    const { page, session } = await openBlocked(browser, blocker, site.url('www.site.test/own'), { ads: true });
    await page.setContent(body);
    await session.hideBlockedLeftovers(Date.now() + 5000);
    expect(await page.locator('.generic-ad').isVisible()).toBe(false);
    await page.context().close();
  });

  it('hides nothing without the option', async () => {
    const { page } = await openBlocked(browser, blocker, site.url('www.site.test/'), { trackers: true, media: true });
    expect(await shownOf(page, [...visible, ...hidden])).toEqual([...visible, ...hidden]);
    await page.context().close();
  });

  it('ends without an error if the page is closed', async () => {
    const { page, session } = await openBlocked(browser, blocker, site.url('www.site.test/'), { ads: true });
    await page.close();
    await expect(session.hideBlockedLeftovers(Date.now() + 1000)).resolves.toBe(undefined);
    await page.context().close();
  });
});
