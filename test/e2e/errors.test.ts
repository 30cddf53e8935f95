import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { hostileNeighbors } from '../harness/hostile-neighbors.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

describe.concurrent('NAVIGATION_FAILED', () => {
  test('a port without a listener', async () => {
    const refusal = await fleet().api.refused({ url: `http://127.0.0.1:${await freePort()}/` });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
    // The failure is immediate; the timeout of the page is 30 seconds.
    expect(refusal.ms).toBeLessThan(8000);
  });

  test('a site that closes the connection', { tags: 'long' }, async () => {
    const refusal = await fleet().api.refused({ url: site().url('/reset') });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
  });

  test('a name that does not exist', async () => {
    const refusal = await fleet().api.refused({ url: 'http://no-such-name.invalid/' });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
    expect(refusal.message).toContain('no-such-name.invalid');
  });

  test('endless redirects', { tags: 'long' }, async () => {
    const refusal = await fleet().api.refused({ url: site().url('/redirect-loop') });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
    expect(refusal.message).toMatch(/redirect/i);
  });

  test('a download instead of a page', { tags: 'long' }, async () => {
    const refusal = await fleet().api.refused({ url: site().url('/download') });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
    expect(refusal.message).toMatch(/download|not a page|attachment/i);
  });

  test('a response without content', { tags: 'long' }, async () => {
    const refusal = await fleet().api.refused({ url: site().url('/no-content') });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
  });

  test('a server that does not speak HTTP', { tags: 'long' }, async () => {
    const port = await freePort();
    const server = createServer((socket) => socket.end('220 mail.example.com ready\r\n'));
    await new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve);
    });
    const refusal = await fleet().api.refused({ url: `http://127.0.0.1:${port}/` });
    server.close();
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
  });

  test('an https address of a plain http server', { tags: 'long' }, async () => {
    const refusal = await fleet().api.refused({ url: `https://127.0.0.1:${site().port}/color` });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
  });
});

describe('messages', () => {
  test('describe the failure without internal details', async () => {
    const pages = ['/reset', '/redirect-loop', '/download'];
    for (const path of pages) {
      const { message } = await fleet().api.refused({ url: site().url(path, { token: 'secret' }) });
      expect(message).toMatch(/^[A-Z].*\.$/s);
      expect(message).not.toMatch(
        /playwright|page\.goto|Call log|chromium|cdp|protocol error|\.ts|node_modules|secret|proxy/i,
      );
    }
  });
});

describe.concurrent('a hostile page affects only its own capture', { tags: 'long' }, () => {
  test('a page that blocks the main thread before it is parsed', async () => {
    const refusal = await fleet().api.refused({ url: site().url('/busy'), timeout: 5000 });
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_TIMEOUT' });
    expect(refusal.ms).toBeGreaterThan(4900);
    // The default would be 30 seconds.
    expect(refusal.ms).toBeLessThan(20_000);
  });

  test('a page that blocks the main thread after it has loaded', async () => {
    const start = performance.now();
    const { data, picture } = await fleet().api.picture({ url: site().url('/busy', { after: 'load' }), timeout: 5000 });
    // The page's scripts are stopped, and its current state is captured.
    expect(picture.share('#00ff00')).toBe(1);
    expect(data.report.softTimeouts).toContain('settle');
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  test('a page that opens dialogs is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/dialogs') });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('a page that closes itself is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/closing') });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('a page that opens windows is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/popups') });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('a page that overwrites globals is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/overriding'), isFullPage: true });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('a page whose document is cut off is captured up to that point', async () => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/cut-off') });
    expect(picture.share('#00ff00')).toBe(1);
    expect(data.report.softTimeouts).toEqual(['load']);
  });
});

describe('memory', { tags: 'long' }, () => {
  test('a page that takes all memory fails, and the next capture is correct', async () => {
    const before = await fleet().usageCheck.usage();
    const refusal = await fleet().api.refused({ url: site().url('/balloon'), timeout: 20_000 });
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_FAILED' });
    expect(refusal.message).toMatch(/crashed|memory/);
    // The page reaches the memory limit within seconds, long before the timeout.
    expect(refusal.ms).toBeLessThan(20_000);
    expect(await fleet().usageCheck.usage()).toEqual(before);
    const { picture } = await fleet().api.picture({ url: site().url('/color') });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('a page that takes too much memory fails with the reason, and affects no other capture', async () => {
    const { api, usageCheck } = fleet();
    const completed = async () => {
      const records = await usageCheck.records();
      return records.reduce((tokens, { status, tokenCost }) => tokens + (status === 'completed' ? tokenCost : 0), 0);
    };
    const [before, completedBefore] = [await usageCheck.usage(), await completed()];
    const html = hostileNeighbors.find(({ name }) => name === 'memory')?.html;
    // Without the wait, the page would be captured before it has taken that much memory.
    const hostile = api.refused({ html, delay: 15_000 });
    for (let count = 0; count < 3; count += 1) await api.captured({ html: `<p>${count}` });
    expect(await hostile).toMatchObject({
      status: 500,
      code: 'CAPTURE_FAILED',
      message: 'The page exceeded the memory limit of a page, 768 MiB.',
    });
    const after = await until('all results to be settled', async () => {
      const usage = await usageCheck.usage();
      return usage.reserved === 0 ? usage : undefined;
    });
    expect([after.tokens - before.tokens, after.captures - before.captures]).toEqual([3, 3]);
    expect((await completed()) - completedBefore).toBe(3);
  });
});

test('after all of this the fleet is operational and its queue empty', async () => {
  const { api, usageCheck, renderers } = fleet();
  const results = await Promise.all(Array.from({ length: 8 }, () => api.picture({ url: site().url('/quadrants') })));
  for (const { picture } of results) expect(picture.at(150, 50)).toBe('#00ff00');
  expect(renderers[0]?.exit).toBeUndefined();
  await until('the queue to be empty', async () => (await usageCheck.queued()) === 0);
});
