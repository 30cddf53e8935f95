// @module-tag long
import { readProcessTree, sum } from '../../services/renderer/browser/process-tree.ts';
import { afterEach, describe, expect, test } from 'vitest';
import type { Fleet } from '../harness/fleet.ts';
import type { ServiceProcess } from '../harness/service-process.ts';
import { browsersOf, descendantsOf, isAlive } from '../harness/processes.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';
import { expectBalance } from './accounts-balance.ts';

const adminToken = 'the-admin-token-of-this-fleet';
const site = useSite();

/** Returns the renderer of the only capture in progress. A canary may run for a moment, too. */
async function busyOne({ renderers }: Fleet): Promise<ServiceProcess> {
  return until('exactly one slot to be busy', async () => {
    const busy = await Promise.all(renderers.map((renderer) => renderer.metric('webcapture_renderer_slots_busy')));
    return busy.reduce<number>((sum, count) => sum + (count ?? 0), 0) === 1 && renderers[busy.indexOf(1)];
  });
}

/** Processor time of each browser of a renderer with all its processes, in milliseconds. */
async function processorTimes(renderer: number): Promise<ReadonlyMap<number, number>> {
  const browsers = await browsersOf(renderer);
  return new Map(browsers.map((pid) => [pid, sum(readProcessTree(pid) ?? [], 'cpuMs')]));
}

/** Returns the browser with the most processor time since `before`, which is that of a new capture. `other` is the browser of an older capture. */
async function busiestSince(before: ReadonlyMap<number, number>, renderer: number, other?: number): Promise<number> {
  const now = [...(await processorTimes(renderer))]
    .filter(([pid]) => pid !== other)
    .map(([pid, ms]) => [pid, ms - (before.get(pid) ?? 0)] as const);
  const [busiest] = now.toSorted(([, a], [, b]) => b - a);
  return busiest?.[0] ?? 0;
}

/** Returns the key of a new account with isolation `browser`. */
async function openIsolated({ url }: Fleet): Promise<string> {
  const ask = async <T>(path: string, body: object): Promise<T> => {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return ((await response.json()) as { data: T }).data;
  };
  const { id: accountId } = await ask<{ id: string }>('/admin/accounts', { name: 'Apart', isolation: 'browser' });
  return (await ask<{ key: string }>('/admin/keys', { accountId, name: 'first' })).key;
}

/** Restarts the renderers that a test has killed. */
async function heal(fleet: Fleet): Promise<void> {
  for (const renderer of fleet.renderers) if (renderer.exit !== undefined) await renderer.start();
  await fleet.serving('us-east', fleet.renderers.length);
}

describe('two renderers of one region', () => {
  // Twenty captures wait for one slot, also on a busy machine.
  const fleet = useFleet({ regions: 'us-east:2', slots: 1, env: { WEBCAPTURE_QUEUE_TIMEOUT: '150' } });
  afterEach(() => heal(fleet()));

  test('one is killed during a capture: the other completes the capture once', async () => {
    const { api, usageCheck } = fleet();
    const before = await usageCheck.usage();
    const page = site().visit('/held');
    const capturing = api.captureWithFile({ url: page.url });
    await page.underWay(capturing);
    const victim = await busyOne(fleet());
    const killedAt = performance.now();
    await victim.kill('SIGKILL');
    await page.reached('/held', 2);
    // A renderer counts as dead after 5 s of silence; then the other renderer must open the page.
    expect(performance.now() - killedAt).toBeLessThan(9000);
    page.release();
    const { data, bytes } = await capturing;
    expect(page.seen('/held')).toHaveLength(2);
    expect(data.tokenCost).toBe(1);
    const record = await usageCheck.record(data.uuid);
    expect(record).toMatchObject({ status: 'completed', outcome: { fileSizeBytes: bytes.length } });
    const after = await usageCheck.usage();
    expect({ tokens: after.tokens - before.tokens, captures: after.captures - before.captures }).toEqual({
      tokens: 1,
      captures: 1,
    });
    await expectBalance(fleet());
  });

  test('one is frozen during a capture, and resumes after the other has completed it: nothing changes', async () => {
    const { api, usageCheck } = fleet();
    const before = await usageCheck.usage();
    const page = site().visit('/held');
    const capturing = api.captured({ url: page.url });
    await page.underWay(capturing);
    const victim = await busyOne(fleet());
    victim.signal('SIGSTOP');
    await page.reached('/asset/held', 2);
    page.release();
    const data = await capturing;
    const first = await usageCheck.record(data.uuid);
    victim.signal('SIGCONT');
    await until(
      'the frozen one to be free again',
      async () => (await victim.metric('webcapture_renderer_slots_busy')) === 0,
    );
    expect(await usageCheck.record(data.uuid)).toEqual(first);
    expect((await usageCheck.usage()).tokens - before.tokens).toBe(1);
    await expectBalance(fleet());
  });

  test('one is killed during twenty captures: all complete, and each is charged once', async () => {
    const { api, usageCheck, renderer } = fleet();
    const before = await usageCheck.usage();
    const captures = Array.from({ length: 20 }, (_, index) =>
      api.captured({ url: site().url('/images', { list: 'slow:200' }), viewport: { width: 200 + index, height: 200 } }),
    );
    await until('some to be done', async () => (await usageCheck.usage()).captures - before.captures >= 4);
    await renderer('us-east', 0).kill('SIGKILL');
    const results = await Promise.all(captures);
    for (const [index, { metadata }] of results.entries()) expect(metadata.width).toBe(200 + index);
    expect((await usageCheck.usage()).tokens - before.tokens).toBe(20);
    await expectBalance(fleet());
  });
});

