import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusedInTemplate } from '../../../services/front/capture/template-rules.ts';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';
import { readPdf } from '../../harness/pdf.ts';
import { rasterPage } from '../../harness/pdf-raster.ts';

let engine: TestEngine;
/** The site's requests show which payloads reached the network. */
let site: TestSite;
let folder: string;
/** The only red content. */
let redFile: string;

beforeAll(async () => {
  engine = await TestEngine.start();
  site = await TestSite.start({ '/': html('<p>the page</p>') });
  folder = await mkdtemp(join(tmpdir(), 'payloads-'));
  await Promise.all([
    writeFile(join(folder, 'red.svg'), redSvg),
    writeFile(join(folder, 'red.html'), '<body style="background:#ff0000">secret'),
  ]);
  redFile = pathToFileURL(join(folder, 'red')).href;
});

afterAll(async () => {
  await Promise.all([engine.close(), site.close()]);
  await rm(folder, { recursive: true });
});

const redSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" fill="#ff0000"/></svg>';
const dataSvg = (inner: string) =>
  `data:image/svg+xml;base64,${Buffer.from(redSvg.replace('<rect width="40" height="40" fill="#ff0000"/>', inner)).toString('base64')}`;

/** Each payload requests `to`, whose path is its name. The front refuses it unless an image contains it. */
const inTemplates: Readonly<Record<string, (to: string) => string>> = {
  image: (to) => `<img src="${to}">`,
  'image-in-sets': (to) => `<picture><source srcset="${to}"><img srcset="${to} 1x"></picture>`,
  frame: (to) => `<iframe src="${to}"></iframe>`,
  'frame-of-its-own': (to) => `<iframe srcdoc="<img src='${to}'>"></iframe>`,
  'frame-of-data': (to) => `<iframe src="data:text/html,<img src='${to}'>"></iframe>`,
  object: (to) => `<object data="${to}"></object>`,
  embed: (to) => `<embed src="${to}">`,
  script: (to) => `<script>new Image().src = "${to}"</script><script src="${to}"></script>`,
  'failing-image': (to) => `<img src="x" onerror="new Image().src = '${to}'">`,
  'svg-handler': (to) => `<svg><svg onload="new Image().src = '${to}'"></svg></svg>`,
  'move-in-handler': (to) => `<svg><svg onload="location = '${to}'"></svg></svg>`,
  toggle: (to) => `<details open ontoggle="new Image().src = '${to}'"></details>`,
  focus: (to) => `<input autofocus onfocus="new Image().src = '${to}'">`,
  refresh: (to) => `<meta http-equiv="refresh" content="0;url=${to}">`,
  form: (to) => `<form action="${to}"><input type="image" src="${to}"></form>`,
  background: (to) => `<p style="background:url(${to});width:9px;height:9px"></p><table background="${to}"></table>`,
  'svg-image': (to) => `<svg><image href="${to}" width="40" height="40"/></svg>`,
  'svg-use': (to) => `<svg><use href="${to}#a"/></svg>`,
  media: (to) => `<video src="${to}" poster="${to}"></video><audio src="${to}" autoplay></audio>`,
  icon: (to) => `<link rel="icon" href="${to}"><link rel="dns-prefetch" href="${to}">`,
  'image-in-image': (to) => `<img src="${dataSvg(`<image href="${to}" width="40" height="40"/>`)}">`,
  'style-in-image': (to) =>
    `<img src="${dataSvg(`<style>@import "${to}"; @font-face { font-family: F; src: url(${to}) } text { font-family: F }</style><text y="9">x</text>`)}">`,
  'script-in-image': (to) => `<img src="${dataSvg(`<script>fetch("${to}")</script>`)}">`,
};

/** These payloads stop Chromium from printing. */
const breaking: Readonly<Record<string, (to: string) => string>> = {
  'fetch-in-handler': (to) => `<svg><svg onload="try { fetch('${to}') } catch {}"></svg></svg>`,
  'style-sheet': (to) => `<link rel="stylesheet" href="${to}">`,
  import: (to) => `<style>@import "${to}";</style>`,
  font: (to) => `<style>@font-face { font-family: F; src: url(${to}) } b { font-family: F }</style><b>x</b>`,
  preload: (to) => `<link rel="preload" as="image" href="${to}"><link rel="prefetch" href="${to}">`,
  filter: (to) => `<svg><rect width="50" height="50" filter="url(${to}#a)" fill="url(${to}#b)"/></svg>`,
};

