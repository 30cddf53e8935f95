import { beforeEach, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { ReadCache, WatchedReadCache } from '../../../services/front/read-cache.ts';

let notifyWrite: (subject: string) => void;
let connection: { up: boolean; id: number };
let reads: number;
let recent: WatchedReadCache<string | null>;
let values: Record<string, string | null>;

beforeEach(() => {
  connection = { up: true, id: 1 };
  reads = 0;
  values = { a: 'one', b: 'two', c: 'three' };
  const nc = {
    get info() {
      return { server_id: 's', client_id: connection.id };
    },
    subscribe: (_: string, { callback }: { callback: (error: null, message: { subject: string }) => void }) => {
      notifyWrite = (subject) => callback(null, { subject });
    },
  };
  const session = { nc, connected: () => connection.up } as unknown as NatsSession;
  recent = new WatchedReadCache(session, '>', { maxAgeMs: 60_000, maxEntries: 2 });
});

const get = (subject: string) =>
  recent.get(subject, async () => {
    reads++;
    return values[subject] ?? null;
  });

test('a value is read once, also by concurrent reads', async () => {
  expect([await get('a'), await get('a'), ...(await Promise.all([get('b'), get('b')]))]).toEqual([
    'one',
    'one',
    'two',
    'two',
  ]);
  expect(reads).toBe(2);
});

test('a write discards the value, also that of a pending read', async () => {
  let bring: (value: string) => void = () => {};
  const before = recent.get('a', () => new Promise((resolve) => (bring = resolve)));
  notifyWrite('a');
  values['a'] = 'new';
  expect(await get('a')).toBe('new');
  bring('old');
  expect(await before).toBe('old');
  expect(await get('a')).toBe('new');
  notifyWrite('b');
  expect(await get('a')).toBe('new');
  expect(reads).toBe(1);
});

test('nothing is served from the cache without the connection, or after a reconnect', async () => {
  await get('a');
  connection.up = false;
  await get('a');
  connection.up = true;
  await get('a');
  expect(reads).toBe(2);
  connection.id = 2;
  await get('a');
  expect(reads).toBe(3);
});

test('missing and failed values are not cached', async () => {
  values['a'] = null;
  expect([await get('a'), await get('a')]).toEqual([null, null]);
  expect(reads).toBe(2);
  await expect(recent.get('b', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await get('b')).toBe('two');
});

test('the least recently used value is evicted', async () => {
  for (const subject of ['a', 'b', 'c', 'b', 'c']) await get(subject);
  expect(reads).toBe(3);
  await get('a');
  expect(reads).toBe(4);
});

test('a value is read again after its maximum age', async () => {
  const session = { nc: { subscribe: () => undefined, info: {} }, connected: () => true } as unknown as NatsSession;
  let time = 1;
  const short = new WatchedReadCache<number>(session, '>', { maxAgeMs: 1, now: () => (time += 2) });
  expect([await short.get('a', async () => 1), await short.get('a', async () => 2)]).toEqual([1, 2]);
});

test('a listener is called for writes to its subject until it unsubscribes', () => {
  const heard: string[] = [];
  const leave = recent.onWrite('a', () => heard.push('first'));
  recent.onWrite('a', () => heard.push('second'));
  notifyWrite('a');
  notifyWrite('b');
  leave();
  notifyWrite('a');
  expect(heard).toEqual(['first', 'second', 'second']);
});

test('without a maximum age, only concurrent callers share a read', async () => {
  const cache = new ReadCache<number>();
  const read = async () => ++reads;
  expect(await Promise.all([cache.get('a', read), cache.get('a', read), cache.get('b', read)])).toEqual([1, 1, 2]);
  expect(await cache.get('a', read)).toBe(3);
  await expect(cache.get('a', () => Promise.reject(new Error('unavailable')))).rejects.toThrow('unavailable');
  expect(await cache.get('a', read)).toBe(4);
});