describe('one renderer', () => {
  const slots = 2;
  const fleet = useFleet({ slots, env: { WEBCAPTURE_QUEUE_TIMEOUT: '60', WEBCAPTURE_ADMIN_TOKEN: adminToken } });
  afterEach(() => heal(fleet()));

  test('killed during a capture completes it after a restart', async () => {
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

  test('whose browser is killed during a capture completes it with another browser, and does not affect an account with its own browsers', async () => {
    const { api, renderer } = fleet();
    const key = await openIsolated(fleet());
    const { pid } = renderer('us-east');
    const [page, isolated] = [site().visit('/held'), site().visit('/held')];
    await until('all browsers to be up', async () => (await browsersOf(pid)).length === slots + 1);
    const beforePage = await processorTimes(pid);
    const capturing = api.picture({ url: page.url });
    await page.underWay(capturing);
    const shared = await busiestSince(beforePage, pid);
    const beforeIsolated = await processorTimes(pid);
    const capturingIsolated = api.captured({ url: isolated.url }, { key });
    await isolated.underWay(capturingIsolated);
    const own = await busiestSince(beforeIsolated, pid, shared);
    process.kill(shared, 'SIGKILL');
    await page.reached('/held', 2);
    for (const one of [page, isolated]) one.release();
    const { picture } = await capturing;
    expect(picture.share('#00ff00')).toBeGreaterThan(0.99);
    await capturingIsolated;
    expect(isolated.seen('/held')).toHaveLength(1);
    expect(renderer('us-east').exit).toBeUndefined();

    // The browser has ended with its capture. The next capture gets an unused browser, which also ends.
    const next = await until('new browsers to replace those that ended', async () => {
      const now = await browsersOf(pid);
      return now.length === slots + 1 && !now.includes(own) && now;
    });
    await fleet().serving('us-east', 1);
    await api.captured({ url: site().url('/color') }, { key });
    await until('the browser of the account to end', async () => {
      const now = await browsersOf(pid);
      return now.length === slots + 1 && !next.every((one) => now.includes(one));
    });
    await expectBalance(fleet());
  });

  test('stops retrying a capture that kills it on each of three deliveries, without a charge', async () => {
    const { api, usageCheck, renderer } = fleet();
    const before = await usageCheck.usage();
    const page = site().visit('/held');
    const capturing = api.refused({ url: page.url });
    for (let delivery = 1; delivery <= 3; delivery++) {
      await until(`delivery ${delivery}`, () => page.seen('/asset/held').length >= delivery);
      await renderer('us-east').kill('SIGKILL');
      await renderer('us-east').start();
    }
    const refusal = await capturing;
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_FAILED' });
    // The capture is not delivered again.
    const { picture } = await api.picture({ url: site().url('/color') });
    expect(picture.share('#00ff00')).toBe(1);
    expect(page.seen('/held')).toHaveLength(3);
    expect((await usageCheck.usage()).tokens - before.tokens).toBe(1);
    await expectBalance(fleet());
  });

  test('killed by SIGKILL leaves no process running', async () => {
    const { renderer } = fleet();
    const part = renderer('us-east');
    const processes = await descendantsOf(part.pid);
    expect(processes.length).toBeGreaterThan(0);
    await part.kill('SIGKILL');
    const alive = await Promise.all(processes.map(({ pid }) => isAlive(pid)));
    expect(processes.filter((_, index) => alive[index])).toEqual([]);
  });
});
