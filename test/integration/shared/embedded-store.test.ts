import { Registry } from 'prom-client';
import type { StoredMsg } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { openStore, openUploader } from '@webcapture/shared/files/open-store.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { expectedOf, placeFile, replaceFile, type Storing } from '../../harness/place-file.ts';
import { newFile } from '../../harness/records.ts';
import { storeSuite } from './support/store-suite.ts';
import { another, bytesOf, part } from './support/stored-files.ts';

let nats: TestNats;
let store: EmbeddedStore;
let storing: Storing;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
  storing = { store, uploader: new EmbeddedUploader(nats.session) };
});
afterAll(() => nats[Symbol.asyncDispose]());

/** Returns a file name in the form that it has in NATS subjects. */
const tokenOf = (name: string) => name.replaceAll('.', '_');

async function messagesOf(name: string): Promise<number> {
  const info = await nats.session.jsm.streams.info(streamNames.files, { subjects_filter: 'files.>' });
  return Object.keys(info.state.subjects ?? {}).filter((subject) => subject.includes(tokenOf(name))).length;
}

storeSuite(() => storing);

test('a second file of a name leaves no messages, and a removal removes all parts', async () => {
  const first = newFile(2 * part);
  await store.create(first);
  await store.create(another(first, 3 * part));
  expect(await messagesOf(first.name)).toBe(3);
  await store.remove(first.name);
  expect(await messagesOf(first.name)).toBe(0);
});

test('the parts of an upload that is never accepted expire soon after the file would have', async () => {
  const file = newFile(2 * part, { expiresAt: Date.now() + 100_000 });
  await storing.uploader.upload(file).stored;
  const { subjects = {} } = (await nats.session.jsm.streams.info(streamNames.files, { subjects_filter: 'files.>' }))
    .state;
  const own = Object.keys(subjects).filter((subject) => subject.includes(tokenOf(file.name)));
  expect(own).toHaveLength(2);
  for (const subject of own) {
    const message = await nats.session.jsm.streams.getMessage(streamNames.files, { last_by_subj: subject });
    expect(message?.header.get('Nats-TTL')).toMatch(/^(?:39\d|400)s$/);
  }
});

test('the first file of a name is put in place without a check for an existing file', async () => {
  const file = newFile(part);
  const upload = await new EmbeddedUploader(nats.session).upload(file).stored;
  const questions: string[] = [];
  const { jsm, nc } = nats.session;
  const heard = nc.subscribe(`$JS.API.STREAM.MSG.GET.${streamNames.files}`, {
    callback: (_error, message) => void questions.push(message.string()),
  });
  await nc.flush();
  const accepted = await store.accept(upload, { ...file, isRefresh: false });
  await jsm.streams.info(streamNames.files);
  heard.unsubscribe();
  expect(accepted).toMatchObject({ file: { name: file.name } });
  // Reads of earlier tests may still end.
  expect(questions.filter((question) => question.includes(tokenOf(file.name)))).toEqual([]);
});

test('the copies that the NATS client makes of the parts are freed when a file is accepted', async () => {
  const file = newFile(8 * part);
  const upload = await storing.uploader.upload(file).stored;
  const read = vi.spyOn(nats.session.jsm.direct, 'getMessage');
  const { bytes } = await store.accept(upload, expectedOf(file, { wantsBytes: true }));
  const messages = read.mock.settledResults.map(({ value }) => value as StoredMsg);
  read.mockRestore();
  expect(messages).toHaveLength(8);
  const copies = messages.filter(({ data }) => !Buffer.isBuffer(data));
  // A part is larger than one read of the connection.
  expect(copies.length).toBeGreaterThan(0);
  expect(copies.map(({ data }) => data.buffer.byteLength)).toEqual(copies.map(() => 0));
  expect(bytes?.equals(file.bytes)).toBe(true);
});

test('a file whose bytes are incomplete is replaced', async () => {
  const old = newFile(600_000);
  const { file } = await placeFile(storing, old);
  const lost = `files.part.us-east.${old.name.replace('.', '_')}.*.1`;
  await nats.session.jsm.streams.purge(streamNames.files, { filter: lost });
  await expect(bytesOf(store, file)).rejects.toMatchObject({ name: 'FileReplacedError' });
  const next = newFile(600_000, { name: old.name });
  expect((await bytesOf(store, await replaceFile(storing, next))).equals(next.bytes)).toBe(true);
});

test('accepting a file fails at its deadline, not later, if NATS is unavailable', { tags: 'long' }, async () => {
  await using other = await startTestNats(['us-east']);
  const [store, uploader] = [new EmbeddedStore(other.session), new EmbeddedUploader(other.session)];
  const file = newFile(1000);
  const upload = await uploader.upload(file).stored;
  await other.kill();
  const start = Date.now();
  const { name, object, account, region, contentType, expiresAt } = file;
  const expected = { name, object, account, region, contentType, expiresAt, isRefresh: false };
  const accepting = store.accept(upload, expected, { deadline: start + 400 });
  await expect(accepting).rejects.toMatchObject({ name: 'ServiceError', code: 'STORAGE_FAILED' });
  expect(Date.now() - start).toBeGreaterThan(390);
  expect(Date.now() - start).toBeLessThan(2000);
  await other.start();
  expect((await store.accept(upload, expected)).file.etag).toBe(upload.etag);
});

test('a store takes all times from the clock that it is given', async () => {
  const aheadMs = 120_000;
  const now = () => Date.now() + aheadMs;
  const ahead = { store: new EmbeddedStore(nats.session, now), uploader: new EmbeddedUploader(nats.session, now) };
  const file = newFile(1000, { expiresAt: now() + 60_000, deadline: now() + 20_000 });
  const { file: placed } = await placeFile(ahead, file);
  expect(Math.abs(placed.storedAt - now())).toBeLessThan(30_000);
  expect(await ahead.store.stat(file.name, { deadline: now() + 10_000 })).toEqual(placed);
  const subject = `files.head.${file.name.replace('.', '_')}.1`;
  const message = await nats.session.jsm.streams.getMessage(streamNames.files, { last_by_subj: subject });
  // The server counts the TTL from when it received the message, by its own clock.
  expect(Number.parseInt(message?.header.get('Nats-TTL') ?? '', 10)).toBeLessThanOrEqual(60);
});

test('a service opens its store with the clock of the NATS server, not its local one', async () => {
  // The server's clock is two minutes ahead of the clock of this process.
  const now = () => Date.now() + 120_000;
  const context = { session: { ...nats.session, now }, log: silentLog };
  const { store: opened } = await openStore({ bucket: undefined }, { ...context, metrics: new Registry() });
  const uploader = await openUploader({ bucket: undefined }, { ...context, metrics: new Registry() });
  const file = newFile(1000, { expiresAt: now() + 60_000, deadline: now() + 20_000 });
  const { file: placed } = await placeFile({ store: opened, uploader }, file);
  expect(Math.abs(placed.storedAt - now())).toBeLessThan(30_000);
  expect(await opened.stat(file.name, { deadline: now() + 10_000 })).toEqual(placed);
});
