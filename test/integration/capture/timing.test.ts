import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ShotOptions, TestEngine } from '../../harness/engine.ts';
import { Site } from '../../harness/site/site.ts';

/** Response timeout of the egress proxy, shorter than the timeout of a page. */
const responseTimeoutMs = 300;

/** Delay of a response. It exceeds the response timeout, but not half of the page's timeout, which applies to scripts and style sheets. */
const slowMs = 4 * responseTimeoutMs;
const timeout = 10_000;

let engine: TestEngine;
let site: Site;

beforeAll(async () => {
  // Most of these tests only wait, so several can run concurrently.
  engine = await TestEngine.start({ slots: 4 }, ['127.0.0.0/8'], { limits: { responseTimeoutMs } });
  site = await Site.start();
});

afterAll(async () => {
  await engine.close();
  await site[Symbol.asyncDispose]();
});

const shoot = (url: string, options: ShotOptions = {}) => engine.shoot(url, { timeout, ...options });

async function timed<T>(work: Promise<T>) {
  const start = performance.now();
  const result = await work;
  return { result, ms: performance.now() - start };
}

describe.concurrent('hard timeouts', () => {
  const failure = async (url: string, options: ShotOptions) => {
    const rendered = engine.render(url, options).then(
      () => expect.unreachable('it should have failed'),
      (thrown: unknown) => thrown as { code: string; message: string },
    );
    const { result, ms } = await timed(rendered);
    return { code: result.code, message: result.message, ms };
  };

  test.for(['load', 'domcontentloaded', 'networkidle', 'commit'] as const)(
    'a page without a response fails with CAPTURE_TIMEOUT, with %s',
    async (waitUntil) => {
      const { code, message, ms } = await failure(site.url('/hang'), { timeout: 1000, waitUntil });
      expect(code).toBe('CAPTURE_TIMEOUT');
      expect(message).toMatch(/within 1000 ms/);
      expect(ms).toBeGreaterThan(950);
      // The default timeout is 20 s.
      expect(ms).toBeLessThan(10_000);
    },
  );

  test('a page whose document never ends fails with CAPTURE_TIMEOUT', async () => {
    expect(await failure(site.url('/drip'), { timeout: 1500 })).toMatchObject({ code: 'CAPTURE_TIMEOUT' });
  });

  test('a page that responds just in time is captured', async () => {
    const { picture } = await shoot(site.url('/slow', { delay: slowMs }));
    expect(picture.share('#00ff00')).toBe(1);
  });
});

describe.concurrent('soft timeouts', () => {
  const soft = { timeout: 3000, imageTimeout: 0 };

  test(
    'without a load event, the page is captured in its current state, with the timeout "load"',
    { tags: 'long' },
    async () => {
      const { result, ms } = await timed(shoot(site.url('/late-load'), soft));
      expect(ms).toBeGreaterThan(2900);
      expect(ms).toBeLessThan(15_000);
      expect(result.picture.at(600, 400)).toBe('#00ff00');
      expect(result.report.softTimeouts).toContain('load');
    },
  );

  test('a network that is never idle is reported as "networkidle"', { tags: 'long' }, async () => {
    const { report, picture } = await shoot(site.url('/polling'), { ...soft, waitUntil: 'networkidle' });
    expect(report.softTimeouts).toEqual(['networkidle']);
    expect(picture.share('#ff0000')).toBe(1);
  });

  test('a missing font is reported as "fonts", and its text has another font', { tags: 'long' }, async () => {
    const { report, picture } = await shoot(site.url('/font-hang'), soft);
    expect(report.softTimeouts).toContain('fonts');
    expect(picture.share('#000000', 60)).toBeGreaterThan(0.001);
  });

  test('a missing style sheet leaves the rest of the page visible', { tags: 'long' }, async () => {
    const { report, picture } = await shoot(site.url('/style-hang'), soft);
    expect(report.softTimeouts).toContain('load');
    expect(picture.at(600, 50)).toBe('#00ff00');
  });
});

