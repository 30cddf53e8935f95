import { afterAll, beforeAll, expect, test } from 'vitest';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;
let headers: NodeJS.Dict<string | string[]>;

/** What a page can find out, as JSON in its title. */
const probe = html(`<script>
  (async () => {
    const { state } = await navigator.permissions.query({ name: 'notifications' });
    document.title = JSON.stringify({
      agent: navigator.userAgent, brands: (navigator.userAgentData?.brands ?? []).map((b) => b.brand),
      webdriver: navigator.webdriver, languages: navigator.languages, plugins: navigator.plugins.length,
      chrome: typeof chrome, permission: [Notification.permission, state],
      inner: [innerWidth, innerHeight], outer: [outerWidth, outerHeight], screen: [screen.width, screen.height],
      popup: window.open('/popup'), playwright: Object.keys(window).filter((key) => /playwright|pw|cdc_|webcapture/i.test(key)),
    });
    document.body.style.background = '#0a0';
  })();
</script>`);

beforeAll(async () => {
  engine = await TestEngine.start();
  site = await TestSite.start({
    '/probe': (request, response) => {
      headers = request.headers;
      response.writeHead(200, { 'content-type': 'text/html' }).end(probe);
    },
    '/tall': html('<div style="height:9000px;background:#0a0"></div>'),
  });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

test('nothing tells of automation', async () => {
  // A secure context, for what only those have.
  const url = site.url('/probe').replace('127.0.0.1', 'localhost');
  const { report, picture } = await engine.shoot(url, { antiBot: true, delay: 200 });
  expect(picture.size).toBe('640x480');
  expect(picture.at(300, 300)).toBe('#00aa00');
  const { title } = report;
  expect([...title].length).toBeLessThan(512);
  const seen = JSON.parse(title) as Record<string, unknown>;
  expect(seen).toMatchObject({
    webdriver: false,
    languages: ['en-US', 'en'],
    plugins: 5,
    chrome: 'object',
    permission: ['default', 'prompt'],
    inner: [640, 480],
    outer: [640, 567],
    screen: [1920, 1080],
    popup: null,
    playwright: [],
  });
  expect(seen.agent).toMatch(/ Chrome\/\d+\.0\.0\.0 Safari/);
  expect(seen.brands).toContain('Chromium');
  for (const value of [seen.agent, JSON.stringify(seen.brands), JSON.stringify(headers)])
    expect(value).not.toMatch(/headless/i);
  expect(headers['user-agent']).toBe(seen.agent);
  expect(headers['sec-ch-ua']).toContain('Chromium');
  expect(headers['accept-language']).toMatch(/^en-US/);
});

test('all that works elsewhere works here', async () => {
  const whole = await engine.shoot(site.url('/tall'), { antiBot: true, isFullPage: true });
  expect(whole.picture.size).toBe('640x9000');
  expect(whole.picture.share('#00aa00')).toBe(1);
  const paper = await engine.render(site.url('/tall'), { antiBot: true, format: 'pdf' });
  expect(paper.bytes.subarray(0, 5).toString()).toBe('%PDF-');
  const own = await engine.render(site.url('/tall'), { antiBot: true, format: 'webp' }, { ownBrowser: true });
  expect(own.width).toBe(640);
});
