import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import type { StoredDiagnostics } from '@webcapture/shared/files/diagnostics-file.ts';
import { parseDiagnostics } from '@webcapture/shared/files/read-diagnostics.ts';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { diagnosticsOf } from '../../../services/renderer/diagnostics/trace.ts';
import { html, listedHosts, sharedEngine, type ShotOptions, TestSite } from '../../harness/engine.ts';

const engine = await sharedEngine();

const secrets: CaptureSecrets = {
  headers: { 'X-Secret': 'header-secret-1' },
  cookies: [{ name: 'session', value: 'cookie-secret-2' }],
};

let site: TestSite;
beforeAll(async () => {
  site = await TestSite.start({
    // This request receives no response.
    '/hang.json': () => undefined,
    '/hanging': html(`<h1>Loading…</h1><script>
      fetch('/hang.json?token=abc-token').then(() => { document.body.textContent = 'Loaded' });
    </script>`),
    '/throwing': html(`<p>text<script>
      console.log('before', 1, [2]);
      fetch('/missing.json').then((answer) => answer.text()).then(() => setTimeout(() => {
        document.body.id = 'done';
        throw new TypeError('the chart has no data');
      }));
    </script>`),
    '/hanging-images': html(`<img src="/hang.json?token=abc-token"><img srcset="/hang.json?token=abc-token&srcset 1x">
      <picture><source srcset="/hang.json?source 1x"><img></picture>`),
    '/moving': html(
      `<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="><div id="spinner" class="big"></div><div class="ended"></div>
      <p id="fade">text</p><p id="moved">text</p><script>
        moved.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 60_000, id: 'by script' });
        fade.getBoundingClientRect();
        fade.style.opacity = 0.5;
      </script>`,
      `<style>
        @font-face { font-family: Hanging; src: url(/hang.json?font) }
        @font-face { font-family: Unused; src: url(/hang.json?unused) }
        @keyframes turn { to { rotate: 1turn } }
        #spinner { animation: turn 60s infinite }
        .ended { animation: turn 1ms forwards }
        #fade { font-family: Hanging; transition: opacity 60s }
      </style>`,
    ),
    '/missing-selector': html('<h1 style="background: red; height: 300px">There is no chart</h1>'),
    '/busy': html('<h1>text</h1><script>setTimeout(() => { for (;;); }, 50)</script>'),
    '/telling': html(`<p>text<script>
      console.warn('cookie', document.cookie);
      console.error('http://user:pass@example.com/?token=address-secret-3#fragment');
      fetch('/echo?value=' + encodeURIComponent(document.cookie.split('=')[1]));
    </script>
    <script src="http://${listedHosts.ads}/tag/js/gpt.js"></script>
    <img src="http://10.0.0.1/private.png">`),
    '/echo': 'echo',
    '/slow': (_, response) => void setTimeout(() => response.end('slow'), 30),
    '/logging': html(`<script type="module">
      for (let index = 0; index < 205; index += 1) console.log('message', index);
      await fetch('/missing.json');
      setTimeout(() => { throw 'no error object'; });
      setTimeout(() => {
        eval("console.info('evaluated', NaN, -0, 10n)");
        document.body.id = 'done';
      }, 1);
    </script>`),
    '/leading': html('<script>location.href = "https://10.0.0.1/"</script>'),
    '/many': html(`<script type="module">
      await fetch('/echo');
      await fetch('/missing.json?first');
      const aborted = new AbortController();
      fetch('/hang.json?second', { signal: aborted.signal }).catch(() => undefined);
      await Promise.all(Array.from({ length: 205 }, (_, index) => fetch('/slow?' + index).then((answer) => answer.text())));
      aborted.abort();
      fetch('/hang.json?third');
      setTimeout(() => { document.body.id = 'done'; });
    </script>`),
    '/refused-images': html(
      Array.from({ length: 103 }, (_, index) => `<img src="http://10.0.0.1/${index}.png?token=abc-token">`).join(''),
    ),
  });
});
afterAll(() => site.close());