const isInImage = (name: string) => name.endsWith('-in-image');

test.each(Object.entries({ ...inTemplates, ...breaking }).filter(([name]) => !isInImage(name)))(
  'a template with the payload %s is refused',
  (_name, payload) => {
    for (const to of ['http://169.254.169.254/', 'file:///etc/passwd', 'http://localhost:6379/']) {
      expect(refusedInTemplate(payload(to))).toBeDefined();
    }
  },
);

test('nothing in a template reaches the network or a file, even if it is not refused', async () => {
  const print = async (to: (name: string) => string) => {
    const payloads = Object.entries(inTemplates).map(([name, payload]) => payload(to(name)));
    const headerTemplate = `<b style="font-size:10px">header</b>${payloads.join('')}`;
    const pdf = { headerTemplate, footerTemplate: headerTemplate };
    const { bytes, report } = await engine.render(site.url('/'), { format: 'pdf', pdf });
    const { text } = await readPdf(bytes);
    expect(text).toContain('header');
    expect(text).not.toContain('secret');
    expect((await rasterPage(bytes)).share('#ff0000', 3)).toBe(0);
    expect(report.blockedRequests).toBe(0);
  };
  site.hits.length = 0;
  await print((name) => site.url(`/${name}`));
  await print((name) => `http://169.254.169.254/${name}`);
  await print((name) => `${redFile}.${/image|svg|background/.test(name) ? 'svg' : 'html'}`);
  expect(site.hits).toEqual(['/', '/', '/']);
});

test('a template that stops the print fails only its own capture, with the reason', { tags: 'long' }, async () => {
  site.hits.length = 0;
  const outcomes: Record<string, unknown> = {};
  for (const [name, payload] of Object.entries(breaking)) {
    const pdf = { headerTemplate: payload(site.url(`/${name}`)) };
    const failed = engine.render(site.url('/'), { format: 'pdf', pdf });
    outcomes[name] = await failed.then(
      () => 'printed',
      ({ code, message }: { code: string; message: string }) => `${code} ${message}`,
    );
  }
  const expected = expect.stringMatching(/^CAPTURE_FAILED .*(header or footer of the pdf|crashed)/);
  expect(outcomes).toEqual(Object.fromEntries(Object.keys(breaking).map((name) => [name, expected])));
  expect(new Set(site.hits)).toEqual(new Set(['/']));
  const { report } = await engine.render(site.url('/'), { format: 'pdf' });
  expect(report.httpStatus).toBe(200);
});

/** Links that a click must not open. The egress policy refuses those in a frame. */
const links = [
  'file:///etc/passwd',
  "javascript:void(location='file:///etc/passwd')",
  "javascript:void open('file:///etc/passwd')",
  'view-source:file:///etc/passwd',
  'chrome://settings/',
  'devtools://devtools/bundled/inspector.html',
  'data:text/html,<body style=background:red>',
  'ftp://127.0.0.1/',
  'filesystem:http://127.0.0.1/temporary/x',
  'http://169.254.169.254/',
] as const;

test('a click opens no file, no page of the browser and no internal address', async () => {
  const anchors = links.map((href, index) => {
    const target = href.startsWith('http') ? ' target="frame"' : '';
    return `<a id="link${index}" href="${href}"${target} style="display:block;color:#00aa00">xx</a>`;
  });
  const body = `<style>html { background: #00aa00 }</style>${anchors.join('')}<iframe name="frame" hidden></iframe>`;
  const page = await TestSite.start({ '/': html(body) });
  try {
    const click = links.map((_, index) => `#link${index}`);
    const { picture, report } = await engine.shoot(page.url('/'), { click });
    expect(picture.share('#00aa00')).toBeGreaterThan(0.98);
    expect(new URL(report.finalUrl).pathname).toBe('/');
    expect(report.blockedRequests).toBe(1);
    expect(page.hits).toEqual(['/']);
  } finally {
    await page.close();
  }
});
