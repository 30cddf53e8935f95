import { afterEach, describe, expect, test } from 'vitest';
import { outcomeOf } from '../harness/api.ts';
import type { Fleet } from '../harness/fleet.ts';
import type { ServicePart } from '../harness/part.ts';
import { descendantsOf, isAlive } from '../harness/processes.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';
import { expectBalance } from './accounts-balance.ts';

const site = useSite();

/** The renderer that holds the one capture under way. A canary of the controller's may be at work beside it for a moment. */
async function busyOne({ renderers }: Fleet): Promise<ServicePart> {
  return until('exactly one renderer to be at work', async () => {
    const busy = await Promise.all(renderers.map((renderer) => renderer.metric('webcapture_renderer_slots_busy')));
    return busy.reduce<number>((sum, count) => sum + (count ?? 0), 0) === 1 && renderers[busy.indexOf(1)];
  });
}

/** Whatever a test left dead lives again. */
async function heal(fleet: Fleet): Promise<void> {
  for (const renderer of fleet.renderers) if (renderer.exit !== undefined) await renderer.start();
  await fleet.serving('us-east', fleet.renderers.length);
}

describe('two renderers of one region', () => {
  const fleet = useFleet({ regions: 'us-east:2', slots: 1 });
  afterEach(() => heal(fleet()));

  test('one that is killed in mid-capture loses nothing: the other one completes it, once', async () => {
    const { api, books } = fleet();
    const before = await books.usage();
    const page = site().visit('/held');
    const capturing = api.captureWithFile({ url: page.url });
    await page.underWay(capturing);
    const victim = await busyOne(fleet());
    const killedAt = performance.now();
    await victim.kill('SIGKILL');
    page.release();
    const { data, bytes } = await capturing;
    expect(performance.now() - killedAt).toBeLessThan(15_000);
    expect(page.seen('/held')).toHaveLength(2);
    expect(data.tokenCost).toBe(1);
    const record = await books.record(data.uuid);
    expect(record).toMatchObject({ status: 'completed', outcome: { fileSizeBytes: bytes.length } });
    const after = await books.usage();
    expect({ tokens: after.tokens - before.tokens, captures: after.captures - before.captures }).toEqual({
      tokens: 1,
      captures: 1,
    });
    await expectBalance(fleet());
  });

  test('one that freezes in mid-capture, and comes back when the other one has completed it, changes nothing', async () => {
    const { api, books } = fleet();
    const before = await books.usage();
    const page = site().visit('/held');
    const capturing = api.captured({ url: page.url });
    await page.underWay(capturing);
    const victim = await busyOne(fleet());
    victim.signal('SIGSTOP');
    await page.reached('/asset/held', 2);
    page.release();
    const data = await capturing;
    const first = await books.record(data.uuid);
    victim.signal('SIGCONT');
    await until(
      'the frozen one to be free again',
      async () => (await victim.metric('webcapture_renderer_slots_busy')) === 0,
      {
        deadlineMs: 30_000,
      },
    );
    expect(await books.record(data.uuid)).toEqual(first);
    expect((await books.usage()).tokens - before.tokens).toBe(1);
    await expectBalance(fleet());
  });

  test('twenty captures, and a renderer killed under them: all complete, each charged once', async () => {
    const { api, books, renderer } = fleet();
    const before = await books.usage();
    const captures = Array.from({ length: 20 }, (_, index) =>
      api.captured({ url: site().url('/images', { list: 'slow:200' }), viewport: { width: 200 + index, height: 200 } }),
    );
    await until('some to be done', async () => (await books.usage()).captures - before.captures >= 4, {
      deadlineMs: 20_000,
    });
    await renderer('us-east', 0).kill('SIGKILL');
    const results = await Promise.all(captures);
    for (const [index, { metadata }] of results.entries()) expect(metadata.width).toBe(200 + index);
    expect((await books.usage()).tokens - before.tokens).toBe(20);
    await expectBalance(fleet());
  });
});

describe('one renderer', () => {
  const fleet = useFleet({ slots: 2, env: { WEBCAPTURE_QUEUE_TIMEOUT: '60' } });
  afterEach(() => heal(fleet()));

  test('that is killed in mid-capture completes it after its restart', async () => {
    const { api, renderer } = fleet();
    const page = site().visit('/held');
    const capturing = api.picture({ url: page.url });
    await page.underWay(capturing);
    await renderer('us-east').kill('SIGKILL');
    await renderer('us-east').start();
    page.release();
    const { picture } = await capturing;
    expect(picture.share('#00ff00')).toBeGreaterThan(0.99);
    await expectBalance(fleet());
  });

  test('whose browser is killed in mid-capture completes it with another browser', async () => {
    const { api, renderer } = fleet();
    const page = site().visit('/held');
    const capturing = api.picture({ url: page.url });
    await page.underWay(capturing);
    const processes = await descendantsOf(renderer('us-east').pid);
    const browsers = processes.filter(({ command }) => /chrom|headless/i.test(command) && !command.includes('--type='));
    expect(browsers.length).toBeGreaterThan(0);
    for (const { pid } of browsers) process.kill(pid, 'SIGKILL');
    page.release();
    const { picture } = await capturing;
    expect(picture.share('#00ff00')).toBeGreaterThan(0.99);
    expect(renderer('us-east').exit).toBeUndefined();
    await expectBalance(fleet());
  });

  test('whose page crashes says so, or completes it, and takes the next one', async () => {
    const { api, renderer } = fleet();
    const page = site().visit('/held');
    const capturing = api.capture({ url: page.url });
    await page.underWay(capturing);
    const processes = await descendantsOf(renderer('us-east').pid);
    const pages = processes.filter(({ command }) => command.includes('--type=renderer'));
    expect(pages.length).toBeGreaterThan(0);
    for (const { pid } of pages) process.kill(pid, 'SIGKILL');
    page.release();
    const answer = await capturing;
    expect(['completed', 'CAPTURE_FAILED']).toContain(outcomeOf(answer));
    expect(answer.ms).toBeLessThan(30_000);
    const { picture } = await api.picture({ url: site().url('/colour') });
    expect(picture.share('#00ff00')).toBe(1);
    await expectBalance(fleet());
  });

  test('a capture that takes every renderer down with it is given up, and costs nothing', async () => {
    const { api, books, renderer } = fleet();
    const before = await books.usage();
    const page = site().visit('/held');
    const capturing = api.refused({ url: page.url });
    for (let delivery = 1; delivery <= 3; delivery++) {
      await until(`delivery ${delivery}`, () => page.seen('/asset/held').length >= delivery, { deadlineMs: 30_000 });
      await renderer('us-east').kill('SIGKILL');
      await renderer('us-east').start();
    }
    const refusal = await capturing;
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_FAILED' });
    // It is never delivered again.
    const { picture } = await api.picture({ url: site().url('/colour') });
    expect(picture.share('#00ff00')).toBe(1);
    expect(page.seen('/held')).toHaveLength(3);
    expect((await books.usage()).tokens - before.tokens).toBe(1);
    await expectBalance(fleet());
  }, 120_000);

  test('leaves nothing running when it is killed', async () => {
    const { renderer } = fleet();
    const part = renderer('us-east');
    const processes = await descendantsOf(part.pid);
    expect(processes.length).toBeGreaterThan(0);
    await part.kill('SIGKILL');
    const alive = await Promise.all(processes.map(({ pid }) => isAlive(pid)));
    expect(processes.filter((_, index) => alive[index])).toEqual([]);
  });
});
