import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
let live: Entries;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  live = new Entries(nats.session, 'live');
});
afterAll(() => nats[Symbol.asyncDispose]());

test('create writes a key once, and update writes only over the revision that was read', async () => {
  const first = await live.create('once', { n: 1 });
  await expect(live.create('once', { n: 2 })).rejects.toSatisfy(isWriteConflict);
  await live.update('once', { n: 3 }, first);
  await expect(live.update('once', { n: 4 }, first)).rejects.toSatisfy(isWriteConflict);
  expect(await live.get('once')).toMatchObject({ value: { n: 3 } });
});

test('a deleted key reads as absent and can be created again', async () => {
  await live.put('gone', 1);
  await live.delete('gone');
  expect(await live.get('gone')).toBeNull();
  await live.create('gone', 2);
  expect(await live.get('gone')).toMatchObject({ value: 2 });
});

test('a value with a TTL expires, and its key can be created again', async () => {
  const heard: [string, unknown][] = [];
  const stop = new AbortController();
  const watching = watchKeys(
    nats.session,
    { bucket: 'live', filter: 'brief.>', log: silentLog, signal: stop.signal },
    { reset: () => undefined, change: ({ key, value }) => heard.push([key, value]) },
  );
  // The watch must be active first, because it does not report a value that expired before.
  await live.put('brief.first', 'lasts');
  await vi.waitFor(() => expect(heard).toEqual([['brief.first', 'lasts']]), { timeout: 20_000 });
  const ofX = () => heard.filter(([key]) => key === 'brief.x');
  await live.put('brief.x', 'here', { ttlSeconds: 1 });
  await vi.waitFor(() => expect(ofX()).toEqual([['brief.x', 'here']]), { timeout: 20_000 });
  // Watchers get no message about the expiry. They check the age instead.
  await vi.waitFor(async () => expect(await live.get('brief.x')).toBeNull(), { timeout: 20_000 });
  await live.create('brief.x', 'back');
  await vi.waitFor(() => expect(heard.at(-1)).toEqual(['brief.x', 'back']), { timeout: 20_000 });
  stop.abort();
  await watching;
});

test('a watch continues after the server was killed', { tags: 'long' }, async () => {
  const heard: unknown[] = [];
  const stop = new AbortController();
  const watching = watchKeys(
    nats.session,
    { bucket: 'live', filter: 'watched.>', log: silentLog, signal: stop.signal },
    { reset: () => undefined, change: ({ value }) => heard.push(value) },
  );
  await live.put('watched.x', 'before');
  await vi.waitFor(() => expect(heard).toContain('before'), { timeout: 20_000 });
  await nats.restart();
  await vi.waitFor(() => live.put('watched.x', 'after'), { timeout: 20_000, interval: 200 });
  await vi.waitFor(() => expect(heard).toContain('after'), { timeout: 20_000 });
  stop.abort();
  await watching;
});

test('a watch that is stopped during its setup ends', async () => {
  const stop = new AbortController();
  const watching = watchKeys(
    nats.session,
    { bucket: 'live', filter: 'never.>', log: silentLog, signal: stop.signal },
    { reset: () => undefined, change: () => undefined },
  );
  stop.abort();
  await withDeadline(watching, 20_000, 'the end of the watch');
});
