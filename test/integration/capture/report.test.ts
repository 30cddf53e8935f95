import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isBlank } from '../../../services/renderer/page/screenshot.ts';
import { html, sharedEngine, type TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;

beforeAll(async () => {
  engine = await sharedEngine();
  site = await TestSite.start({
    '/title': `<title>  A   title é 漢 😀 </title>`,
    '/redirect': ({ url }, response) =>
      void response.writeHead(302, { location: decodeURIComponent(url?.split('?')[1] ?? '') }).end(),
    '/script': html('<script>location.replace(decodeURIComponent(location.search.slice(1)))</script>'),
    '/push': html('<script>history.pushState(null, "", "/pushed")</script>'),
    '/private-images': html('<img src="http://10.1.2.3/a.png"><img src="http://10.1.2.3/b.png">'),
  });
});

afterAll(() => site.close());

describe('the report contains', () => {
  test('the fragment of the address', async () => {
    const fragment = await engine.render(site.url('/title#part'));
    expect(fragment.report.finalUrl).toBe(site.url('/title#part'));
  });

  test.each(['redirect', 'script'])('no password of an address that a page opened by %s', async (by) => {
    const target = site.url('/title').replace('//', '//user:hunter2@');
    const { report } = await engine.render(`${site.url(`/${by}`)}?${encodeURIComponent(target)}`);
    expect(report.finalUrl).toBe(site.url('/title'));
    const [responseUrl = ''] = report.responseUrl?.split('?') ?? [];
    expect(responseUrl).toBe(site.url(by === 'redirect' ? '/title' : '/script'));
  });

  test('the address of the response, also if a script changes that of the page', async () => {
    const { report } = await engine.render(site.url('/push'));
    expect(report).toMatchObject({ responseUrl: site.url('/push'), finalUrl: site.url('/pushed') });
  });

  test('the number of requests that the egress policy blocked', async () => {
    const { report } = await engine.render(site.url('/private-images'));
    expect(report.blockedRequests).toBeGreaterThanOrEqual(2);
    expect(report.images.failed).toBe(2);
  });

  test('its times', async () => {
    const { timings } = (await engine.render(site.url('/title'), { delay: 100 })).report;
    expect(timings.navigateMs).toBeGreaterThan(0);
    expect(timings.settleMs).toBeGreaterThanOrEqual(99);
    expect(timings.shootMs).toBeGreaterThan(0);
  });
});

describe('blank', () => {
  test('a picture with one pixel of another color is not blank', async () => {
    const canvas = { width: 2000, height: 2000, channels: 3, background: '#ffffff' } as const;
    const dot = await sharp({ create: { width: 1, height: 1, channels: 3, background: '#000000' } })
      .png()
      .toBuffer();
    const empty = await sharp({ create: canvas }).png().toBuffer();
    const dotted = await sharp({ create: canvas })
      .composite([{ input: dot, left: 1234, top: 1777 }])
      .png()
      .toBuffer();
    expect(await isBlank({ bytes: empty, width: 2000, height: 2000 }, { format: 'png', quality: 80 })).toBe(true);
    expect(await isBlank({ bytes: dotted, width: 2000, height: 2000 }, { format: 'png', quality: 80 })).toBe(false);
  });
});
