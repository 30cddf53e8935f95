import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';
import { timeOf } from '../../harness/time-of.ts';

let engine: TestEngine;
let site: TestSite;

const green = 'document.body.style.background = "#0a0"';

beforeAll(async () => {
  engine = await TestEngine.start({ slots: 2, captureLimits: { pageBytes: 400 * 1024 ** 2 } });
  site = await TestSite.start({
    '/': html(`<script>${green}</script>`),
    '/swells-in-script': html(`<script>const hoard = []; for (;;) hoard.push(new Array(1_000_000).fill(0.5))</script>`),
    '/never': () => undefined,
  });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

/** Expects that the shared browser still renders. */
async function expectHealthy() {
  const { picture } = await engine.shoot(site.url('/'));
  expect(picture.at(300, 300)).toBe('#00aa00');
  expect(engine.engine.browserState()).toBe('up');
}

test('a page that uses too much memory fails alone', { tags: 'long' }, async () => {
  const other = engine.shoot(site.url('/'), { delay: 1500 });
  await expect(engine.render(site.url('/swells-in-script'), { timeout: 50_000 })).rejects.toMatchObject({
    code: 'CAPTURE_FAILED',
    message: expect.stringMatching(/crashed|memory/) as string,
    causedBy: 'page',
  });
  expect((await other).picture.at(300, 300)).toBe('#00aa00');
  await expectHealthy();
});

describe('a capture ends', () => {
  test('on cancellation', async () => {
    const cancelled = async () => {
      const cancel = new AbortController();
      setTimeout(() => cancel.abort(new Error('gone')), 300);
      await expect(engine.render(site.url('/never'), {}, { signal: cancel.signal })).rejects.toMatchObject({
        code: 'CAPTURE_FAILED',
        message: expect.stringContaining('cancelled') as string,
      });
    };
    const ms = await timeOf(cancelled);
    expect(ms).toBeGreaterThan(290);
    // Without the cancellation it would take the default timeout of 30 s.
    expect(ms).toBeLessThan(15_000);
  });

  test('at its deadline, even with a longer timeout', async () => {
    const late = () =>
      expect(engine.render(site.url('/never'), { timeout: 60_000 }, { deadlineMs: 700 })).rejects.toMatchObject({
        code: 'CAPTURE_TIMEOUT',
      });
    const ms = await timeOf(late);
    expect(ms).toBeGreaterThan(690);
    expect(ms).toBeLessThan(30_000);
  });

  test('before it begins, if cancelled or too late', async () => {
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(engine.render(site.url('/'), {}, { signal: gone })).rejects.toMatchObject({ code: 'CAPTURE_FAILED' });
    await expect(engine.render(site.url('/'), {}, { deadlineMs: -1 })).rejects.toMatchObject({
      code: 'CAPTURE_TIMEOUT',
    });
    await expectHealthy();
  });
});

test('a capture with its own browser renders the same', { tags: 'long' }, async () => {
  const rendering = await engine.render(site.url('/'), {}, { ownBrowser: true });
  const shared = await engine.render(site.url('/'));
  expect(rendering.bytes.equals(shared.bytes)).toBe(true);
});
