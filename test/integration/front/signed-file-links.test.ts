import { generateKeyPairSync, randomBytes, randomUUIDv7 } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { BucketUploader } from '@webcapture/shared/files/bucket-uploader.ts';
import { openBucket, type SignLink } from '@webcapture/shared/files/open-store.ts';
import { type LinkSigner, trySigning } from '../../../services/front/signed-links.ts';
import { bucketSetUpMs, startTestBucket, type TestBucket } from '../../harness/bucket.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { replaceFile } from '../../harness/place-file.ts';
import { newFile } from '../../harness/records.ts';
import { type TestFront, startTestFront } from './test-front.ts';

let bucket: TestBucket;
let store: BucketStore;
let front: TestFront;
let signLink: SignLink;
/** Offset of the front's clock in milliseconds. */
let aheadMs = 0;
let signed = 0;
const untilSigned = { signal: new AbortController().signal, onWait: () => undefined };
let refused: Error | undefined;

beforeAll(async () => {
  bucket = await startTestBucket();
  const { endpoint, bucket: name } = bucket;
  store = await openBucket({ bucket: name, endpoint, prefix: 'p/' }, { log: silentLog });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyFile = join(inject('tempFolder'), `${randomUUIDv7()}.json`);
  await writeFile(
    keyFile,
    JSON.stringify({
      type: 'service_account',
      client_email: 'front@tests.iam.gserviceaccount.com',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    }),
  );
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', keyFile);
  const signing = await openBucket({ bucket: name, project: 'tests', prefix: 'p/' }, { log: silentLog });
  signLink = async (file, { expiresAt }) => {
    signed += 1;
    if (refused !== undefined) throw refused;
    return signing.signedUrl(file, { expiresAt });
  };
  const linkSigner = await trySigning(signLink, untilSigned);
  front = await startTestFront({}, { store, linkSigner, now: () => Date.now() + aheadMs });
}, bucketSetUpMs);

afterAll(async () => {
  vi.unstubAllEnvs();
  await front[Symbol.asyncDispose]();
  store.close();
  await bucket[Symbol.asyncDispose]();
});

const put = (bytes: Buffer, seconds: number) =>
  store.create(newFile(0, { bytes, expiresAt: Date.now() + seconds * 1000 }));
const fileAt = (name: string, init: RequestInit = {}) => front.call(`/files/${name}`, { key: null, ...init });

/** Fetches a link to Google's server from the test server, which recognizes links by their Host header. */
async function follow({ host, pathname, search }: URL): Promise<Buffer> {
  const request = get(bucket.endpoint + pathname + search, { headers: { host } });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return buffer(answer);
}

test('a file is served by a redirect to a signed link, which clients may cache', async () => {
  const bytes = randomBytes(1000);
  const { name } = await put(bytes, 86_400);
  const answer = await fileAt(name);
  expect(answer.status).toBe(302);
  const url = new URL(answer.headers.get('location') ?? '');
  expect(Number(url.searchParams.get('X-Goog-Expires'))).toBeGreaterThan(3500);
  expect(url.searchParams.get('X-Goog-Signature')).toMatch(/^[0-9a-f]{512}$/);
  expect(answer.headers.get('cache-control')).toMatch(/^private, max-age=35(40|3\d)$/);
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect(url.host).toBe('storage.googleapis.com');
  expect((await follow(url)).equals(bytes)).toBe(true);
});

