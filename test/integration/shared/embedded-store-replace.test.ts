// @module-tag long
import { JetStreamApiError, type JetStreamClient } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import type { StoredFile } from '@webcapture/shared/files/file-store.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { asRefresh, expectedOf, placeFile, replaceFile } from '../../harness/place-file.ts';
import { newFile, type NamedFile } from '../../harness/records.ts';
import { another, bytesOf as readBytes, pair as filePair, part } from './support/stored-files.ts';

let nats: TestNats;
let store: EmbeddedStore;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const pair = (oldSize?: number, newSize?: number) => filePair(store, oldSize, newSize);
const bytesOf = (file: StoredFile) => readBytes(store, file);

const uploader = () => new EmbeddedUploader(nats.session);
const replace = (file: NamedFile, through: EmbeddedStore = store) =>
  replaceFile({ store: through, uploader: uploader() }, file);

/** Returns the subjects of all messages of a capture. */
async function subjectsOf(name: string): Promise<string[]> {
  const info = await nats.session.jsm.streams.info(streamNames.files, { subjects_filter: 'files.>' });
  return Object.keys(info.state.subjects ?? {}).filter((subject) => subject.includes(name.slice(0, 36)));
}

type Publish = JetStreamClient['publish'];

/** Returns a store that calls `between` when it publishes a head. */
function storeWith(between: (send: () => ReturnType<Publish>) => ReturnType<Publish>) {
  const { js } = nats.session;
  const publish: Publish = (...args) =>
    args[0].startsWith('files.head.') ? between(() => js.publish(...args)) : js.publish(...args);
  const proxy = new Proxy(js, { get: (_, key) => (key === 'publish' ? publish : Reflect.get(js, key)) });
  return new EmbeddedStore({ ...nats.session, js: proxy });
}

