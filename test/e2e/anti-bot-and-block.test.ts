import { describe, expect, test } from 'vitest';
import type { BrowserFacts } from '../harness/site/pages/network-pages.ts';
import type { Visit } from '../harness/site/site.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

describe('antiBot', () => {
  test('leaves no sign of automation in the page', async () => {
    const page = site().visit('/facts');
    const { data, picture } = await fleet().api.picture({ url: page.url, antiBot: true });
    expect(picture.share('#00ff00')).toBe(1);
    expect(data.tokenCost).toBe(2);
    const facts = await page.facts<BrowserFacts>();
    expect(facts.webdriver).toBe(false);
    expect(facts.userAgent).toMatch(/Chrome\/\d+/);
    expect(facts.userAgent).not.toMatch(/headless/i);
    expect(facts.brands.join()).not.toMatch(/headless/i);
    expect(facts.hasChrome).toBe(true);
    expect(facts.plugins).toBeGreaterThan(0);
    expect(facts.languages.length).toBeGreaterThan(0);
    expect(facts.automation).toEqual([]);
    // The page and the site see the same values.
    const [seen] = page.seen('/facts');
    expect(seen?.headers['user-agent']).toBe(facts.userAgent);
    expect(seen?.headers['sec-ch-ua'] ?? '').not.toMatch(/headless/i);
    expect(seen?.headers['accept-language']).toBeDefined();
  });

  test('works with every other option', { tags: 'long' }, async () => {
    const { api } = fleet();
    const viewport = { width: 500, height: 400, deviceScaleFactor: 2 };
    const dark = await api.picture({ url: site().url('/scheme'), antiBot: true, colorScheme: 'dark', viewport });
    expect(dark.picture.size).toBe('1000x800');
    expect(dark.picture.share('#101010')).toBe(1);
    const tall = await api.picture({
      url: site().url('/tall', { h: 3000 }),
      antiBot: true,
      isFullPage: true,
      format: 'webp',
    });
    expect(tall.picture.size).toBe('1280x3000');
    const { pdf } = await api.pdf({ url: site().url('/text', { text: 'on paper' }), antiBot: true });
    expect(pdf.text).toContain('on paper');
    const html = await api.picture({ html: '<body style="background:#00ff00">', antiBot: true });
    expect(html.picture.share('#00ff00')).toBe(1);
  });
});

describe('block', () => {
  test('media: pictures are requested, audio and video are not', async () => {
    const media = site().visit('/media');
    const { data, picture } = await fleet().api.picture({ url: media.url, delay: 300, block: { media: true } });
    expect(media.seen('/asset/media')).toEqual([]);
    expect(media.seen('/asset/image')).toHaveLength(1);
    expect(picture.at(1000, 600)).toBe('#00ff00');
    expect(data.report.blockedRequests).toBeGreaterThan(0);
  });

  describe('requests to hosts in filter lists', () => {
    // Like advertising, these requests go to another host than that of the page.
    const advertising = () => site().visit('/advertising', { from: `http://ads.localhost:${site().port}` });
    const ads = ['/pagead/js/adsbygoogle.js', '/test-banner.png'];
    const trackers = ['/google-analytics.com/analytics.js', '/test-counter.png'];
    const asked = (page: Visit) => [...ads, ...trackers, '/asset/image'].filter((path) => page.seen(path).length > 0);

    test('are sent if nothing is blocked', { tags: 'long' }, async () => {
      const page = advertising();
      const { picture } = await fleet().api.picture({ url: page.url });
      expect(asked(page)).toEqual([...ads, ...trackers, '/asset/image']);
      expect([picture.at(1000, 600), picture.at(50, 350)]).toEqual(['#ff0000', '#0000ff']);
    });

    test('ads: the requests are not sent, and their places are empty', async () => {
      const page = advertising();
      const { data, picture } = await fleet().api.picture({ url: page.url, block: { ads: true } });
      expect(asked(page)).toEqual(expect.arrayContaining(['/test-counter.png', '/asset/image']));
      for (const path of ads) expect(page.seen(path)).toEqual([]);
      expect([picture.at(1000, 600), picture.at(50, 350)]).toEqual(['#00ff00', '#00ff00']);
      expect(data.report.blockedRequests).toBeGreaterThanOrEqual(2);
    });
  });

  test('cookieBanners: the banner is removed, and the page is visible', { tags: 'long' }, async () => {
    const url = site().url('/consent');
    const before = await fleet().api.picture({ url });
    expect(before.picture.at(640, 700)).toBe('#ff0000');
    const after = await fleet().api.picture({ url, block: { cookieBanners: true } });
    expect(after.picture.share('#00ff00')).toBeGreaterThan(0.99);
  });

  test('all of them together, with antiBot', { tags: 'long' }, async () => {
    const page = site().visit('/media');
    const block = { ads: true, trackers: true, media: true, cookieBanners: true };
    const { picture } = await fleet().api.picture({ url: page.url, antiBot: true, block });
    expect(picture.at(1000, 600)).toBe('#00ff00');
    expect(page.seen('/asset/media')).toEqual([]);
  });
});
