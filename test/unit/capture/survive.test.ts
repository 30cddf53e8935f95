import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;

const green = 'document.body.style.background = "#0a0"';

beforeAll(async () => {
  engine = await TestEngine.start({ slots: 2, pageMemoryBytes: 400 * 1024 ** 2 });
  site = await TestSite.start({
    '/': html(`<script>${green}</script>`),
    '/popup': html('popup'),
    '/dialogs': html(`<script>alert('a'); document.title = [confirm('b'), prompt('c')].join(); ${green}</script>`),
    '/dialog-later': html(`<script>setTimeout(() => { alert('a'); ${green} }, 100)</script>`),
    '/popups': html(
      `<a id="link" target="_blank" href="/popup">x</a><script>
        for (let i = 0; i < 5; i++) window.open('/popup'); link.click(); ${green}
      </script>`,
    ),
    '/closes': html(`<script>window.close(); setTimeout(() => window.close(), 100); ${green}</script>`),
    '/holds': html(
      `<script>onbeforeunload = () => 'stay'; addEventListener('beforeunload', (e) => e.preventDefault()); ${green}</script>`,
    ),
    '/prints': html(`<script>window.print(); ${green}</script>`),
    '/downloads': html(`<a id="link" href="/file">x</a><script>link.click(); ${green}</script>`),
    '/file': (_, response) =>
      response.writeHead(200, { 'content-type': 'application/zip', 'content-disposition': 'attachment' }).end('PK'),
    '/spoils': html(`<script>
      Array.prototype.map = Array.prototype.flatMap = () => { throw new Error('spoilt') };
      window.Promise = window.requestAnimationFrame = window.setTimeout = window.getComputedStyle = null;
      JSON.stringify = () => 'no'; Object.defineProperty(document, 'querySelectorAll', { value: null });
      Object.defineProperty(document, 'title', { get() { throw new Error('spoilt') } }); ${green}</script>`),
    '/loops': html('<p>x<script>for (;;);</script>'),
    '/loops-after-load': html(
      `<script>${green}; addEventListener('load', () => setTimeout(() => { for (;;); }, 0))</script>`,
    ),
    '/swells': html(`<script>
      const hoard = []; setInterval(() => hoard.push(new Uint8Array(50_000_000).fill(1)), 5);
    </script><img src="/never">`),
    '/swells-in-script': html(
      `<script>const hoard = []; for (;;) hoard.push(new Array(100_000).fill({}).map(() => ({})))</script>`,
    ),
    '/never': () => undefined,
    '/moves-for-ever': html(`<script>addEventListener('load', () => setTimeout(() => location.reload(), 20))</script>`),
  });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

/** The shared browser serves as before. */
async function expectHealthy() {
  const { picture } = await engine.shoot(site.url('/'));
  expect(picture.at(300, 300)).toBe('#00aa00');
  expect(engine.engine.browserState()).toBe('up');
}

describe('pages that', () => {
  test.for(['/dialogs', '/popups', '/closes', '/holds', '/prints', '/downloads', '/spoils'])('%s', async (path) => {
    const { picture } = await engine.shoot(site.url(path));
    expect(picture.at(300, 300)).toBe('#00aa00');
    expect(site.hits.filter((hit) => hit === '/popup')).toEqual([]);
  });

  test('open a dialog while they settle', async () => {
    const { picture } = await engine.shoot(site.url('/dialog-later'), { delay: 500 });
    expect(picture.at(300, 300)).toBe('#00aa00');
  });

  test('close themselves while they settle', async () => {
    const { picture } = await engine.shoot(site.url('/closes'), { delay: 500 });
    expect(picture.at(300, 300)).toBe('#00aa00');
  });

  test('spoil the language, and are whole all the same', async () => {
    const { picture } = await engine.shoot(site.url('/spoils'), { isFullPage: true });
    expect(picture.at(300, 300)).toBe('#00aa00');
  });
});

describe('busy pages', () => {
  test('that never have a document time out', async () => {
    await expect(engine.render(site.url('/loops'), { timeout: 1500 })).rejects.toMatchObject({
      code: 'CAPTURE_TIMEOUT',
    });
    await expectHealthy();
  });

  test('that never end after that are stopped and taken as they stand', async () => {
    const { picture, report } = await engine.shoot(site.url('/loops-after-load'), { timeout: 1500 });
    expect(picture.at(300, 300)).toBe('#00aa00');
    expect(report.softTimeouts).toContain('settle');
    await expectHealthy();
  });

  test('that move on for ever end', async () => {
    const outcome = await engine
      .render(site.url('/moves-for-ever'), { delay: 100, timeout: 3000 }, { deadlineMs: 15_000 })
      .catch((error: unknown) => error);
    // Either it was caught between two moves, or it failed as what it is.
    if (outcome instanceof Error) expect(outcome).toMatchObject({ code: expect.stringMatching(/^CAPTURE_/) as string });
    await expectHealthy();
  });
});

describe('pages that take too much memory fail alone', () => {
  test.for(['/swells', '/swells-in-script'])('%s', async (path) => {
    const beside = engine.shoot(site.url('/'), { delay: 1500 });
    await expect(engine.render(site.url(path), { timeout: 20_000 })).rejects.toMatchObject({
      code: 'CAPTURE_FAILED',
      message: expect.stringMatching(/crashed|memory/) as string,
    });
    expect((await beside).picture.at(300, 300)).toBe('#00aa00');
    await expectHealthy();
  });
});

describe('a capture ends', () => {
  test('when it is cancelled', async () => {
    const cancel = new AbortController();
    setTimeout(() => cancel.abort(new Error('gone')), 300);
    const start = performance.now();
    await expect(engine.render(site.url('/never'), {}, { signal: cancel.signal })).rejects.toMatchObject({
      code: 'CAPTURE_FAILED',
      message: expect.stringContaining('cancelled') as string,
    });
    expect(performance.now() - start).toBeLessThan(3000);
  });

  test('by its deadline, whatever its timeout', async () => {
    const start = performance.now();
    await expect(engine.render(site.url('/never'), { timeout: 60_000 }, { deadlineMs: 700 })).rejects.toMatchObject({
      code: 'CAPTURE_TIMEOUT',
    });
    expect(performance.now() - start).toBeLessThan(3000);
  });

  test('even before it begins', async () => {
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(engine.render(site.url('/'), {}, { signal: gone })).rejects.toMatchObject({ code: 'CAPTURE_FAILED' });
    await expect(engine.render(site.url('/'), {}, { deadlineMs: -1 })).rejects.toMatchObject({
      code: 'CAPTURE_TIMEOUT',
    });
    await expectHealthy();
  });
});

test('a browser of its own renders the same', async () => {
  const rendering = await engine.render(site.url('/'), {}, { ownBrowser: true });
  const shared = await engine.render(site.url('/'));
  expect(rendering.bytes.equals(shared.bytes)).toBe(true);
});