test('a reader of a file that is replaced twice gets the old bytes or an error, and no other bytes', async () => {
  const { old, stored, next } = await pair(40 * part);
  const reading = store.read(stored)[Symbol.asyncIterator]();
  const chunks = [(await reading.next()).value as Uint8Array];
  await replace(next);
  await replace(another(old, 40 * part));
  const rest = async () => {
    for (let read = await reading.next(); read.done !== true; read = await reading.next()) chunks.push(read.value);
  };
  await expect(rest()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  const read = Buffer.concat(chunks);
  expect(read.equals(old.bytes.subarray(0, read.length))).toBe(true);
});

describe('between the check and the write of the new head, a file that', () => {
  test('is removed is created again with all its bytes', async () => {
    const { old, next } = await pair();
    let sent = 0;
    const late = storeWith(async (send) => {
      if (++sent === 1) await store.remove(old.name);
      return send();
    });
    const replaced = await replace(next, late);
    expect(sent).toBe(2);
    expect(await store.stat(old.name)).toEqual(replaced);
    expect((await bytesOf(replaced)).equals(next.bytes)).toBe(true);
  });

  test('gets other content is replaced once more, and the first replacement leaves no messages', async () => {
    const { old, next } = await pair();
    const winner = another(old);
    let sent = 0;
    const late = storeWith(async (send) => {
      if (++sent === 1) await replace(winner);
      return send();
    });
    const replaced = await replace(next, late);
    expect(sent).toBe(2);
    expect((await bytesOf((await store.stat(old.name)) as StoredFile)).equals(next.bytes)).toBe(true);
    expect(replaced.size).toBe(next.bytes.length);
    // The messages are the head, its parts, and the part of the file that it replaced.
    expect(await subjectsOf(old.name)).toHaveLength(1 + 4 + 1);
  });
});

test('concurrent replacements that lose leave no messages', async () => {
  const { old } = await pair();
  const files = Array.from({ length: 4 }, () => another(old));
  await Promise.all(files.map((file) => replace(file)));
  expect(await subjectsOf(old.name)).toHaveLength(1 + 1 + 1);
});

describe('a lost acknowledgement', () => {
  test('is not taken for a conflict', async () => {
    const { old, next } = await pair();
    let sent = 0;
    const forgetful = storeWith(async (send) => {
      sent++;
      const ack = await send();
      if (sent === 1) throw new TimeoutError();
      return ack;
    });
    const replaced = await replace(next, forgetful);
    expect(sent).toBe(2);
    expect(await store.stat(old.name)).toEqual(replaced);
    expect((await bytesOf(replaced)).equals(next.bytes)).toBe(true);
  });

  test('is waited for while the server still processes the write', async () => {
    const { old, next } = await pair();
    let sent = 0;
    const slow = storeWith((send) => {
      const underWay = { code: 400, err_code: 10164, description: 'wrong last sequence' };
      return ++sent < 3 ? Promise.reject(new JetStreamApiError(underWay)) : send();
    });
    const replaced = await replace(next, slow);
    expect(sent).toBe(3);
    expect(await store.stat(old.name)).toEqual(replaced);
    expect((await bytesOf(replaced)).equals(next.bytes)).toBe(true);
  });

  test('because the server was killed leaves the whole new file', async () => {
    const { old, next } = await pair();
    let sent = 0;
    const forgetful = storeWith(async (send) => {
      const sending = send();
      if (++sent > 1) return sending;
      await sending;
      await nats.restart();
      throw new TimeoutError();
    });
    const replaced = await replace(next, forgetful);
    expect(await store.stat(old.name)).toEqual(replaced);
    expect((await bytesOf(replaced)).equals(next.bytes)).toBe(true);
  });
});

test('a replacement continues after the server was killed while parts were written', async () => {
  const { old, next } = await pair(part, 60 * part);
  const replacing = replace(next);
  await nats.restart();
  await replacing;
  const found = (await store.stat(old.name)) as StoredFile;
  expect((await bytesOf(found)).equals(next.bytes)).toBe(true);
});

test('the parts of a file are removed with the second replacement, and all messages with the removal', async () => {
  const { old, next } = await pair();
  await replace(next);
  expect(await subjectsOf(old.name)).toHaveLength(1 + 4 + 2);
  await replace(another(old));
  expect(await subjectsOf(old.name)).toHaveLength(1 + 1 + 4);
  await store.remove(old.name);
  expect(await subjectsOf(old.name)).toEqual([]);
});

test('the upload of another delivery of a refresh is removed with the file that was put in place', async () => {
  const { old, next } = await pair();
  const refresh = asRefresh(next);
  await uploader().upload(refresh).stored;
  await placeFile({ store, uploader: uploader() }, refresh);
  expect(await subjectsOf(old.name)).toHaveLength(1 + 4 + 4 + 2);
  await replace(another(old));
  await replace(another(old));
  expect(await subjectsOf(old.name)).toHaveLength(1 + 1 + 1);
});

test('removal also removes the messages of an unfinished replacement', async () => {
  const { old, stored, next } = await pair();
  const failing = storeWith(() => Promise.reject(new Error('broken')));
  await uploader().upload(old).stored;
  await expect(
    failing.accept(await uploader().upload(next).stored, expectedOf(next, { isRefresh: true })),
  ).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
  });
  expect(await store.stat(old.name)).toEqual(stored);
  expect((await bytesOf(stored)).equals(old.bytes)).toBe(true);
  await store.remove(old.name);
  expect(await subjectsOf(old.name)).toEqual([]);
});

test('head and parts expire with the new file, the parts a little later', async () => {
  const { old } = await pair();
  const next = another(old, 2 * part);
  await replace({ ...next, expiresAt: Date.now() + 7_200_000 });
  const ttls = new Map<string, number>();
  for (const subject of await subjectsOf(old.name)) {
    const message = await nats.session.jsm.streams.getMessage(streamNames.files, { last_by_subj: subject });
    const kind = subject.includes('.head.') ? 'head' : 'part';
    ttls.set(kind, Math.max(ttls.get(kind) ?? 0, Number.parseInt(message?.header.get('Nats-TTL') ?? '', 10)));
  }
  expect(Math.abs((ttls.get('head') ?? 0) - 7200)).toBeLessThan(60);
  expect(Math.abs((ttls.get('part') ?? 0) - 7500)).toBeLessThan(60);
});

