import { JetStreamApiError, type JetStreamClient } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import type { StoredFile } from '@webcapture/shared/storage/file-store.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { another, bytesOf as readBytes, pair as filePair } from './support/store-suite.ts';

let nats: TestNats;
let store: EmbeddedStore;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const part = 256 * 1024;

const pair = (oldSize?: number, newSize?: number) => filePair(store, oldSize, newSize);
const bytesOf = (file: StoredFile) => readBytes(store, file);

async function subjectsOf(name: string): Promise<string[]> {
  const info = await nats.session.jsm.streams.info(streamNames.files, { subjects_filter: 'files.>' });
  return Object.keys(info.state.subjects ?? {}).filter((subject) => subject.includes(name.replaceAll('.', '_')));
}

type Publish = JetStreamClient['publish'];

/** A store whose publishes of heads, or of parts, go through `between`. */
function storeWith(between: (send: () => ReturnType<Publish>) => ReturnType<Publish>, kind: 'head' | 'part' = 'head') {
  const { js } = nats.session;
  const publish: Publish = (...args) =>
    args[0].startsWith(`files.${kind}.`) ? between(() => js.publish(...args)) : js.publish(...args);
  const proxy = new Proxy(js, { get: (_, key) => (key === 'publish' ? publish : Reflect.get(js, key)) });
  return new EmbeddedStore({ ...nats.session, js: proxy });
}

