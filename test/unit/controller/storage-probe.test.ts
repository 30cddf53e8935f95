import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import { StorageProbe } from '../../../services/controller/gather/storage-probe.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
let store: FileStore;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const hang = () => new Promise<never>(() => undefined);
const broken = (part: Partial<FileStore>): FileStore => ({
  create: (file) => store.create(file),
  replace: (file, previous) => store.replace(file, previous),
  stat: (name) => store.stat(name),
  read: (file) => store.read(file),
  remove: (name) => store.remove(name),
  ...part,
});

test('a store that works is found to, and nothing is left in it', async () => {
  const probe = new StorageProbe(store);
  expect(probe.facts).toBeNull();
  await probe.run();
  expect(probe.facts).toMatchObject({ kind: 'works' });
  const { state } = await nats.session.jsm.streams.info(streamNames.files);
  expect(state.messages).toBe(0);
});

describe('a store that fails', () => {
  test.each([
    ['to write', { create: () => Promise.reject(new Error('full')) }, 'write', false],
    ['to write in time', { create: hang }, 'write', true],
    ['to find the file', { stat: () => Promise.resolve(null) }, 'read', false],
    ['to read the bytes', { read: () => bytesOf('something else') }, 'read', false],
    ['to remove it', { remove: () => Promise.reject(new Error('no')) }, 'remove', false],
  ] as const)('%s', async (_, part, step, late) => {
    const probe = new StorageProbe(broken(part), 200);
    await probe.run();
    expect(probe.facts).toMatchObject({ kind: 'fails', step, late, failures: 1 });
    await probe.run();
    expect(probe.facts).toMatchObject({ failures: 2 });
  });

  test('and works again', async () => {
    let works = false;
    const create: FileStore['create'] = (file) => (works ? store.create(file) : Promise.reject(new Error('full')));
    const probe = new StorageProbe(broken({ create }));
    await probe.run();
    works = true;
    await probe.run();
    expect(probe.facts).toMatchObject({ kind: 'works' });
  });
});

test('a store that hangs is not asked over and over', async () => {
  let asked = 0;
  const create = () => {
    asked++;
    return hang();
  };
  const probe = new StorageProbe(broken({ create }), 50);
  for (let round = 0; round < 3; round++) await probe.run();
  expect(asked).toBe(1);
  expect(probe.facts).toMatchObject({ kind: 'fails', late: true, failures: 3 });
});

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}