/** @param path a path of the site, or an absolute address */
async function failed(path: string, options: ShotOptions): Promise<StoredDiagnostics> {
  const thrown: unknown = await engine.render(path.startsWith('/') ? site.url(path) : path, options).then(
    () => undefined,
    (error: unknown) => error,
  );
  const stored = diagnosticsOf(thrown);
  if (stored === undefined) throw new Error('it has no diagnostics', { cause: thrown });
  // The front accepts the diagnostics without changes.
  expect((await parseDiagnostics(structuredClone(stored))).diagnostics).toEqual(stored.diagnostics);
  return stored;
}

test('a hanging request is listed without an end, with the wait that failed', async () => {
  const waitFor = { text: 'Loaded', state: 'visible', timeout: 1000, required: true } as const;
  const { diagnostics } = await failed('/hanging', { waitFor });
  expect(diagnostics.steps.at(-1)).toMatchObject({ name: 'waitFor', failed: true });
  expect(diagnostics.requests.find(({ url }) => url.includes('/hang.json'))).toMatchObject({
    url: site.url('/hang.json?token=[redacted]'),
    type: 'fetch',
    status: null,
    waitMs: null,
    durationMs: null,
  });
  expect(diagnostics.pageUrl).toBe(site.url('/hanging'));
});

test('the last 200 messages of scripts and of the browser are listed in the order of their time', async () => {
  const waitFor = { selector: '#done', state: 'attached', timeout: 20_000, required: true } as const;
  const { diagnostics } = await engine.render(site.url('/logging'), { diagnostics: true, waitFor });
  const messages = diagnostics?.diagnostics.console ?? [];
  expect(messages).toHaveLength(200);
  expect(messages.slice(-4)).toMatchObject([
    { level: 'log', text: 'message 204', url: site.url('/logging') },
    { level: 'error', text: expect.stringContaining('404') as string, url: site.url('/missing.json'), line: null },
    { level: 'exception', text: 'Uncaught no error object' },
    { level: 'info', text: 'evaluated NaN -0 10n', url: null },
  ]);
});

test(
  'of many requests, those that failed or did not end are listed, then the slowest, in the order of their start',
  { tags: 'long' },
  async () => {
    const waitFor = { selector: '#done', state: 'attached', timeout: 20_000, required: true } as const;
    const { diagnostics } = await engine.render(site.url('/many'), { diagnostics: true, waitFor });
    const { requests = [], requestCount } = diagnostics?.diagnostics ?? {};
    expect([requests.length, requestCount]).toEqual([200, 210]);
    const find = (part: string) => requests.find(({ url }) => url.endsWith(part));
    expect(find('?first')).toMatchObject({ status: 404, error: null, waitMs: expect.any(Number) });
    expect(find('?third')).toMatchObject({ status: null, error: null, durationMs: null });
    expect(find('?second')).toMatchObject({ status: null, error: 'net::ERR_ABORTED', durationMs: expect.any(Number) });
    const starts = requests.map(({ startMs }) => startMs);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  },
);

test('addresses that the egress policy refuses are listed up to the limit, without secrets', async () => {
  const { diagnostics } = await engine.render(site.url('/refused-images'), { diagnostics: true });
  const blocked = diagnostics?.diagnostics.blocked ?? [];
  expect(blocked).toHaveLength(100);
  expect(blocked[0]?.url).toBe('http://10.0.0.1/0.png?token=[redacted]');
});

test('a page that keeps the browser busy is stopped and read', { tags: 'long' }, async () => {
  const waitFor = { selector: '#nothing', state: 'attached', timeout: 300, required: true } as const;
  const { diagnostics, picture } = await failed('/busy', { waitFor });
  expect(diagnostics.moving?.readyState).toBe('complete');
  expect(picture).toEqual(expect.any(String));
});

test.each([
  ['that does not answer', () => site.url('/hang.json')],
  ['that cannot be reached', () => 'https://10.0.0.1/'],
  ['that leads to one that cannot be reached', () => '/leading'],
])('of a page %s, there is nothing to read', async (_, url) => {
  const { diagnostics, picture } = await failed(url(), { timeout: 1000 });
  expect(diagnostics).toMatchObject({ moving: null, console: [], picture: null });
  expect(picture).toBeUndefined();
});