test('browsers may load pictures of the dashboard from the signed links of each kind of bucket', async () => {
  const policy = async (linkSigner: LinkSigner) => {
    await using signing = await startTestFront({}, { store, linkSigner });
    const answer = await signing.call('/dashboard/', { key: null });
    const directives = answer.headers.get('content-security-policy')?.split('; ') ?? [];
    return directives.filter((each) => /^(?:img|connect)-src/.test(each)).map((each) => each.split(' ').at(-1));
  };
  expect(await policy(await trySigning(signLink, untilSigned))).toEqual(
    Array(2).fill('https://storage.googleapis.com'),
  );

  vi.stubEnv('AWS_ACCESS_KEY_ID', 'tests');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'not-checked');
  const signerOf = async (server: { readonly endpoint?: string }) => {
    const s3 = await openBucket(
      { bucket: 'captures', region: 'eu-central-1', prefix: '', ...server },
      { log: silentLog },
    );
    return trySigning((file, options) => s3.signedUrl(file, options), untilSigned);
  };
  expect(await policy(await signerOf({}))).toEqual(Array(2).fill('https://captures.s3.eu-central-1.amazonaws.com'));
  const endpoint = 'https://s3.example.com:9000';
  expect(await policy(await signerOf({ endpoint }))).toEqual([endpoint, endpoint]);
});

test('a signed link expires with its file', async () => {
  const { name } = await put(randomBytes(10), 100);
  const answer = await fileAt(name);
  const url = new URL(answer.headers.get('location') ?? '');
  expect(Number(url.searchParams.get('X-Goog-Expires'))).toBeLessThanOrEqual(100);
  expect(Number(/max-age=(\d+)/.exec(answer.headers.get('cache-control') ?? '')?.[1])).toBeLessThanOrEqual(40);
});

test('many requests share one signature for half of its lifetime', async () => {
  const { name } = await put(randomBytes(10), 86_400);
  const before = signed;
  const links = await Promise.all(Array.from({ length: 20 }, async () => (await fileAt(name)).headers.get('location')));
  expect(new Set(links).size).toBe(1);
  aheadMs += 29 * 60_000;
  expect((await fileAt(name)).headers.get('location')).toBe(links[0]);
  expect(signed - before).toBe(1);
  aheadMs += 2 * 60_000;
  await fileAt(name);
  expect(signed - before).toBe(2);
});

test('the front itself answers HEAD, a matching If-None-Match and unknown files', async () => {
  const { name, etag } = await put(randomBytes(10), 86_400);
  const head = await fileAt(name, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, '10']);
  expect((await fileAt(name, { headers: { 'if-none-match': `"${etag}"` } })).status).toBe(304);
  expect((await fileAt(newFileName(randomUUIDv7(), 'png'))).status).toBe(404);
});

test('a failure to sign a link is an error, and the next request tries again', async () => {
  const { name } = await put(randomBytes(10), 86_400);
  refused = new Error("Permission 'iam.serviceAccounts.signBlob' denied on resource");
  const answer = await fileAt(name);
  expect(answer.status).toBe(500);
  expect(await answer.json()).toMatchObject({ error: { code: 'STORAGE_FAILED' } });
  const { signal } = new AbortController();
  const waits: string[] = [];
  const onWait = (what: string) => {
    waits.push(what);
    refused = undefined;
  };
  await expect(trySigning(signLink, { signal, onWait })).rejects.toThrow(
    /signBlob.*roles\/iam\.serviceAccountTokenCreator/,
  );
  refused = Object.assign(new Error('no way there'), { code: 'ECONNREFUSED' });
  await trySigning(signLink, { signal, onWait });
  expect(waits).toEqual(['waiting to sign links: no way there']);
  expect((await fileAt(name)).status).toBe(302);
});

test('a file that is replaced between stat and read is sent in its new version', async () => {
  const [old, next] = [500, 600].map((size) => newFile(size).bytes) as [Buffer, Buffer];
  const file = await put(old, 86_400);
  const stat = vi.spyOn(store, 'stat').mockImplementationOnce(async (name) => {
    const seen = await store.stat(name);
    await replaceFile(
      { store, uploader: new BucketUploader(store.bucket) },
      newFile(0, { name, bytes: next, expiresAt: file.expiresAt }),
    );
    return seen;
  });
  await using streaming = await startTestFront({}, { store });
  const answer = await streaming.call(`/files/${file.name}`, { key: null });
  expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '600']);
  expect(Buffer.from(await answer.arrayBuffer()).equals(next)).toBe(true);
  expect(stat).toHaveBeenCalledTimes(3);
  stat.mockRestore();
});
