import type { Browser } from 'playwright';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import type { Blocker } from '../../../services/renderer/blocking/blocker.ts';
import { builtInBlocker, fullChromium, headlessShell, launch, openBlocked, startBlocking } from './support/browser.ts';
import { startSite, type Site, type SitePages } from './support/site.ts';

const ads = 'pagead.doubleclick.net';

const pages: SitePages = {
  'www.site.test/ads': `<!doctype html><script src="http://${ads}:$PORT/ad.js"></script><script src="/own.js"></script>
    <img src="http://${ads}:$PORT/ad.png" width="100" height="100"><img src="/own.png">
    <iframe src="http://${ads}:$PORT/frame" width="300" height="150"></iframe>`,
  'www.site.test/media': `<!doctype html><style>@font-face { font-family: x; src: url(/own.woff2) } p { font-family: x }</style><p>Text</p>
    <video src="/film.mp4" poster="/poster.png" autoplay muted></video><video autoplay muted><source src="/second.webm"></video><audio src="/sound.mp3" autoplay></audio>
    <img src="/own.png"><script>fetch('/list.m3u8'); fetch('/segment').catch(() => {}); fetch('/data')</script>`,
  'www.site.test/segment': (_request, response) => {
    response.setHeader('content-type', 'video/mp2t');
    response.end('x');
  },
  'www.site.test/nested': `<!doctype html><iframe src="http://www.other.test:$PORT/outer"></iframe>
    <script>new Worker('/worker.js')</script><img src="/away">`,
  'www.other.test/outer': `<!doctype html><img src="http://${ads}:$PORT/in-frame.png"><iframe src="http://www.third.test:$PORT/inner"></iframe>`,
  'www.third.test/inner': `<!doctype html><img src="http://${ads}:$PORT/in-inner-frame.png"><img src="/own.png">`,
  'www.site.test/worker.js': (request, response) => {
    response.setHeader('content-type', 'text/javascript');
    response.end(`fetch('http://${ads}:${request.socket.localPort}/in-worker'); fetch('/own-in-worker')`);
  },
  'www.site.test/away': (request, response) => {
    response.writeHead(302, { location: `http://${ads}:${request.socket.localPort}/redirected.png` }).end();
  },
  [`${ads}/`]: `<!doctype html><h1>The company itself</h1><img src="/logo.png">`,
  'www.site.test/preflight': `<!doctype html><script>
    fetch('http://api.other.test:$PORT/data', { headers: { 'x-a': '1' } }).then((r) => document.title = r.status, () => document.title = 'failed')</script>`,
  'api.other.test/data': (_request, response) => {
    response.setHeader('access-control-allow-headers', 'x-a');
    response.end('{}');
  },
};

describe.each([
  ['the headless shell', headlessShell],
  ['the full browser', fullChromium],
])('requests in %s', (_, executablePath) => {
  let browser: Browser;
  let blocker: Blocker;
  let site: Site;

  beforeAll(async () => {
    site = await startSite(pages);
    [browser, blocker] = await Promise.all([launch(executablePath), builtInBlocker()]);
  });

  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  beforeEach(() => {
    site.requests.length = 0;
  });

  const arrived = (host: string) => site.requests.filter((name) => name.startsWith(`${host}/`));

  it('of advertising are blocked and counted, and leave no visible elements', async () => {
    const { page, session } = await openBlocked(browser, blocker, site.url('www.site.test/ads'), { ads: true });
    expect(arrived(ads)).toEqual([]);
    expect(arrived('www.site.test')).toEqual(expect.arrayContaining(['www.site.test/own.js', 'www.site.test/own.png']));
    expect(session.blockedRequests()).toBe(3);
    expect(await page.locator('iframe').isVisible()).toBe(false);
    expect(await page.locator('img').first().isVisible()).toBe(false);
    expect(await page.locator('img').last().isVisible()).toBe(true);
    await page.context().close();
  });

  it('for audio and video are blocked, but not those for images and fonts', async () => {
    const { page, session } = await openBlocked(browser, blocker, site.url('www.site.test/media'), { media: true });
    await expect.poll(() => session.blockedRequests()).toBe(5);
    expect(site.requests.filter((name) => /mp4|webm|mp3|m3u8/.test(name))).toEqual([]);
    for (const file of ['own.png', 'poster.png', 'own.woff2', 'data'])
      await expect.poll(() => site.requests).toContain(`www.site.test/${file}`);
    await page.context().close();
  });

  it('of nested frames, of workers and after redirects are blocked', async () => {
    const { page, session } = await openBlocked(browser, blocker, site.url('www.site.test/nested'), { ads: true });
    await expect.poll(() => site.requests).toContain('www.site.test/own-in-worker');
    await expect.poll(() => site.requests).toContain('www.third.test/own.png');
    await expect.poll(() => session.blockedRequests()).toBe(4);
    expect(arrived(ads)).toEqual([]);
    await page.context().close();
  });

  it('across origins have preflights', async () => {
    const { page } = await openBlocked(browser, blocker, site.url('www.site.test/preflight'), {
      ads: true,
      media: true,
    });
    await expect.poll(() => page.title()).toBe('200');
    await page.context().close();
  });

  // The following tests do not depend on how a browser assigns frames to processes.
  if (executablePath === fullChromium) return;

  it('fail with the error "blocked by client"', async () => {
    const { page } = await openBlocked(browser, blocker, site.url('www.site.test/own'), { ads: true });
    const failed = page.waitForEvent('requestfailed');
    await page.evaluate(`fetch('http://${ads}:1/x').catch(() => 0)`);
    expect((await failed).failure()?.errorText).toContain('ERR_BLOCKED_BY_CLIENT');
    await page.context().close();
  });

  it('for the page itself are never blocked', async () => {
    const { page, session } = await openBlocked(browser, blocker, site.url(`${ads}/`), {
      ads: true,
      trackers: true,
      media: true,
      cookieBanners: true,
    });
    expect(await page.textContent('h1')).toBe('The company itself');
    expect(arrived(ads)).toContain(`${ads}/logo.png`);
    expect(session.blockedRequests()).toBe(0);
    await page.context().close();
  });

  it('are blocked in pages that a route of Playwright serves', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    // The browser blocks loopback for such a page, so that only the error shows whether a request was allowed.
    const failures = new Map<string, string | undefined>();
    page.on('requestfailed', (request) => failures.set(request.url(), request.failure()?.errorText));
    const [advert, own] = [site.url(`${ads}/ad.png`), site.url('www.site.test/own.png')];
    const body = `<!doctype html><img src="${advert}"><img src="${own}">`;
    await page.route('http://supplied.invalid/**', (route) => route.fulfill({ body, contentType: 'text/html' }));
    const block = { ...blockNothing, ads: true };
    const session = await startBlocking(page, block, blocker);
    await page.goto('http://supplied.invalid/');
    await expect.poll(() => failures.size).toBe(2);
    expect(failures.get(advert)).toContain('BLOCKED_BY_CLIENT');
    expect(failures.get(own)).not.toContain('BLOCKED_BY_CLIENT');
    expect(session.blockedRequests()).toBe(1);
    await context.close();
  });
});
