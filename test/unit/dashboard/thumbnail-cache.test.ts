import { expect, test } from 'vitest';
import { ThumbnailCache } from '../../../services/dashboard/pages/captures/thumbnail-cache.ts';

/** A cache whose loads end when the test resolves them. */
function setUp(maxIdle = 1) {
  const loads: { uuid: string; end: (blob: Blob | null) => void; fail: () => void; signal: AbortSignal }[] = [];
  const live = new Set<string>();
  let made = 0;
  const cache = new ThumbnailCache({
    load: (uuid, signal) =>
      new Promise((end, reject) => loads.push({ uuid, end, fail: () => reject(new Error('reset')), signal })),
    concurrency: 2,
    maxIdle,
    retryMs: 0,
    urls: {
      createObjectURL: () => {
        const url = `blob:${++made}`;
        live.add(url);
        return url;
      },
      revokeObjectURL: (url) => void live.delete(url),
    },
  });
  return { cache, loads, live, asked: () => loads.map(({ uuid }) => uuid).join('') };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('loads two thumbnails concurrently, in order, and skips those that are no longer shown', async () => {
  const { cache, loads, asked } = setUp();
  const seen: (string | null)[] = [];
  for (const uuid of 'ab') cache.show(uuid, '1', (url) => seen.push(url));
  const hide = cache.show('c', '1', () => seen.push('hidden'));
  for (const uuid of 'de') cache.show(uuid, '1', (url) => seen.push(url));
  hide();
  expect(asked()).toBe('ab');
  loads[0]?.end(new Blob());
  await settled();
  expect([asked(), seen]).toEqual(['abd', ['blob:1']]);
  loads[1]?.end(null);
  await settled();
  expect([asked(), seen]).toEqual(['abde', ['blob:1', null]]);
});

test('aborts the load of a thumbnail that is no longer shown', () => {
  const { cache, loads } = setUp();
  cache.show('a', '1', () => {})();
  expect(loads[0]?.signal.aborted).toBe(true);
});

test('keeps a number of hidden thumbnails, revokes older ones, and never revokes a thumbnail that is shown', async () => {
  const { cache, loads, live } = setUp(1);
  const hides: (() => void)[] = [];
  for (const [index, uuid] of Array.from('abc').entries()) {
    hides.push(cache.show(uuid, '1', () => {}));
    loads[index]?.end(new Blob());
    await settled();
  }
  expect(live.size).toBe(3);
  hides[0]?.();
  hides[1]?.();
  expect([...live]).not.toContain('blob:1');
  expect(live.size).toBe(2);
  cache.clear();
  expect(live.size).toBe(0);
});

test('loads another version separately, and retries a failed load while it is shown', async () => {
  const { cache, loads, asked } = setUp();
  const seen: (string | null)[] = [];
  cache.show('a', '1', (url) => seen.push(url))();
  const hide = cache.show('a', '2', (url) => seen.push(url));
  loads[1]?.fail();
  await expect.poll(asked).toBe('aaa');
  loads[2]?.end(new Blob());
  await settled();
  expect(seen).toEqual([null, 'blob:1']);
  hide();
});
