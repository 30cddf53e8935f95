import { describe, expect, test } from 'vitest';
import { fastest } from '../harness/fastest.ts';
import { useFleet, useSite } from '../harness/use.ts';

// Most of these wait for something, so that many can go on at once.
const fleet = useFleet({ slots: 6 });
const site = useSite();

describe.concurrent('timeout: the hard kind', () => {
  test.for(['load', 'domcontentloaded', 'networkidle', 'commit'] as const)(
    'no answer of the page until it ends the capture, with %s',
    async (waitUntil) => {
      const refusal = await fleet().api.refused({ url: site().url('/hang'), timeout: 5000, waitUntil });
      expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_TIMEOUT' });
      expect(refusal.message).toMatch(/timeout|5000|5 s/i);
      expect(refusal.ms).toBeGreaterThan(4900);
      // Of six at a time; by default it would be 30 seconds.
      expect(refusal.ms).toBeLessThan(20_000);
    },
  );

  test('neither is a page captured whose document never ends', async () => {
    const refusal = await fleet().api.refused({ url: site().url('/drip'), timeout: 5000 });
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_TIMEOUT' });
  });

  test('a page that answers just in time is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/slow', { delay: 5000 }), timeout: 10_000 });
    expect(picture.share('#00ff00')).toBe(1);
  });
});

describe.concurrent('timeout: the soft kind', () => {
  test('a load event that does not come is named, and the page captured as it stands', async () => {
    const body = { url: site().url('/late-load'), timeout: 5000, imageTimeout: 0 };
    const start = performance.now();
    const { data, picture } = await fleet().api.picture(body);
    expect(performance.now() - start).toBeGreaterThan(4900);
    expect(performance.now() - start).toBeLessThan(20_000);
    expect(picture.at(600, 400)).toBe('#00ff00');
    expect(data.report.softTimeouts).toContain('load');
  });

  test('so is a network that is never idle', async () => {
    const { data, picture } = await fleet().api.picture({
      url: site().url('/polling'),
      timeout: 5000,
      waitUntil: 'networkidle',
    });
    expect(data.report.softTimeouts).toEqual(['networkidle']);
    expect(picture.share('#ff0000')).toBe(1);
  });

  test('so is a font that does not come: its text is shown in another one', async () => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/font-hang'), timeout: 5000 });
    expect(data.report.softTimeouts).toContain('fonts');
    expect(picture.share('#000000', 60)).toBeGreaterThan(0.001);
  });

  test('a stylesheet that does not come leaves the rest of the page visible', async () => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/style-hang'), timeout: 5000 });
    expect(data.report.softTimeouts).toContain('load');
    expect(picture.at(600, 50)).toBe('#00ff00');
  });
});

describe.concurrent('waitUntil', () => {
  test('load waits for the load event', async () => {
    const { data } = await fleet().api.picture({ url: site().url('/late-load', { delay: 1500 }), waitUntil: 'load' });
    expect(data.report.softTimeouts).toEqual([]);
    expect(data.report.timings.navigateMs).toBeGreaterThanOrEqual(1450);
  });

  test.for(['/asset/image', '/asset/style', '/asset/script'])(
    'load waits for a slow %s for as long as the timeout allows',
    async (path) => {
      const page = site().visit('/slow-part', { path, delay: 12_000 });
      const { data } = await fleet().api.picture({ url: page.url });
      expect(data.report.softTimeouts).toEqual([]);
      expect(data.report.title).toBe('it came');
      expect(data.report.timings.navigateMs).toBeGreaterThanOrEqual(11_900);
    },
  );

  test('networkidle waits for a slow answer to a script for as long as the timeout allows', async () => {
    const body = { url: site().url('/slow-answer', { delay: 12_000 }), waitUntil: 'networkidle', timeout: 60_000 };
    const { data } = await fleet().api.picture(body);
    expect(data.report.title).toBe('it came');
    expect(data.report.softTimeouts).toEqual([]);
  });

  test('domcontentloaded does not', async () => {
    const url = site().url('/late-load', { delay: 20_000 });
    const { data, picture } = await fleet().api.picture({ url, waitUntil: 'domcontentloaded', imageTimeout: 0 });
    expect(picture.at(600, 400)).toBe('#00ff00');
    expect(data.processingTimeMs).toBeLessThan(15_000);
  });

  test.for(['yes', 'no'])('networkidle waits until the page has asked for all it wants, read=%s', async (read) => {
    const body = { url: site().url('/polling', { times: 12, read }), waitUntil: 'networkidle' };
    const { data, picture } = await fleet().api.picture(body);
    expect(picture.share('#00ff00')).toBe(1);
    expect(data.report.softTimeouts).toEqual([]);
  });

  test('commit shows what has come when the page begins', async () => {
    const url = site().url('/two-halves', { delay: 20_000 });
    const { data, picture } = await fleet().api.picture({ url, waitUntil: 'commit', imageTimeout: 0 });
    expect(picture.share('#00ff00')).toBe(1);
    expect(data.processingTimeMs).toBeLessThan(15_000);
  });

  test.for(['load', 'domcontentloaded'] as const)('%s waits for the whole document', async (waitUntil) => {
    const { picture } = await fleet().api.picture({ url: site().url('/two-halves', { delay: 1500 }), waitUntil });
    expect(picture.share('#0000ff')).toBe(1);
  });

  test('load is the default', async () => {
    const { data } = await fleet().api.picture({ url: site().url('/polling') });
    expect(data.report.softTimeouts).toEqual([]);
  });
});