test('a replaced file expires at the time of the new file', async () => {
  const { old, next } = await pair();
  await replace({ ...next, expiresAt: Date.now() + 1000 });
  await expect.poll(() => store.stat(old.name), { timeout: 20_000 }).toBeNull();
  await expect
    .poll(async () => (await subjectsOf(old.name)).filter((subject) => subject.includes('.head.')), { timeout: 20_000 })
    .toEqual([]);
});

test('the old file stays if not all new parts can be written', async () => {
  const { old, stored } = await pair();
  const { js } = nats.session;
  let sent = 0;
  const publish: Publish = async (...args) => {
    const ack = await js.publish(...args);
    if (++sent === 5) throw new Error('broken');
    return ack;
  };
  const failing = new Proxy(js, { get: (_, key) => (key === 'publish' ? publish : Reflect.get(js, key)) });
  const { stored: storing } = new EmbeddedUploader({ ...nats.session, js: failing }).upload(
    asRefresh(another(old, 20 * part)),
  );
  await expect(storing).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await store.stat(old.name)).toEqual(stored);
  expect((await bytesOf(stored)).equals(old.bytes)).toBe(true);
});

test('a part that is sent again after a lost acknowledgement is no error', async () => {
  const { js } = nats.session;
  let sent = 0;
  const publish: Publish = async (...args) => {
    const isLost = ++sent === 2;
    const ack = await js.publish(...args);
    if (isLost) throw new TimeoutError();
    return ack;
  };
  const forgetful = new Proxy(js, { get: (_, key) => (key === 'publish' ? publish : Reflect.get(js, key)) });
  const file = newFile(3 * part);
  const placed = await placeFile({ store, uploader: new EmbeddedUploader({ ...nats.session, js: forgetful }) }, file);
  expect(sent).toBe(4);
  expect((await bytesOf(placed.file)).equals(file.bytes)).toBe(true);
});

describe('a hostile renderer', () => {
  test.each([
    ['that is shorter than it should be', Buffer.alloc(part - 1), '3600s', 'wrong_size'],
    ['that ends before the file', null, '1s', 'expired'],
    ['of other bytes', Buffer.alloc(part), '3600s', 'foreign'],
  ] as const)('with a part %s puts no file in place', async (_, bytes, ttl, reason) => {
    const file = newFile(2 * part);
    const upload = await uploader().upload(file).stored;
    const [, , generation] = upload.object.split('/');
    const subject = `files.part.us-east.${file.name.replace('.', '_')}.${generation}.0`;
    await nats.session.jsm.streams.purge(streamNames.files, { filter: subject });
    await nats.session.js.publish(
      subject,
      bytes === null ? file.bytes.subarray(0, part) : Buffer.concat([file.bytes.subarray(0, 33), bytes.subarray(33)]),
      { ttl },
    );
    await expect(store.accept(upload, expectedOf(file))).rejects.toMatchObject({ name: 'UploadRejectedError', reason });
    expect(await store.stat(file.name)).toBeNull();
  });

  test('with another region or wrong parts in the object name is rejected', async () => {
    const file = newFile(2 * part);
    const upload = await uploader().upload(file).stored;
    const as = (change: (object: string) => string) => ({ ...upload, object: change(upload.object) });
    for (const lie of [
      as((o) => o.replace('us-east', 'eu-west')),
      as((o) => o.replace(/\d+$/, '3')),
      as((o) => `${o}/x`),
      as((o) => o.replace(/\/[^/]+\/(\d)$/, '/*/$1')),
    ]) {
      await expect(store.accept(lie, expectedOf(file))).rejects.toMatchObject({ name: 'UploadRejectedError' });
    }
  });
});

test('an upload whose parts arrive after its result is waited for', async () => {
  const file = newFile(2 * part);
  const upload = await uploader().upload(file).stored;
  const [, , generation] = upload.object.split('/');
  const subject = `files.part.us-east.${file.name.replace('.', '_')}.${generation}.1`;
  await nats.session.jsm.streams.purge(streamNames.files, { filter: subject });
  const accepting = store.accept(upload, expectedOf(file));
  await nats.session.js.publish(subject, file.bytes.subarray(part), { ttl: '4000s' });
  expect((await accepting).file.name).toBe(file.name);
});