test('hanging images are listed by their src, srcset or source', async () => {
  const waitFor = { selector: '#nothing', state: 'attached', timeout: 300, required: true } as const;
  const { diagnostics } = await failed('/hanging-images', { waitFor, waitUntil: 'domcontentloaded' });
  expect(diagnostics.moving?.images).toEqual(
    ['token=[redacted]', 'token=[redacted]&srcset=', 'source'].map((query) => site.url(`/hang.json?${query}`)),
  );
});

test('what is still loading or running is listed', async () => {
  const waitFor = { selector: '#nothing', state: 'attached', timeout: 300, required: true } as const;
  const { diagnostics } = await failed('/moving', { waitFor, waitUntil: 'domcontentloaded' });
  expect(diagnostics.moving).toMatchObject({
    images: [],
    fonts: ['Hanging'],
    animations: [
      { name: 'opacity', element: 'p#fade' },
      { name: 'turn', element: 'div#spinner.big' },
      { name: 'by script', element: 'p#moved' },
    ],
  });
});

test('a script error, earlier console messages and a missing resource are listed', async () => {
  const waitFor = { selector: '#done', state: 'attached', timeout: 10_000, required: true } as const;
  const { diagnostics } = await failed('/throwing', { failOn: { consoleErrors: true }, waitFor });
  const { console, requests } = diagnostics;
  expect(console).toContainEqual(
    expect.objectContaining({
      level: 'exception',
      text: 'TypeError: the chart has no data',
      url: site.url('/throwing'),
      line: 5,
    }),
  );
  expect(console[0]).toMatchObject({ level: 'log', text: 'before 1 Array(1)' });
  expect(requests.find(({ url }) => url.endsWith('/missing.json'))).toMatchObject({
    status: 404,
    error: null,
    bytes: expect.any(Number),
  });
});

test(
  'for a missing selector, the diagnostics have the failed wait and a picture of the page',
  { tags: 'long' },
  async () => {
    const { diagnostics, picture } = await failed('/missing-selector', { selector: '#chart' });
    expect(diagnostics.error?.message).toContain('#chart');
    expect(diagnostics.steps.at(-1)).toMatchObject({ name: 'settle', failed: true });
    expect(diagnostics.picture).toMatchObject({ width: 640, height: 480 });
    const jpeg = Buffer.from(picture ?? '', 'base64');
    expect(jpeg.length).toBe(diagnostics.picture?.bytes);
    expect(jpeg.subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]));
  },
);

test('on request, a completed capture has diagnostics without secrets, with blocked requests and their rules', async () => {
  const request = { secrets };
  const { diagnostics: stored } = await engine.render(
    site.url('/telling'),
    { diagnostics: true, block: { ...blockNothing, ads: true } },
    request,
  );
  const { error, console, requests, blocked, picture, requestCount } = stored?.diagnostics ?? {};
  expect([error, picture, stored?.picture]).toEqual([null, null, undefined]);
  expect(console).toContainEqual(expect.objectContaining({ level: 'warning', text: 'cookie session=[redacted]' }));
  expect(console).toContainEqual(expect.objectContaining({ text: 'http://example.com/?token=[redacted]' }));
  expect(requests?.map(({ url }) => url)).toContain(site.url('/echo?value=[redacted]'));
  expect(requestCount).toBeGreaterThanOrEqual(requests?.length ?? 0);
  expect(blocked?.find(({ rule }) => rule === 'ads')).toMatchObject({
    url: `http://${listedHosts.ads}/tag/js/gpt.js`,
    type: 'script',
    filter: expect.stringContaining('doubleclick'),
  });
  expect(blocked?.find(({ rule }) => rule === 'egressPolicy')?.url).toBe('http://10.0.0.1/private.png');
  expect(JSON.stringify(stored)).not.toMatch(/secret-[123]|user:pass/);
});

test('a completed capture has no diagnostics unless requested', async () => {
  expect(await engine.render(site.url('/missing-selector'))).not.toHaveProperty('diagnostics');
});