test('who reads while the file is replaced twice gets the old bytes or an error, nothing of another file', async () => {
  const { old, stored, next } = await pair(40 * part);
  const reading = store.read(stored)[Symbol.asyncIterator]();
  const chunks = [(await reading.next()).value as Uint8Array];
  const second = await store.replace(next, stored);
  await store.replace(another(old, 40 * part), second as StoredFile);
  const rest = async () => {
    for (let read = await reading.next(); read.done !== true; read = await reading.next()) chunks.push(read.value);
  };
  await expect(rest()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  const read = Buffer.concat(chunks);
  expect(read.equals(old.bytes.subarray(0, read.length))).toBe(true);
});

describe('nothing is written, and the caller is told, when the file', () => {
  test('was replaced meanwhile', async () => {
    const { old, stored, next } = await pair();
    const first = await store.replace(next, stored);
    expect(await store.replace(another(old), stored)).toBeNull();
    expect(await store.stat(old.name)).toEqual(first);
    // A head, its parts, and the parts of what it replaced.
    expect(await subjectsOf(old.name)).toHaveLength(1 + 4 + 2);
  });

  test('was removed', async () => {
    const { old, stored, next } = await pair();
    await store.remove(old.name);
    expect(await store.replace(next, stored)).toBeNull();
    expect(await subjectsOf(old.name)).toEqual([]);
  });

  test('is removed between the parts and the head', async () => {
    const { old, stored, next } = await pair();
    const late = storeWith(async (send) => {
      await store.remove(old.name);
      return send();
    });
    expect(await late.replace(next, stored)).toBeNull();
    expect(await subjectsOf(old.name)).toEqual([]);
  });

  test('is replaced between the parts and the head', async () => {
    const { old, stored, next } = await pair();
    const winner = another(old);
    const late = storeWith(async (send) => {
      await store.replace(winner, stored);
      return send();
    });
    expect(await late.replace(next, stored)).toBeNull();
    const found = (await store.stat(old.name)) as StoredFile;
    expect((await bytesOf(found)).equals(winner.bytes)).toBe(true);
    expect(await subjectsOf(old.name)).toHaveLength(1 + 1 + 2);
  });
});

test('of many at once those that lose leave nothing behind', async () => {
  const { old, stored } = await pair();
  const files = Array.from({ length: 8 }, () => another(old));
  await Promise.all(files.map((file) => store.replace(file, stored)));
  expect(await subjectsOf(old.name)).toHaveLength(1 + 1 + 2);
});

describe('a lost acknowledgement', () => {
  test('is no conflict', async () => {
    const { old, stored, next } = await pair();
    let sent = 0;
    const forgetful = storeWith(async (send) => {
      sent++;
      const ack = await send();
      if (sent === 1) throw new TimeoutError();
      return ack;
    });
    const replaced = await forgetful.replace(next, stored);
    expect(sent).toBe(2);
    expect(replaced).not.toBeNull();
    expect(await store.stat(old.name)).toEqual(replaced);
    expect((await bytesOf(replaced as StoredFile)).equals(next.bytes)).toBe(true);
  });

  test('is none either when somebody has replaced the file since', async () => {
    const { old, stored, next } = await pair();
    const winner = another(old);
    let sent = 0;
    const forgetful = storeWith(async (send) => {
      const ack = await send();
      if (++sent > 1) return ack;
      await store.replace(winner, (await store.stat(old.name)) as StoredFile);
      throw new TimeoutError();
    });
    expect(await forgetful.replace(next, stored)).toMatchObject({ size: next.bytes.length });
    expect((await bytesOf((await store.stat(old.name)) as StoredFile)).equals(winner.bytes)).toBe(true);
  });

  test('of a write that the server has under way still is waited for', async () => {
    const { old, stored, next } = await pair();
    let sent = 0;
    const slow = storeWith((send) => {
      const underWay = { code: 400, err_code: 10164, description: 'wrong last sequence' };
      return ++sent < 3 ? Promise.reject(new JetStreamApiError(underWay)) : send();
    });
    const replaced = await slow.replace(next, stored);
    expect(sent).toBe(3);
    expect(await store.stat(old.name)).toEqual(replaced);
    expect((await bytesOf(replaced as StoredFile)).equals(next.bytes)).toBe(true);
  });

  test('by the death of the server leaves the new file, whole', async () => {
    const { old, stored, next } = await pair();
    let sent = 0;
    const forgetful = storeWith(async (send) => {
      const sending = send();
      if (++sent > 1) return sending;
      await sending;
      await nats.restart();
      throw new TimeoutError();
    });
    const replaced = await forgetful.replace(next, stored);
    expect(await store.stat(old.name)).toEqual(replaced);
    expect((await bytesOf(replaced as StoredFile)).equals(next.bytes)).toBe(true);
  });
});

test('the death of the server while parts are written is waited out', async () => {
  const { old, stored, next } = await pair(part, 60 * part);
  const replacing = store.replace(next, stored);
  await nats.restart();
  const replaced = await replacing;
  expect(replaced).not.toBeNull();
  const found = (await store.stat(old.name)) as StoredFile;
  expect((await bytesOf(found)).equals(next.bytes)).toBe(true);
});

test('parts of a file go with the second replacement, and all with the removal', async () => {
  const { old, stored, next } = await pair();
  const second = (await store.replace(next, stored)) as StoredFile;
  expect(await subjectsOf(old.name)).toHaveLength(1 + 4 + 2);
  await store.replace(another(old), second);
  expect(await subjectsOf(old.name)).toHaveLength(1 + 1 + 4);
  await store.remove(old.name);
  expect(await subjectsOf(old.name)).toEqual([]);
});

test('removal takes along what a writing left that did not come to its end', async () => {
  const { old, stored, next } = await pair();
  const failing = storeWith(() => Promise.reject(new Error('broken')));
  await expect(failing.replace(next, stored)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await store.stat(old.name)).toEqual(stored);
  expect((await bytesOf(stored)).equals(old.bytes)).toBe(true);
  await store.remove(old.name);
  expect(await subjectsOf(old.name)).toEqual([]);
});

test('head and parts live as long as the new file says, the parts a little longer', async () => {
  const { old, stored } = await pair();
  const next = another(old, 2 * part);
  await store.replace({ ...next, expiresAt: Date.now() + 7_200_000 }, stored);
  const ttls = new Map<string, number>();
  for (const subject of await subjectsOf(old.name)) {
    const message = await nats.session.jsm.streams.getMessage(streamNames.files, { last_by_subj: subject });
    const kind = subject.includes('.head.') ? 'head' : 'part';
    ttls.set(kind, Math.max(ttls.get(kind) ?? 0, Number.parseInt(message?.header.get('Nats-TTL') ?? '', 10)));
  }
  expect(Math.abs((ttls.get('head') ?? 0) - 7200)).toBeLessThan(60);
  expect(Math.abs((ttls.get('part') ?? 0) - 7500)).toBeLessThan(60);
});

test('a replaced file goes by itself when its time is over', async () => {
  const { old, stored, next } = await pair();
  await store.replace({ ...next, expiresAt: Date.now() + 1000 }, stored);
  await expect.poll(() => store.stat(old.name), { timeout: 20_000 }).toBeNull();
  await expect
    .poll(async () => (await subjectsOf(old.name)).filter((subject) => subject.includes('.head.')), { timeout: 20_000 })
    .toEqual([]);
});

test('parts that cannot all be written leave the old file, and nothing of the new one', async () => {
  const { old, stored } = await pair();
  let sent = 0;
  const failing = storeWith(async (send) => {
    const ack = await send();
    if (++sent === 5) throw new Error('broken');
    return ack;
  }, 'part');
  await expect(failing.replace(another(old, 20 * part), stored)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(sent).toBe(20);
  expect(await subjectsOf(old.name)).toHaveLength(1 + 2);
  expect((await bytesOf(stored)).equals(old.bytes)).toBe(true);
});
