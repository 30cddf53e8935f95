import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { type FileUploader, StoreUnavailableError } from '@webcapture/shared/files/file-store.ts';
import { readHtml, storeHtml } from '@webcapture/shared/files/stored-html.ts';
import { connectNats, type NatsSession, reachesNats } from '@webcapture/shared/nats/connect.ts';
import type { Reading } from '@webcapture/shared/nats/entries.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { type DelayProxy, startDelayProxy } from '../../harness/delay-proxy.ts';
import { googleError, type Fault } from '../../harness/fault-proxy.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { withLoginOf } from '../../harness/nats-users.ts';
import { newFile } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { busy, uploads, useFaultyBucket } from './support/faulty-bucket.ts';

/** Returns the error of an upload, or null if the file is stored. */
const failureOf = (uploader: FileUploader, { file = newFile(1000), ms = 400 } = {}): Promise<unknown> =>
  uploader.upload({ ...file, deadline: Date.now() + ms }).stored.then(
    () => null,
    (error: unknown) => error,
  );

describe('a bucket', () => {
  const on = useFaultyBucket();

  test.each<[string, Fault]>([
    ['answers 503', busy],
    ['is full', { kind: 'answer', status: 507, body: 'Insufficient Storage' }],
    ['is over its quota', googleError(403, 'quotaExceeded', 'The quota of the project is used up.')],
    ['does not answer', { kind: 'hang' }],
  ])('that %s causes a StoreUnavailableError', async (_, fault) => {
    on().proxy.always(uploads, fault);
    expect(await failureOf(on().uploader)).toBeInstanceOf(StoreUnavailableError);
  });

  test.each<[string, Fault]>([
    ['denies the right to create', googleError(403, 'forbidden', "Permission 'storage.objects.create' denied.")],
    ['is not there', googleError(404, 'notFound', 'The specified bucket does not exist.')],
  ])('that %s causes a permanent error', async (_, fault) => {
    on().proxy.always(uploads, fault);
    const failure = await failureOf(on().uploader, { ms: 10_000 });
    expect(failure).toMatchObject({ code: 'STORAGE_FAILED' });
    expect(failure).not.toBeInstanceOf(StoreUnavailableError);
  });
});

describe('the embedded store', () => {
  let nats: TestNats;
  let link: DelayProxy;
  let session: NatsSession;
  beforeAll(async () => {
    nats = await startTestNats(['us-east']);
    const { hostname: host, port } = new URL(nats.url);
    link = await startDelayProxy({ upstream: { host, port: Number(port) }, roundTripMs: 0 });
    const url = withLoginOf(link.url, nats.url);
    session = await connectNats({ url, name: 'renderer', log: silentLog, signal: AbortSignal.timeout(30_000) });
  });
  afterAll(async () => {
    await session.nc.close();
    await link[Symbol.asyncDispose]();
    await nats[Symbol.asyncDispose]();
  });

  test('that is full causes a StoreUnavailableError', async () => {
    const { streams } = nats.session.jsm;
    const fill = (max_bytes: number) => streams.update(streamNames.files, { max_bytes });
    await fill(2000);
    try {
      expect(await failureOf(new EmbeddedUploader(session), { file: newFile(4000), ms: 10_000 })).toBeInstanceOf(
        StoreUnavailableError,
      );
    } finally {
      await fill(-1);
    }
    expect(await failureOf(new EmbeddedUploader(session), { ms: 10_000 })).toBeNull();
  });

  test('that is disconnected causes a StoreUnavailableError', async () => {
    link.cut();
    const failure = await failureOf(new EmbeddedUploader(session));
    await link.mend();
    expect(failure).toBeInstanceOf(StoreUnavailableError);
  });

  test('is unreachable while NATS is silent, and reachable otherwise', async () => {
    await until('the connection', () => reachesNats(session));
    link.pause();
    const whileSilent = await reachesNats(session);
    link.resume();
    expect(whileSilent).toBe(false);
    await until('the connection', () => reachesNats(session));
  });

  test(
    'that is disconnected causes a StoreUnavailableError for HTML, and missing HTML a permanent error',
    { tags: 'long' },
    async () => {
      const address = { region: 'us-east', name: randomUUID() } as const;
      const reading = (from: Reading = 'from-leader') =>
        readHtml(session, address, from).catch((error: unknown) => error);
      // The replica that answers a renderer may lag behind.
      const [gone, notFound] = await Promise.all([reading(), reading('by-subject')]);
      expect(gone).toMatchObject({ code: 'STORAGE_FAILED' });
      expect(gone).not.toBeInstanceOf(StoreUnavailableError);
      expect(notFound).toBeInstanceOf(StoreUnavailableError);
      await storeHtml(nats.session, address, '<p>kept', Date.now() + 60_000);
      link.cut();
      const failure = await reading();
      await link.mend();
      expect(failure).toBeInstanceOf(StoreUnavailableError);
      expect(await reading()).toBe('<p>kept');
    },
  );
});
