import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import type { FileStore, NewFile } from '@webcapture/shared/files/file-store.ts';
import { decideStorage } from '../../../services/controller/health/decider.ts';
import { type LogLine, recordingLog } from './support/recording-log.ts';
import { StorageProbe } from '../../../services/controller/health/storage-probe.ts';
import { bucketSetUpMs, startTestBucket } from '../../harness/bucket.ts';
import { googleError, startFaultProxy } from '../../harness/fault-proxy.ts';
import { until } from '../../harness/until.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
let store: FileStore;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const hang = () => new Promise<never>(() => undefined);
const broken = (part: Partial<FileStore>): FileStore => ({
  readsUploads: store.readsUploads,
  create: (file) => store.create(file),
  accept: (upload, expected, limits) => store.accept(upload, expected, limits),
  discard: (name, upload) => store.discard(name, upload),
  stat: (name) => store.stat(name),
  read: (file) => store.read(file),
  copy: (name, copy) => store.copy(name, copy),
  remove: (name) => store.remove(name),
  ...part,
});

test('a working store is reported as such, and the probe leaves no file', async () => {
  const probe = new StorageProbe(store, { log: silentLog, timeoutMs: 30_000 });
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
  ] as const)('%s is reported with the failed step', async (_, part, step, late) => {
    const probe = new StorageProbe(broken(part), { log: silentLog, timeoutMs: late ? 200 : 30_000 });
    await probe.run();
    expect(probe.facts).toMatchObject({ kind: 'fails', step, late, failures: 1 });
    await probe.run();
    expect(probe.facts).toMatchObject({ failures: 2 });
  });

  test.each([
    ['to find the file', { stat: () => Promise.resolve(null) }],
    ['to read the bytes', { read: () => bytesOf('something else') }],
    [
      'to tell that it has written',
      {
        create: async (file: NewFile) => {
          await store.create(file);
          throw new Error('lost');
        },
      },
    ],
  ] satisfies [string, Partial<FileStore>][])('%s keeps no file of the probe', async (_, part) => {
    await nats.session.jsm.streams.purge(streamNames.files);
    await new StorageProbe(broken(part), { log: silentLog, timeoutMs: 30_000 }).run();
    const left = async () => (await nats.session.jsm.streams.info(streamNames.files)).state.messages;
    await until('the file to be removed', async () => (await left()) === 0);
  });

  test('and works again is reported as working', async () => {
    let works = false;
    const create: FileStore['create'] = (file) => (works ? store.create(file) : Promise.reject(new Error('full')));
    const probe = new StorageProbe(broken({ create }), { log: silentLog, timeoutMs: 30_000 });
    await probe.run();
    works = true;
    await probe.run();
    expect(probe.facts).toMatchObject({ kind: 'works' });
  });
});

test('a store that hangs is not called again meanwhile', async () => {
  let asked = 0;
  const create = () => {
    asked++;
    return hang();
  };
  const probe = new StorageProbe(broken({ create }), { log: silentLog, timeoutMs: 50 });
  for (let round = 0; round < 3; round++) await probe.run();
  expect(asked).toBe(1);
  expect(probe.facts).toMatchObject({ kind: 'fails', late: true, failures: 3 });
});

test('a probe that ends too late is no recovery, even if a later run waits for its end', async () => {
  const isWritten = Promise.withResolvers<undefined>();
  const create: FileStore['create'] = async (file) => {
    await isWritten.promise;
    return store.create({ ...file, deadline: Date.now() + 30_000 });
  };
  const lines: LogLine[] = [];
  const probe = new StorageProbe(broken({ create }), { log: recordingLog(lines), timeoutMs: 1000 });
  await probe.run();
  const joined = probe.run();
  isWritten.resolve(undefined);
  await joined;
  expect(probe.facts).toMatchObject({ kind: 'fails', late: true, failures: 2 });
  await probe.run();
  expect(probe.facts).toMatchObject({ kind: 'works' });
  expect(lines.map(({ message }) => message)).toEqual([
    'file store probe failed',
    'file store probe failed',
    'file store probe succeeded again',
  ]);
});

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

describe('a bucket', () => {
  test(
    'that fails and recovers changes the status, with the cause in the log',
    async () => {
      await using bucket = await startTestBucket();
      await using proxy = await startFaultProxy(bucket.endpoint);
      const lines: { msg: string; err?: object }[] = [];
      const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
      const files = await openBucket({ bucket: bucket.bucket, endpoint: proxy.url, prefix: '' }, { log: silentLog });
      const probe = new StorageProbe(files, { log, timeoutMs: 4000 });
      await probe.run();
      expect(decideStorage(probe.facts)).toMatchObject({ status: 'operational' });
      proxy.always(() => true, googleError(503, 'backendError', 'Backend Error'));
      await probe.run();
      await probe.run();
      expect(probe.facts).toMatchObject({ kind: 'fails', step: 'write', late: false, failures: 2 });
      expect(decideStorage(probe.facts)).toMatchObject({ status: 'major_outage' });
      expect(JSON.stringify(lines)).toContain('503 backendError');
      proxy.heal();
      await probe.run();
      expect(decideStorage(probe.facts)).toMatchObject({ status: 'operational' });
      files.close();
    },
    bucketSetUpMs,
  );
});
