import { createHash, randomUUIDv7 } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { Upload } from '@webcapture/shared/files/file-store.ts';
import { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import type { BucketUploader } from '@webcapture/shared/files/bucket-uploader.ts';
import { bucketReady } from '@webcapture/shared/files/bucket-ready.ts';
import { describeObject } from '@webcapture/shared/files/object-description.ts';
import { googleError, type SeenRequest } from '../../harness/fault-proxy.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { asRefresh, expectedOf, placeFile, replaceFile } from '../../harness/place-file.ts';
import { newFile, type NamedFile } from '../../harness/records.ts';
import { another, bytesOf, pair } from './support/stored-files.ts';
import { megabyte, useFaultyBucket } from './support/faulty-bucket.ts';

const on = useFaultyBucket();

const copies = ({ url }: SeenRequest) => url.pathname.includes('/rewriteTo/');
const creations = ({ method, url }: SeenRequest) => method === 'POST' && url.pathname.startsWith('/upload/');
const conflict = googleError(412, 'conditionNotMet', 'At least one of the pre-conditions you specified did not hold.');
const objectNames = async (file: { readonly name: string }) =>
  (await on().bucket.objects()).map(({ name }) => name).filter((name) => name.startsWith(file.name.slice(0, 36)));

/** The emulator ignores the conditions of a copy, so the proxy answers as Cloud Storage does. */
describe('a copy', () => {
  test('has conditions for the verified source and for the object that it replaces', async () => {
    const { old, next } = await pair(on().store);
    const { generation } = (await on().store.stat(old.name)) as unknown as { generation: string };
    const refresh = asRefresh(next);
    const upload = await on().uploader.upload(refresh).stored;
    await on().store.accept(upload, expectedOf(refresh));
    const [copy] = on().proxy.seen.filter(copies);
    const source = upload.object.slice(0, upload.object.indexOf('/'));
    expect(Object.fromEntries(copy?.url.searchParams ?? [])).toMatchObject({
      ifGenerationMatch: generation,
      ifSourceGenerationMatch: source,
      sourceGeneration: source,
    });
    // Metadata that is sent replaces all metadata of the source.
    expect(JSON.parse(String(copy?.body))).toMatchObject({
      contentType: 'image/png',
      contentDisposition: `inline; filename="capture-${old.name.slice(0, 36)}.png"`,
      cacheControl: 'public, max-age=300, must-revalidate',
      customTime: new Date(next.expiresAt).toISOString(),
    });
    // Only the source is removed.
    expect(await objectNames(old)).toEqual([old.name]);
  });

  test('of a file that was replaced meanwhile is repeated with the new generation', async () => {
    const { old, next } = await pair(on().store);
    on().proxy.next(copies, conflict);
    const replaced = await replaceFile(on(), next);
    const generations = on()
      .proxy.seen.filter(copies)
      .map(({ url }) => url.searchParams.get('ifGenerationMatch'));
    expect(generations).toHaveLength(2);
    expect(await on().store.stat(old.name)).toEqual(replaced);
    expect(await on().isStored(next)).toBe(true);
  });

  test('whose response was lost is recognized as made', async () => {
    const { old, next } = await pair(on().store);
    on().proxy.next(copies, { kind: 'lose the answer' }, conflict);
    const replaced = await replaceFile(on(), next);
    expect(on().sent(copies)).toBe(2);
    expect(await on().store.stat(old.name)).toEqual(replaced);
    expect(await on().isStored(next)).toBe(true);
    expect(await objectNames(old)).toEqual([old.name]);
  });

  test('that the bucket makes in several calls continues with the rewrite token', async () => {
    const { next } = await pair(on().store);
    const body = JSON.stringify({ kind: 'storage#rewriteResponse', done: false, rewriteToken: 'the-rest' });
    on().proxy.next(copies, { kind: 'answer', status: 200, body });
    await replaceFile(on(), next);
    expect(
      on()
        .proxy.seen.filter(copies)
        .map(({ url }) => url.searchParams.get('rewriteToken')),
    ).toEqual([null, 'the-rest']);
    expect(await on().isStored(next)).toBe(true);
  });

  test('that fails leaves the file unchanged', async () => {
    const { old, stored, next } = await pair(on().store);
    const refresh = asRefresh(next);
    const upload = await on().uploader.upload(refresh).stored;
    on().proxy.always(copies, googleError(403, 'forbidden', 'a@b.c does not have storage.objects.delete access.'));
    await expect(on().store.accept(upload, expectedOf(refresh))).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(await on().store.stat(old.name)).toEqual(stored);
    on().proxy.heal();
    await on().store.accept(upload, expectedOf(refresh));
    expect(await on().isStored(next)).toBe(true);
  });
});

describe('a name that is taken', () => {
  test('by an upload whose response was lost gets a suffix, and one object remains', async () => {
    const file = newFile(1000);
    on().proxy.next(creations, { kind: 'lose the answer' });
    const upload = await on().uploader.upload(file).stored;
    expect(upload.object).toMatch(new RegExp(`^\\d+/${file.name}~[0-9a-f]{8}$`));
    const { file: placed } = await on().store.accept(upload, expectedOf(file));
    await on().store.discard(file.name, upload);
    expect(placed).toMatchObject({ name: file.name, size: 1000 });
    expect(await objectNames(file)).toEqual([file.name]);
    expect(await on().isStored(file)).toBe(true);
  });

  test('is also recognized by the 403 that a create-only service gets', async () => {
    const file = newFile(1000);
    const refusal = "x@y.z does not have storage.objects.delete access. Permission 'storage.objects.delete' denied.";
    on().proxy.next(creations, googleError(403, 'forbidden', refusal));
    await placeFile(on(), file);
    expect(await objectNames(file)).toEqual([file.name]);
    expect(await on().isStored(file)).toBe(true);
  });

  test('by a foreign object is replaced with the file', async () => {
    const file = newFile(1000);
    await putObject(file, { contentType: 'text/html' });
    await placeFile(on(), file);
    expect(await on().isStored(file)).toBe(true);
    expect(await on().store.stat(file.name)).toMatchObject({ contentType: 'image/png', size: 1000 });
    expect(await objectNames(file)).toEqual([file.name]);
  });

  test('leaves each upload until it is discarded', async () => {
    const { old, next } = await pair(on().store);
    const refresh = asRefresh(next);
    const uploads = [await on().uploader.upload(refresh).stored, await on().uploader.upload(refresh).stored];
    expect(await objectNames(old)).toHaveLength(3);
    for (const upload of uploads) await on().store.discard(old.name, upload);
    expect(await objectNames(old)).toEqual([old.name]);
  });
});

/** Creates the object of a file with metadata that a compromised renderer may choose. */
async function putObject(file: NamedFile, changes: Record<string, unknown>, bytes = file.bytes): Promise<Upload> {
  const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  const description = { name: file.object, ...describeObject({ ...file, etag }, Date.now()), ...changes };
  const body = [
    '--b\r\nContent-Type: application/json\r\n\r\n',
    JSON.stringify(description),
    `\r\n--b\r\nContent-Type: ${description.contentType}\r\n\r\n`,
    bytes,
    '\r\n--b--\r\n',
  ];
  const response = await fetch(
    `${on().bucket.endpoint}/upload/storage/v1/b/${on().bucket.bucket}/o?uploadType=multipart`,
    {
      method: 'POST',
      headers: { 'content-type': 'multipart/related; boundary=b' },
      body: Buffer.concat(body.map((part) => Buffer.from(part))),
    },
  );
  const { generation } = (await response.json()) as { generation: string };
  const { contentType, width, height, expiresAt, cacheSeconds } = file;
  const cache = cacheSeconds === undefined ? {} : { cacheSeconds };
  return {
    object: `${generation}/${file.object}`,
    contentType,
    size: bytes.length,
    etag,
    width,
    height,
    expiresAt,
    ...cache,
  };
}

describe('an object of a hostile renderer', () => {
  const later = new Date(Date.now() + 86_400_000_000).toISOString();
  const lies: [string, Record<string, unknown>, string][] = [
    ['that is a page by its type', { contentType: 'text/html' }, 'wrong_type'],
    ['that is compressed', { contentEncoding: 'gzip' }, 'wrong_type'],
    ['that is offered under another name', { contentDisposition: 'attachment; filename="invoice.exe"' }, 'foreign'],
    ['that caches keep for ever', { cacheControl: 'public, max-age=31536000, immutable' }, 'foreign'],
    ['that caches keep for longer than it lives', { cacheControl: 'public, max-age=30000000' }, 'foreign'],
    ['without an end of its life', { customTime: undefined }, 'expired'],
    ['that lives for ever', { customTime: later }, 'expired'],
    ['without a description', { metadata: {} }, 'foreign'],
  ];
  test.each(lies)('%s is not put in place', async (_, lie, reason) => {
    const { old, stored, next } = await pair(on().store);
    const refresh = asRefresh({ ...next, expiresAt: Math.floor(next.expiresAt / 1000) * 1000 });
    const upload = await putObject(refresh, lie);
    const call = on().store.accept(upload, expectedOf(refresh));
    await expect(call).rejects.toMatchObject({ name: 'UploadRejectedError', reason });
    expect(await on().store.stat(old.name)).toEqual(stored);
    // The same object with correct metadata is accepted.
    await on().store.discard(old.name, upload);
    await on().store.accept(await putObject(refresh, {}), expectedOf(refresh));
    expect(await on().isStored(next)).toBe(true);
  });

  test.each([
    ['of another account', { account: 'other' }],
    ['of another capture', { name: newFileName(randomUUIDv7(), 'png') }],
    ['that may be kept for longer', { cacheSeconds: 3000 }],
  ] as const)('%s is not put in place', async (_, lie) => {
    const file = newFile(1000, { cacheSeconds: 300 });
    const upload = await putObject({ ...file, ...lie }, {});
    const call = on().store.accept({ ...upload, object: upload.object }, expectedOf(file));
    await expect(call).rejects.toMatchObject({ name: 'UploadRejectedError', reason: 'foreign' });
  });

  test('whose generation was replaced is rejected as missing', async () => {
    const file = newFile(1000);
    const first = await putObject(file, {});
    await on().store.remove(file.name);
    await putObject(file, {});
    const call = on().store.accept(first, expectedOf(file));
    await expect(call).rejects.toMatchObject({ name: 'UploadRejectedError', reason: 'missing' });
  });
});

test('reads during refreshes always find a file, and never mix two versions', async () => {
  const { old } = await pair(on().store, 300_000);
  const known = new Map([[createHash('sha256').update(old.bytes).digest('hex'), 0]]);
  let done = false;
  let reads = 0;
  const reading = (async () => {
    for (; !done; reads++) {
      const found = await on().store.stat(old.name);
      if (found === null) throw new Error('there is no file');
      const bytes = await bytesOf(on().store, found).catch((error: unknown) => error);
      if (Buffer.isBuffer(bytes)) expect(known.has(createHash('sha256').update(bytes).digest('hex'))).toBe(true);
      else expect(bytes).toMatchObject({ name: 'FileReplacedError' });
    }
  })();
  for (let turn = 0; turn < 15 || reads < 15; turn++) {
    const next = another(old, 200_000 + turn);
    known.set(createHash('sha256').update(next.bytes).digest('hex'), turn);
    await replaceFile(on(), next);
  }
  done = true;
  await reading;
});

describe('with the role storage.objectCreator', () => {
  /** Refuses everything except the creation of objects, as Cloud Storage does. */
  function refuseTheRest() {
    const refused = (right: string) =>
      googleError(
        403,
        'forbidden',
        `a@b.c does not have storage.objects.${right} access. Permission 'storage.objects.${right}' denied on resource (or it may not exist).`,
      );
    const isObject = ({ url }: SeenRequest) => url.pathname.includes('/o/');
    on().proxy.always(({ url }) => url.pathname.includes('/iam/'), googleError(403, 'forbidden', 'no'));
    on().proxy.always(copies, refused('get'));
    on().proxy.always((request) => request.method === 'GET' && isObject(request), refused('get'));
    on().proxy.always(({ method }) => method === 'GET', refused('list'));
    on().proxy.always(({ method }) => method === 'DELETE', refused('delete'));
    on().proxy.always(({ method }) => method === 'PATCH', refused('update'));
    const overwrites = ({ method, url }: SeenRequest) =>
      method === 'POST' && url.searchParams.get('ifGenerationMatch') !== '0';
    on().proxy.always(overwrites, refused('delete'));
  }

  test.each([1000, 2 * megabyte])('an uploader creates files of %i bytes, and can do nothing else', async (size) => {
    const [file, { old, stored }] = [newFile(size), await pair(on().store)];
    const direct = on().storeWith({ endpoint: on().bucket.endpoint });
    refuseTheRest();
    const upload = await on().uploader.upload(file).stored;
    // `direct` has the credentials of a trusted service.
    const { file: placed } = await direct.accept(upload, expectedOf(file));
    expect((await bytesOf(direct, placed)).equals(file.bytes)).toBe(true);
    const own = new BucketStore(on().uploader.bucket);
    const refresh = asRefresh(another(old));
    const refreshed = await on().uploader.upload(refresh).stored;
    for (const call of [
      () => own.stat(old.name),
      () => own.remove(old.name),
      () => bytesOf(own, stored),
      () => own.accept(refreshed, expectedOf(refresh)),
      () => own.discard(old.name, refreshed),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    }
    expect(await direct.stat(old.name)).toEqual(stored);
    direct.close();
  });

  test('a renderer is ready, leaves no object, and gets an error if the right is missing', async () => {
    const before = await on().bucket.objects();
    refuseTheRest();
    const ready = (uploader: BucketUploader) =>
      bucketReady(new BucketStore(uploader.bucket), 'create', {
        signal: AbortSignal.timeout(20_000),
        log: silentLog,
        onWait: () => undefined,
      });
    await ready(on().uploader);
    expect(await on().bucket.objects()).toEqual(before);
    on().proxy.heal();
    on().proxy.always(creations, googleError(403, 'forbidden', 'a@b.c does not have storage.objects.create access.'));
    await expect(ready(on().uploader)).rejects.toThrow(
      /storage\.objects\.create .* is missing: .*roles\/storage\.objectCreator/,
    );
    on().proxy.heal();
    on().proxy.always(() => true, googleError(404, 'notFound', 'The specified bucket does not exist.'));
    await expect(ready(on().uploader)).rejects.toThrow(/there is no bucket/);
  });
});
