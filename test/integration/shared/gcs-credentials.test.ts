// @module-tag long
import { createHash, createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, test, vi } from 'vitest';
import { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { loadStorage } from '@webcapture/shared/files/bounded-storage.ts';
import { GcsBucket } from '@webcapture/shared/files/gcs-bucket.ts';
import { googleError, type SeenRequest } from '../../harness/fault-proxy.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { newFile } from '../../harness/records.ts';
import { causeOf, useFaultyBucket, withTokens } from './support/faulty-bucket.ts';

const on = useFaultyBucket();
const newStorage = await loadStorage();
afterEach(() => vi.unstubAllEnvs());

/**
 * A metadata server of Google Cloud, which returns a new token for each request, and does not answer request number
 * `hangs`.
 */
async function startMetadataServer({ hangs = 0 } = {}) {
  let [tokens, asked] = [0, 0];
  const server = createServer((request, response) => {
    response.setHeader('metadata-flavor', 'Google');
    response.setHeader('content-type', 'application/json');
    const isToken = request.url?.includes('/token') === true;
    if (isToken && ++asked === hangs) return;
    response.end(isToken ? JSON.stringify({ access_token: `token-${++tokens}`, expires_in: 3600 }) : '{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokens: () => tokens,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('tokens come from the metadata server, are reused, and are renewed when the bucket refuses one', async () => {
  const metadata = await startMetadataServer();
  vi.stubEnv('GCE_METADATA_HOST', metadata.host);
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '');
  vi.stubEnv('HOME', inject('tempFolder'));
  const options = { projectId: 'p', apiEndpoint: on().proxy.url, useAuthWithCustomEndpoint: true };
  const store = on().storeWith({ open: () => newStorage(options), backoffMs: 20 });
  const file = newFile(10);
  await Promise.all([store.create(file), store.create(newFile(10)), store.stat(file.name)]);
  const used = () => new Set(on().proxy.seen.map(({ headers }) => headers.authorization));
  expect(used()).toEqual(new Set(['Bearer token-1']));
  on().proxy.heal();
  on().proxy.next(() => true, googleError(401, 'authError', 'Invalid Credentials'));
  expect(await store.stat(file.name)).not.toBeNull();
  expect(on().proxy.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
  // Many requests are refused at the same time, some of them with a token that has already been replaced.
  on().proxy.heal();
  on().proxy.always(({ headers }) => headers.authorization === 'Bearer token-2', {
    ...googleError(401, 'authError', 'Invalid Credentials'),
  });
  await Promise.all(Array.from({ length: 10 }, () => store.stat(file.name)));
  expect(metadata.tokens()).toBe(3);
  store.close();
  metadata.close();
});

test('a token request that times out is repeated', async () => {
  const metadata = await startMetadataServer({ hangs: 1 });
  vi.stubEnv('GCE_METADATA_HOST', metadata.host);
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '');
  vi.stubEnv('HOME', inject('tempFolder'));
  const options = { projectId: 'p', apiEndpoint: on().proxy.url, useAuthWithCustomEndpoint: true };
  const store = on().storeWith({ open: () => newStorage(options), tokenMs: 600, backoffMs: 20 });
  expect(await Promise.all([1, 2].map(() => store.stat(newFile(1).name)))).toEqual([null, null]);
  expect(new Set(on().retries)).toEqual(new Set(['get credentials']));
  for (const { headers } of on().proxy.seen) expect(headers.authorization).toMatch(/^Bearer token-\d+$/);
  store.close();
  metadata.close();
});

describe('a token', () => {
  const isOld = ({ headers }: SeenRequest) => headers.authorization === 'Bearer old';
  const expired = googleError(401, 'authError', 'Invalid Credentials');

  test('that has expired is renewed once', async () => {
    const { open, left } = await withTokens(on().proxy.url, 'old', 'new', 'never');
    const own = on().storeWith({ open });
    on().proxy.always(isOld, expired);
    const file = newFile(1000);
    await own.create(file);
    expect(await on().isStored(file)).toBe(true);
    expect(left()).toBe(1);
    expect(on().sent(isOld)).toBe(1);
    own.close();
  });

  test('that never arrives fails the call at the deadline', async () => {
    const own = on().storeWith(await withTokens(on().proxy.url, new Promise<never>(() => undefined)));
    const start = performance.now();
    await causeOf(own.create(newFile(1, { deadline: Date.now() + 200 })));
    expect(performance.now() - start).toBeLessThan(8000);
    own.close();
  });

  test('that is refused although it is new fails the call', async () => {
    const own = on().storeWith(await withTokens(on().proxy.url, 'old', 'new'));
    on().proxy.always(() => true, expired);
    expect(await causeOf(own.create(newFile(100)))).toMatchObject({ status: 401 });
    expect(on().proxy.seen).toHaveLength(2);
    own.close();
  });
});

test('the error about a missing key file contains its path', async () => {
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '/nowhere/key.json');
  const store = on().storeWith({
    open: () => newStorage({ apiEndpoint: on().proxy.url, useAuthWithCustomEndpoint: true }),
  });
  expect(await causeOf(store.stat(newFile(1).name))).toMatchObject({
    failure: 'credentials',
    message: expect.stringContaining('/nowhere/key.json'),
    transient: false,
  });
});

test('a link is signed without a request, opens only its file, and expires with it', async () => {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const path = join(inject('tempFolder'), `key-${process.pid}.json`);
  const email = 'signer@p.iam.gserviceaccount.com';
  const key = { type: 'service_account', project_id: 'p', client_email: email, private_key: keys.privateKey };
  await writeFile(path, JSON.stringify(key));
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', path);
  const file = await on().store.create(newFile(10, { expiresAt: Date.now() + 3_600_000 }));
  const bucket = new GcsBucket({ bucket: 'b', prefix: 'captures/', open: () => newStorage(), log: silentLog });
  const store = new BucketStore(bucket);

  const link = new URL(await store.signedUrl(file, { expiresAt: Date.now() + 600_000 }));
  expect(link.origin + link.pathname).toBe(`https://storage.googleapis.com/b/captures/${file.name}`);
  expect(isSigned(link, keys.publicKey)).toBe(true);
  expect(Number(link.searchParams.get('X-Goog-Expires'))).toBeGreaterThan(550);
  expect(Number(link.searchParams.get('X-Goog-Expires'))).toBeLessThanOrEqual(600);
  link.pathname += 'x';
  expect(isSigned(link, keys.publicKey)).toBe(false);

  const long = new URL(await store.signedUrl(file, { expiresAt: Date.now() + 86_400_000 }));
  expect(Number(long.searchParams.get('X-Goog-Expires'))).toBeLessThanOrEqual(3600);
});

/** Checks a V4 signature as Cloud Storage does. */
function isSigned(link: URL, publicKey: string): boolean {
  const signature = Buffer.from(link.searchParams.get('X-Goog-Signature') ?? '', 'hex');
  const query = [...link.searchParams].filter(([name]) => name !== 'X-Goog-Signature');
  const canonicalQuery = query
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .toSorted()
    .join('&');
  const request = ['GET', link.pathname, canonicalQuery, `host:${link.host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join(
    '\n',
  );
  const scope = (link.searchParams.get('X-Goog-Credential') ?? '').split('/').slice(1).join('/');
  const hash = createHash('sha256').update(request).digest('hex');
  const text = ['GOOG4-RSA-SHA256', link.searchParams.get('X-Goog-Date'), scope, hash].join('\n');
  return createVerify('RSA-SHA256').update(text).verify(createPublicKey(publicKey), signature);
}
