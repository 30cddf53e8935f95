import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newFile } from '../../harness/records.ts';
import { storeSuite } from './support/store-suite.ts';
import { another, part } from './support/stored-files.ts';

let nats: TestNats;
let store: EmbeddedStore;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

async function messagesOf(name: string): Promise<number> {
  const info = await nats.session.jsm.streams.info(streamNames.files, { subjects_filter: 'files.>' });
  const token = name.replaceAll('.', '_');
  return Object.keys(info.state.subjects ?? {}).filter((subject) => subject.includes(token)).length;
}

storeSuite(() => ({ store, uploader: new EmbeddedUploader(nats.session) }));

test('a second file of a name leaves nothing behind, and a removed one takes its parts along', async () => {
  const first = newFile(2 * part);
  await store.create(first);
  await store.create(another(first, 3 * part));
  expect(await messagesOf(first.name)).toBe(3);
  await store.remove(first.name);
  expect(await messagesOf(first.name)).toBe(0);
});

test('the first file of a name is put in place without asking whether there is one', async () => {
  const file = newFile(part);
  const upload = await new EmbeddedUploader(nats.session).upload(file).stored;
  let questions = 0;
  const { jsm, nc } = nats.session;
  const heard = nc.subscribe(`$JS.API.STREAM.MSG.GET.${streamNames.files}`, { callback: () => void questions++ });
  await nc.flush();
  const accepted = await store.accept(upload, { ...file, isRefresh: false });
  await jsm.streams.info(streamNames.files);
  heard.unsubscribe();
  expect(accepted).toMatchObject({ file: { name: file.name }, isSame: false });
  expect(questions).toBe(0);
});