describe.concurrent('waitUntil', () => {
  test('load waits for the load event', async () => {
    const { report } = await shoot(site.url('/late-load', { delay: slowMs }), { waitUntil: 'load' });
    expect(report.softTimeouts).toEqual([]);
    expect(report.timings.navigateMs).toBeGreaterThanOrEqual(slowMs - 50);
  });

  test.for(['/asset/image', '/asset/style', '/asset/script'])(
    'load waits for a slow %s longer than the proxy waits for a response',
    { tags: 'long' },
    async (path) => {
      const { report } = await shoot(site.url('/slow-part', { path, delay: slowMs }));
      expect(report.softTimeouts).toEqual([]);
      expect(report.title).toBe('it came');
      expect(report.timings.navigateMs).toBeGreaterThanOrEqual(slowMs - 50);
    },
  );

  // A busy machine may exceed the idle time of networkidle between two requests.
  test(
    'networkidle waits for a slow response to a script longer than the proxy waits for a response',
    { tags: 'long' },
    async () => {
      const { report } = await shoot(site.url('/slow-answer', { delay: slowMs }), { waitUntil: 'networkidle' });
      expect(report.title).toBe('it came');
      expect(report.softTimeouts).toEqual([]);
    },
  );

  test.for(['yes', 'no'])(
    'networkidle waits until the page has sent all requests, read=%s',
    { tags: 'long' },
    async (read) => {
      const { report, picture } = await shoot(site.url('/polling', { times: 12, read }), { waitUntil: 'networkidle' });
      expect(picture.share('#00ff00')).toBe(1);
      expect(report.softTimeouts).toEqual([]);
    },
  );

  test('load does not wait for an idle network', { tags: 'long' }, async () => {
    const { report } = await shoot(site.url('/polling'));
    expect(report.softTimeouts).toEqual([]);
  });

  test.for([
    ['domcontentloaded', '/late-load'],
    ['commit', '/two-halves'],
  ] as const)('%s does not wait for later events, on %s', async ([waitUntil, path]) => {
    const url = site.url(path, { delay: 60_000 });
    const { result, ms } = await timed(shoot(url, { timeout: 30_000, waitUntil, imageTimeout: 0 }));
    expect(result.picture.share('#00ff00')).toBeGreaterThan(0.99);
    expect(result.report.softTimeouts).toEqual([]);
    expect(ms).toBeLessThan(15_000);
  });

  test.for(['load', 'domcontentloaded'] as const)('%s waits for the complete document', async (waitUntil) => {
    const { picture } = await shoot(site.url('/two-halves', { delay: slowMs }), { waitUntil });
    expect(picture.share('#0000ff')).toBe(1);
  });
});

describe.concurrent('imageTimeout', () => {
  const images = (list: string) => site.url('/images', { list, after: 'load' });

  test('waits for pictures that load after the load event', async () => {
    const { report, picture } = await shoot(images(`slow:${slowMs}`), { imageTimeout: 15_000 });
    expect(picture.at(50, 50)).toBe('#0000ff');
    expect(report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
    expect(report.softTimeouts).toEqual([]);
    expect(report.timings.settleMs).toBeGreaterThanOrEqual(slowMs - 200);
  });

  test('ends the wait, and is reported', async () => {
    const { report, picture } = await shoot(images('ok,slow:20000'), { imageTimeout: 1500 });
    expect(picture.at(50, 50)).toBe('#0000ff');
    expect(picture.at(50, 150)).not.toBe('#0000ff');
    expect(report.images).toEqual({ loaded: 1, failed: 0, pending: 1 });
    expect(report.softTimeouts).toEqual(['images']);
    expect(report.timings.settleMs).toBeGreaterThanOrEqual(1450);
    expect(report.timings.settleMs).toBeLessThan(10_000);
  });

  test('is not used up when all pictures have loaded', async () => {
    const { result, ms } = await timed(shoot(images('ok,slow:300'), { imageTimeout: 15_000 }));
    expect(result.report.images.loaded).toBe(2);
    expect(ms).toBeLessThan(12_000);
  });

  test('does not wait for pictures that failed', async () => {
    const { result, ms } = await timed(shoot(images('ok,missing'), { imageTimeout: 15_000 }));
    expect(result.report.images).toEqual({ loaded: 1, failed: 1, pending: 0 });
    expect(result.report.softTimeouts).toEqual([]);
    expect(ms).toBeLessThan(12_000);
  });

  test('of 0 waits for no picture', async () => {
    const { report } = await shoot(images('slow:20000'), { imageTimeout: 0 });
    expect(report.images.pending).toBe(1);
    expect(report.softTimeouts).toEqual([]);
  });
});
