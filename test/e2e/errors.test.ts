import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { hostileNeighbours } from '../harness/hostile-neighbours.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

describe.concurrent('NAVIGATION_FAILED', () => {
  test('nobody listens there', async () => {
    const refusal = await fleet().api.refused({ url: `http://127.0.0.1:${await freePort()}/` });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
    // It is known at once; the timeout of the page is 30 seconds.
    expect(refusal.ms).toBeLessThan(8000);
  });

  test('the site hangs up', async () => {
    const refusal = await fleet().api.refused({ url: site().url('/reset') });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
  });

  test('there is no such name', async () => {
    const refusal = await fleet().api.refused({ url: 'http://no-such-name.invalid/' });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
    expect(refusal.message).toContain('no-such-name.invalid');
  });

  test('redirects that never end', { tags: 'long' }, async () => {
    const refusal = await fleet().api.refused({ url: site().url('/redirect-loop') });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
    expect(refusal.message).toMatch(/redirect/i);
  });

  test('a download is not a page', async () => {
    const refusal = await fleet().api.refused({ url: site().url('/download') });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
    expect(refusal.message).toMatch(/download|not a page|attachment/i);
  });

  test('an answer without content is not a page', async () => {
    const refusal = await fleet().api.refused({ url: site().url('/no-content') });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
  });

  test('a server that speaks no HTTP', async () => {
    const port = await freePort();
    const server = createServer((socket) => socket.end('220 mail.example.com ready\r\n'));
    await new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve);
    });
    const refusal = await fleet().api.refused({ url: `http://127.0.0.1:${port}/` });
    server.close();
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
  });

  test('a TLS address of a plain server', async () => {
    const refusal = await fleet().api.refused({ url: `https://127.0.0.1:${site().port}/colour` });
    expect(refusal).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED' });
  });
});

describe('messages', () => {
  test('say what was wrong and nothing of what is inside', async () => {
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

describe.concurrent('a hostile page costs its own capture only', { tags: 'long' }, () => {
  test('one that is busy before it is parsed', async () => {
    const refusal = await fleet().api.refused({ url: site().url('/busy'), timeout: 5000 });
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_TIMEOUT' });
    expect(refusal.ms).toBeGreaterThan(4900);
    // By default it would be 30 seconds.
    expect(refusal.ms).toBeLessThan(20_000);
  });

  test('one that is busy once it has loaded', async () => {
    const start = performance.now();
    const { data, picture } = await fleet().api.picture({ url: site().url('/busy', { after: 'load' }), timeout: 5000 });
    // Its scripts are stopped, and what is there is taken.
    expect(picture.share('#00ff00')).toBe(1);
    expect(data.report.softTimeouts).toContain('settle');
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  test('one that opens dialogues is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/dialogs') });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('one that closes itself is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/closing') });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('one that opens windows is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/popups') });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('one that overwrites what a tool would use is captured', async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/overriding'), isFullPage: true });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('one whose document is cut off is captured as far as it came', async () => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/cut-off') });
    expect(picture.share('#00ff00')).toBe(1);
    expect(data.report.softTimeouts).toEqual(['load']);
  });
});

describe('memory', () => {
  test('a page that takes all there is fails, and the next capture is right', async () => {
    const before = await fleet().usageCheck.usage();
    const refusal = await fleet().api.refused({ url: site().url('/balloon'), timeout: 20_000 });
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_FAILED' });
    expect(refusal.message).toMatch(/crashed|memory/);
    // Long before its timeout: it fills what a page may hold within seconds.
    expect(refusal.ms).toBeLessThan(20_000);
    expect(await fleet().usageCheck.usage()).toEqual(before);
    const { picture } = await fleet().api.picture({ url: site().url('/colour') });
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('a page that takes too much memory fails by name, and nobody else pays for it', async () => {
    const { api, usageCheck } = fleet();
    const completed = async () => {
      const records = await usageCheck.records();
      return records.reduce((tokens, { status, tokenCost }) => tokens + (status === 'completed' ? tokenCost : 0), 0);
    };
    const [before, completedBefore] = [await usageCheck.usage(), await completed()];
    const html = hostileNeighbours.find(({ name }) => name === 'memory')?.html;
    // It would be captured as it stands before it has taken that much.
    const hostile = api.refused({ html, delay: 15_000 });
    for (let count = 0; count < 3; count += 1) await api.captured({ html: `<p>${count}` });
    expect(await hostile).toMatchObject({
      status: 500,
      code: 'CAPTURE_FAILED',
      message: 'The page exceeded the memory limit of a page, 768 MiB.',
    });
    const after = await until('all to be settled', async () => {
      const usage = await usageCheck.usage();
      return usage.reserved === 0 ? usage : undefined;
    });
    expect([after.tokens - before.tokens, after.captures - before.captures]).toEqual([3, 3]);
    expect((await completed()) - completedBefore).toBe(3);
  });
});

test('after all of that the fleet is as it was', async () => {
  const { api, usageCheck, renderers } = fleet();
  const results = await Promise.all(Array.from({ length: 8 }, () => api.picture({ url: site().url('/quadrants') })));
  for (const { picture } of results) expect(picture.at(150, 50)).toBe('#00ff00');
  expect(renderers[0]?.exit).toBeUndefined();
  await until('the queue to be empty', async () => (await usageCheck.queued()) === 0);
});
