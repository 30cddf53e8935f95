// @module-tag long
import { beforeAll, describe, expect, test } from 'vitest';
import type { IncomingHttpHeaders } from 'node:http';
import { html, type ShotOptions, type TestEngine, TestSite } from '../harness/engine.ts';
import { corpusEngine } from './corpus.ts';
import type { Inspection } from './probe/inspect-page.ts';
import type { SelfPortrait } from './probe/portray-self.ts';
import { startProbeSite, type Findings } from './probe/probe-site.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await corpusEngine();
});

/** Values that a captured page reads. The page is at localhost, because many of them exist only in secure contexts. */
async function lookedOver(options: ShotOptions): Promise<Findings> {
  const { site, findings } = await startProbeSite();
  try {
    const { report } = await engine.render(site.url('/', 'localhost'), options);
    expect(report.softTimeouts).toEqual([]);
    return findings();
  } finally {
    await site.close();
  }
}

describe('with antiBot a page finds', () => {
  let found: Findings;
  let page: SelfPortrait;
  let inspection: Inspection;
  let headers: IncomingHttpHeaders;

  beforeAll(async () => {
    found = await lookedOver({ antiBot: true });
    ({ page, inspection, headers } = found);
  });

  test('no bot, in any check of BotD', () => {
    expect(found.alarms).toEqual([]);
    expect(found.verdict).toEqual({ bot: false });
  });

  test('no webdriver, also in frames', () => {
    expect(inspection.webdriver).toEqual([false, false]);
    expect(inspection.ownOfNavigator).toEqual([]);
  });

  test('the user agent of its request headers', () => {
    expect(page.userAgent).toMatch(/^Mozilla\/5\.0 \(X11; Linux x86_64\) .* Chrome\/\d+\.0\.0\.0 Safari\/537\.36$/);
    expect(headers['user-agent']).toBe(page.userAgent);
    expect(JSON.stringify([headers, found])).not.toMatch(/headless/i);
    expect(inspection.vendor).toEqual(['Google Inc.', '20030107']);
  });

  test('client hints that match the user agent', () => {
    const major = /Chrome\/(\d+)/.exec(page.userAgent)?.[1] ?? '';
    expect(page.brands).toContainEqual({ brand: 'Chromium', version: major });
    expect(headers['sec-ch-ua']).toContain(`"Chromium";v="${major}"`);
    expect(headers['sec-ch-ua-platform']).toBe('"Linux"');
    expect(headers['sec-ch-ua-mobile']).toBe('?0');
    const { fullVersionList, ...hints } = page.hints ?? {};
    expect(hints).toMatchObject({ platform: 'Linux', mobile: false, model: '', wow64: false, bitness: '64' });
    expect(hints.architecture).toMatch(/^(?:x86|arm)$/);
    expect(fullVersionList).toContainEqual({
      brand: 'Chromium',
      version: expect.stringMatching(new RegExp(String.raw`^${major}\.\d+\.\d+\.\d+$`)) as string,
    });
  });

  test('languages that match Accept-Language and Intl', () => {
    expect(page.languages).toEqual(['en-US', 'en']);
    expect(headers['accept-language']).toBe('en-US,en;q=0.9');
    expect(page.locale).toBe('en-US');
  });

  test('a clock in the time zone of Intl', () => {
    const { timeZone } = page;
    const there = new Date().toLocaleString('en-US', { timeZone, timeZoneName: 'longOffset' });
    const [, sign = '+', hours = '0', minutes = '0'] = /GMT(?:([+-])(\d+):(\d+))?/.exec(there) ?? [];
    expect(inspection.offset).toBe((sign === '-' ? 1 : -1) * (60 * Number(hours) + Number(minutes)) || 0);
  });

  test('the plugins of a browser with a pdf viewer', () => {
    expect(inspection.plugins).toHaveLength(5);
    expect(inspection.mimeTypes).toEqual(['application/pdf', 'text/pdf']);
    expect([inspection.pluginsFit, inspection.pdfViewer]).toEqual([true, true]);
  });

  test('permissions that are consistent', () => {
    expect(inspection.permissions).toEqual(['default', 'prompt']);
  });

  test('window.chrome', () => {
    expect(inspection.chrome).toEqual(['loadTimes', 'csi', 'app']);
  });

  test('a window with a frame, on a screen that contains it', () => {
    expect(inspection.inner).toEqual([640, 480]);
    expect(inspection.visual).toEqual([640, 480]);
    expect(inspection.outer).toEqual([640, 567]);
    expect(inspection.screen).toEqual([1920, 1080, 24, 24]);
    expect(inspection.queries).toEqual([true, true, true, true]);
    expect(inspection.touch).toEqual([0, false]);
    expect(inspection.inSight).toEqual([true, 'visible']);
  });

  test('graphics, and the same ones in a worker', () => {
    // Without a graphics card, the renderer is SwiftShader, as on real machines without one.
    expect(page.webgl[0]).toMatch(/^Google Inc\. \(/);
    expect(page.webgl[1]).toMatch(/^ANGLE \(/);
    expect(found.worker.webgl).toEqual(page.webgl);
  });

  test('workers that report the same values as the page', () => {
    expect(found.worker).toEqual(page);
    expect(found.sharedWorker).toEqual(page);
  });

  test('hardware values of a plausible machine', () => {
    expect(page.hardwareConcurrency).toBeGreaterThan(0);
    expect([2, 4, 8, 16, 32]).toContain(page.deviceMemory);
    expect(page.platform).toBe('Linux x86_64');
  });

  test('the codecs of a normal browser', () => {
    expect(inspection.codecs).toEqual(['probably', 'probably', 'probably', 'probably']);
  });

  test('native functions, and no globals of automation tools', () => {
    expect(inspection.altered).toEqual([]);
    expect(inspection.globals).toEqual([]);
    expect(inspection.trace).not.toMatch(/playwright|puppeteer|__pw|UtilityScript/i);
  });

  test('a popup blocker', () => {
    expect(inspection.popup).toBeNull();
  });

  test('frames with a separate window', () => {
    expect(inspection.frame).toEqual([true, true, true, true, 'object']);
  });

  test('no debugger attached to its console', () => {
    expect(inspection.debugger).toEqual({ formatted: false, read: false });
  });

  test('the picture of a broken image', () => {
    expect(inspection.brokenImage).toEqual([16, 16]);
  });
});

test('with antiBot, visitor options do not look more like a bot', async () => {
  const userAgent =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';
  const place = { latitude: 52.5, longitude: 13.4, accuracy: 10 };
  const options = { locale: 'de-DE', timezone: 'Europe/Berlin', geolocation: place, userAgent } as const;
  const { alarms, verdict, page, worker, inspection, headers } = await lookedOver({ antiBot: true, ...options });
  expect(alarms).toEqual([]);
  expect(verdict).toEqual({ bot: false });
  expect(worker).toEqual(page);
  expect(page).toMatchObject({ userAgent, languages: ['de-DE', 'de'], locale: 'de-DE', timeZone: 'Europe/Berlin' });
  expect(headers).toMatchObject({ 'user-agent': userAgent, 'accept-language': 'de-DE,de;q=0.9' });
  const { altered, globals, ownOfNavigator, permissions, debugger: bait } = inspection;
  expect({ altered, globals, ownOfNavigator }).toEqual({ altered: [], globals: [], ownOfNavigator: [] });
  expect(permissions).toEqual(['default', 'prompt']);
  expect(bait).toEqual({ formatted: false, read: false });
});

test('without antiBot, BotD detects a bot', async () => {
  const { verdict, alarms, inspection } = await lookedOver({ antiBot: false });
  expect(verdict).toEqual({ bot: true, botKind: 'headless_chrome' });
  expect(alarms).toEqual(expect.arrayContaining(['detectUserAgent', 'detectWebDriver']));
  expect(inspection.plugins).toEqual([]);
});

/** Dialogs must not delay the capture: no user answers them. */
describe('with antiBot, the capture does not wait for a user', () => {
  const green = 'body{background:#0a0}';
  const pages = {
    'a page that prints itself, requests permissions, and has a picture that needs a login': `<img src="/login"><script>
      print(); Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => 0)</script>`,
    'a page that opens windows and dialogs, and opens another program': `<script>
      open('/'); alert('hello'); confirm('sure?'); location.href = 'mailto:somebody@site.test'</script>`,
    'a page that closes itself': `<script>onload = () => close()</script>`,
    'a page behind a login': '',
  };

  test.each(Object.entries(pages))('%s', async (name, body) => {
    const document = html(`<style>${green}</style>${body}`);
    const isLogin = name === 'a page behind a login';
    const site = await TestSite.start({
      '/': document,
      '/login': (_request, response) => {
        const head = { 'www-authenticate': 'Basic realm="staff"', 'content-type': 'text/html' };
        response.writeHead(401, head).end(document);
      },
    });
    try {
      const url = site.url(isLogin ? '/login' : '/', 'localhost');
      const { picture, report } = await engine.shoot(url, { antiBot: true });
      expect(picture.share('#00aa00')).toBeGreaterThan(0.95);
      expect(report.softTimeouts).toEqual([]);
      expect(report.httpStatus).toBe(isLogin ? 401 : 200);
    } finally {
      await site.close();
    }
  });
});

test('with antiBot, all other behavior is unchanged', async () => {
  const site = await TestSite.start({ '/': html('<div style="height:9000px;background:#0a0"></div>') });
  try {
    const viewport = { width: 160 };
    const whole = await engine.shoot(site.url(), { antiBot: true, isFullPage: true, viewport });
    expect(whole.picture.size).toBe('160x9000');
    expect(whole.picture.share('#00aa00')).toBe(1);
    const paper = await engine.render(site.url(), { antiBot: true, format: 'pdf' });
    expect(paper.bytes.subarray(0, 5).toString()).toBe('%PDF-');
    const supplied = { kind: 'html', html: '<body style="background:#0a0">' } as const;
    const { picture } = await engine.shoot(supplied, { antiBot: true, viewport: { deviceScaleFactor: 2 } });
    expect([picture.size, picture.share('#00aa00')]).toEqual(['1280x960', 1]);
    const own = await engine.render(site.url(), { antiBot: true, format: 'webp' }, { ownBrowser: true });
    expect(own.width).toBe(640);
  } finally {
    await site.close();
  }
});