describe.concurrent('imageTimeout', () => {
  const images = (list: string) => site().visit('/images', { list, after: 'load' });

  test('waits for pictures that come after the load event', async () => {
    const { data, picture } = await fleet().api.picture({ url: images('slow:1500').url, imageTimeout: 15_000 });
    expect(picture.at(50, 50)).toBe('#0000ff');
    expect(data.report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
    expect(data.report.softTimeouts).toEqual([]);
    expect(data.report.timings.settleMs).toBeGreaterThanOrEqual(1300);
  });

  test('ends the wait, and names it', async () => {
    const { data, picture } = await fleet().api.picture({ url: images('ok,slow:20000').url, imageTimeout: 2500 });
    expect(picture.at(50, 50)).toBe('#0000ff');
    expect(picture.at(50, 150)).not.toBe('#0000ff');
    expect(data.report.images).toEqual({ loaded: 1, failed: 0, pending: 1 });
    expect(data.report.softTimeouts).toEqual(['images']);
    expect(data.report.timings.settleMs).toBeGreaterThanOrEqual(2450);
    expect(data.report.timings.settleMs).toBeLessThan(10_000);
  });

  test('is 3 seconds by default', async () => {
    const { data } = await fleet().api.picture({ url: images('hang').url });
    expect(data.report.images.pending).toBe(1);
    expect(data.report.timings.settleMs).toBeGreaterThanOrEqual(2900);
    expect(data.report.timings.settleMs).toBeLessThan(8000);
  });

  test('returns early when all have come', async () => {
    const { data } = await fleet().api.picture({ url: images('ok,slow:300').url, imageTimeout: 15_000 });
    expect(data.report.images.loaded).toBe(2);
    expect(data.processingTimeMs).toBeLessThan(12_000);
  });

  test('does not wait for pictures that cannot come', async () => {
    const { data } = await fleet().api.picture({ url: images('ok,missing').url, imageTimeout: 15_000 });
    expect(data.report.images).toEqual({ loaded: 1, failed: 1, pending: 0 });
    expect(data.report.softTimeouts).toEqual([]);
    expect(data.processingTimeMs).toBeLessThan(12_000);
  });

  test('of 0 waits for none', async () => {
    const processingTimeMs = await fastest(3000, async () => {
      const { data } = await fleet().api.picture({ url: images('slow:20000').url, imageTimeout: 0 });
      expect(data.report.images.pending).toBe(1);
      return data.processingTimeMs;
    });
    expect(processingTimeMs).toBeLessThan(3000);
  });
});

describe.concurrent('delay', () => {
  test.for([
    [0, 15_000, '#ff0000'],
    [2500, 1200, '#00ff00'],
  ] as const)('of %d ms, for a page that changes after %d ms', async ([delay, after, colour]) => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/changing', { delay: after }), delay });
    expect(picture.share(colour)).toBe(1);
    expect(data.report.timings.settleMs).toBeGreaterThanOrEqual(delay);
    expect(data.processingTimeMs).toBeGreaterThanOrEqual(delay);
    expect(data.processingTimeMs).toBeLessThan(delay + 30_000);
  });
});

test('the times of the report add up to what the answer says, and that to what the client waited', async () => {
  const body = { url: site().url('/late-load', { delay: 600 }), delay: 400 };
  const besideMs = await fastest(500, async () => {
    const answer = await fleet().api.capture(body);
    const { processingTimeMs, report } = answer.body?.data ?? { processingTimeMs: Number.NaN, report: undefined };
    const parts = Object.values(report?.timings ?? {}).reduce((sum, ms) => sum + ms, 0);
    expect(parts).toBeGreaterThanOrEqual(980);
    expect(parts).toBeLessThanOrEqual(processingTimeMs + 5);
    expect(processingTimeMs).toBeLessThanOrEqual(Math.ceil(answer.ms));
    return answer.ms - processingTimeMs;
  });
  expect(besideMs).toBeLessThan(500);
});
