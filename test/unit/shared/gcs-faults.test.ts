import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { GcsStore } from '@webcapture/shared/storage/gcs-store.ts';
import type { Credentials } from '@webcapture/shared/storage/gcs/credentials.ts';
import { GcsClient } from '@webcapture/shared/storage/gcs/gcs-client.ts';
import { GcsError } from '@webcapture/shared/storage/gcs/gcs-error.ts';
import { bucketSetUpMs, startTestBucket, type TestBucket } from '../../harness/bucket.ts';
import {
  googleError,
  startFaultProxy,
  type Fault,
  type FaultProxy,
  type SeenRequest,
} from '../../harness/fault-proxy.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { newFile } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { another, bytesOf, pair } from './support/store-suite.ts';

const megabyte = 1024 * 1024;
/** So short that a slow machine may be taken for silence: only for tests of silence. */
const silenceMs = 250;

let bucket: TestBucket;
let proxy: FaultProxy;
let store: GcsStore;
let impatient: GcsStore;
const retries: string[] = [];

const storeWith = (changes: Partial<ConstructorParameters<typeof GcsClient>[0]> = {}) =>
  new GcsStore(
    new GcsClient({
      bucket: bucket.bucket,
      endpoint: proxy.url,
      credentials: null,
      log: silentLog,
      onRetry: (operation, failure) => retries.push(`${operation} ${failure}`),
      silenceMs: 10_000,
      backoffMs: 40,
      mostBytesAtOnce: megabyte,
      ...changes,
    }),
    '',
  );

beforeAll(async () => {
  bucket = await startTestBucket();
  proxy = await startFaultProxy(bucket.endpoint);
  store = storeWith();
  impatient = storeWith({ silenceMs });
}, bucketSetUpMs);
beforeEach(() => {
  proxy.heal();
  retries.length = 0;
});
afterAll(async () => {
  store.close();
  impatient.close();
  await proxy[Symbol.asyncDispose]();
  await bucket[Symbol.asyncDispose]();
});

const uploads = ({ method }: SeenRequest) => method === 'POST' || method === 'PUT';
const downloads = ({ url }: SeenRequest) => url.searchParams.get('alt') === 'media';
const sent = (match: (request: SeenRequest) => boolean) => proxy.seen.filter((request) => match(request)).length;

const busy = googleError(503, 'backendError', 'Backend Error');

async function isStored(file: { name: string; bytes: Buffer }): Promise<boolean> {
  const found = await store.stat(file.name);
  return found !== null && (await bytesOf(store, found)).equals(file.bytes);
}

/** What a call fails with: the cause that is logged. */
async function causeOf(call: Promise<unknown>): Promise<GcsError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  expect(error).toMatchObject({ code: 'STORAGE_FAILED' });
  expect(error?.cause).toBeInstanceOf(GcsError);
  return error?.cause as GcsError;
}

const passing: readonly (readonly [string, Fault, string])[] = [
  ['503', busy, 'status'],
  ['429', googleError(429, 'rateLimitExceeded', 'The rate of change requests is too high'), 'status'],
  ['403 of a quota', googleError(403, 'userRateLimitExceeded', 'User Rate Limit Exceeded'), 'status'],
  ['408', { kind: 'answer', status: 408 }, 'status'],
  ['502 of a proxy', { kind: 'answer', status: 502, body: '<html>Bad Gateway</html>' }, 'status'],
  ['page of somebody else', { kind: 'answer', status: 200, body: '<html>Sign in</html>' }, 'connection'],
  ['reset in its middle', { kind: 'reset', afterBytes: 100_000 }, 'connection'],
  ['silence', { kind: 'hang' }, 'connection'],
  ['answer that was lost', { kind: 'lose the answer' }, 'connection'],
  ['damage on the way', { kind: 'damage' }, 'status'],
];

describe('an upload after', () => {
  test.each(passing)('%s is made again, and the file is there once', async (_, fault, failure) => {
    const file = newFile(300_000);
    proxy.next(uploads, fault);
    const isSilent = fault.kind === 'hang';
    const stored = await (isSilent ? impatient : store).create(file);
    expect(stored).toMatchObject({ name: file.name, size: file.bytes.length });
    expect(await isStored(file)).toBe(true);
    expect(await store.stat(file.name)).toEqual(stored);
    expect(isSilent ? retries.slice(-1) : retries).toEqual([`create ${failure}`]);
  });

  test.each(passing)('%s replaces the file once', async (_, fault) => {
    const { stored, next } = await pair(store, 1000, 300_000);
    proxy.next(uploads, fault);
    const replaced = await (fault.kind === 'hang' ? impatient : store).replace(next, stored);
    expect(replaced).toMatchObject({ size: next.bytes.length, height: 5 });
    expect(await isStored(next)).toBe(true);
    expect(await store.stat(next.name)).toEqual(replaced);
  });

  test('an answer that was lost is ours, although somebody has replaced the file since', async () => {
    const { old, stored, next } = await pair(store, 1000, 2000);
    const winner = another(old, 500);
    // Between the write whose answer is lost and the next attempt, which waits for it.
    const won = Promise.withResolvers<undefined>();
    proxy.next(uploads, { kind: 'lose the answer' }, { kind: 'wait', until: won.promise });
    const replacing = store.replace(next, stored);
    const direct = new GcsStore(
      new GcsClient({ bucket: bucket.bucket, endpoint: bucket.endpoint, credentials: null, log: silentLog }),
      '',
    );
    const written = await until('the write', async () => {
      const found = await direct.stat(old.name);
      return found?.size === 2000 && found;
    });
    expect(await direct.replace(winner, written)).not.toBeNull();
    won.resolve(undefined);
    expect(await replacing).toMatchObject({ size: 2000, etag: expect.any(String) });
    expect(await isStored(winner)).toBe(true);
    direct.close();
  });

  test('three failures in a row is made a fourth time', async () => {
    const file = newFile(1000);
    proxy.next(uploads, busy, { kind: 'reset', afterBytes: 10 }, busy);
    await store.create(file);
    expect(await isStored(file)).toBe(true);
    expect(retries).toHaveLength(3);
  });
});

describe('a large upload', () => {
  const large = () => newFile(1.5 * megabyte);
  const puts = ({ method }: SeenRequest) => method === 'PUT';

  test('goes on where its connection broke', async () => {
    const file = large();
    const [half, total] = [megabyte / 2, file.bytes.length];
    proxy.next(puts, { kind: 'break', afterBytes: half });
    await store.create(file);
    // The server has put the pieces together.
    expect(await isStored(file)).toBe(true);
    const ranges = proxy.seen.filter(puts).map(({ headers }) => headers['content-range']);
    expect(ranges).toEqual([
      `bytes 0-${total - 1}/${total}`,
      `bytes */${total}`,
      `bytes ${half}-${total - 1}/${total}`,
    ]);
    expect(sent(({ method }) => method === 'POST')).toBe(1);
  });

  test('whose bytes were damaged begins anew', async () => {
    const file = large();
    proxy.next(puts, { kind: 'damage' });
    // A session that has failed stays so.
    proxy.next(
      ({ headers }) => headers['content-range']?.startsWith('bytes */') === true,
      googleError(400, 'invalid', 'The upload has failed'),
    );
    await store.create(file);
    expect(await isStored(file)).toBe(true);
    expect(retries).toEqual(['create status']);
  });

  test('begins anew when the bucket has forgotten it, and sends no credentials to its address', async () => {
    const file = large();
    proxy.next(puts, { kind: 'answer', status: 410 });
    await storeWith({ credentials: tokens('token') }).create(file);
    expect(await isStored(file)).toBe(true);
    expect(proxy.seen.filter(puts).every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });

  test('that a slow line still carries, although all is written, is not cut', async () => {
    const own = storeWith({ silenceMs: 1000 });
    proxy.next(puts, { kind: 'delay', ms: 1020 });
    await own.create(newFile(4 * megabyte));
    expect(sent(puts)).toBe(1);
    own.close();
  });

  test('whose answer was lost is not made twice', async () => {
    const file = large();
    proxy.next(puts, { kind: 'lose the answer' });
    const stored = await store.create(file);
    expect(await isStored(file)).toBe(true);
    expect(await store.stat(file.name)).toEqual(stored);
  });

  test('loses against whoever replaced the file meanwhile', async () => {
    const { old, stored } = await pair(store, 1000, 1000);
    const winner = another(old, 500);
    await store.replace(winner, stored);
    expect(await store.replace(another(old, 1.5 * megabyte), stored)).toBeNull();
    expect(await isStored(winner)).toBe(true);
  });
});

describe('a reading', () => {
  test.each([
    ['is cut', { kind: 'cut', afterBytes: 123_456 }],
    ['falls silent', { kind: 'stall', afterBytes: 123_456 }],
    ['is refused', busy],
  ] as const)('that %s goes on where it was', async (_, fault) => {
    const file = newFile(600_000);
    const stored = await store.create(file);
    const isSilent = fault.kind === 'stall';
    const own = isSilent ? impatient : store;
    proxy.next(downloads, fault);
    expect((await bytesOf(own, stored)).equals(file.bytes)).toBe(true);
    proxy.next(downloads, fault);
    const range = { start: 1000, end: 500_000 };
    expect((await bytesOf(own, stored, range)).equals(file.bytes.subarray(1000, 500_001))).toBe(true);
    if (isSilent) expect(sent(downloads)).toBeGreaterThanOrEqual(4);
    else expect(sent(downloads)).toBe(4);
  });

  test('ends with an error, not with bytes of another, when the file is replaced and the connection breaks', async () => {
    const { old, stored, next } = await pair(store, 600_000);
    const replaced = Promise.withResolvers<undefined>();
    proxy.next(downloads, { kind: 'cut', afterBytes: 100_000, when: replaced.promise });
    const reading = store.read(stored)[Symbol.asyncIterator]();
    const chunks = [(await reading.next()).value as Uint8Array];
    await store.replace(next, stored);
    replaced.resolve(undefined);
    const rest = async () => {
      for (let step = await reading.next(); step.done !== true; step = await reading.next()) chunks.push(step.value);
    };
    await expect(rest()).rejects.toMatchObject({ name: 'FileReplacedError', code: 'STORAGE_FAILED' });
    const read = Buffer.concat(chunks);
    expect(read.equals(old.bytes.subarray(0, read.length))).toBe(true);
  });

  test('of bytes that are not those that were stored fails', async () => {
    const file = newFile(1000, { bytes: Buffer.from('a'.repeat(1000)) });
    const stored = await store.create(file);
    proxy.next(downloads, { kind: 'rewrite', change: (text) => `b${text.slice(1)}` });
    let delivered = 0;
    const reading = async () => {
      for await (const bytes of store.read(stored)) delivered += bytes.length;
    };
    expect(await causeOf(reading())).toMatchObject({ failure: 'checksum' });
    // Whoever gets them must be able to tell that they are not the file.
    expect(delivered).toBeLessThan(1000);
  });

  test('that breaks again and again gives the bucket time', async () => {
    const file = newFile(1000);
    const stored = await store.create(file);
    proxy.next(downloads, ...Array.from({ length: 3 }, () => ({ kind: 'cut', afterBytes: 10 }) as const));
    const start = performance.now();
    expect((await bytesOf(store, stored)).equals(file.bytes)).toBe(true);
    expect(performance.now() - start).toBeGreaterThan(60 + 45);
  });

  test('takes no more from the bucket than its reader does', async () => {
    const file = newFile(4 * megabyte);
    const stored = await store.create(file);
    // The proxy is part of this process, and so is what it holds.
    const own = storeWith({ endpoint: bucket.endpoint, silenceMs: 1000 });
    const reading = own.read(stored)[Symbol.asyncIterator]();
    await reading.next();
    const before = process.memoryUsage().arrayBuffers;
    // Longer than silence is borne where bytes are waited for.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * megabyte);
    let size = 0;
    for (let step = await reading.next(); step.done !== true; step = await reading.next()) size += step.value.length;
    expect(size).toBeGreaterThan(3 * megabyte);
    expect(retries).toEqual([]);
    own.close();
  });
});

describe('what does not pass is not tried again:', () => {
  test.each([
    ['a missing right', googleError(403, 'forbidden', 'a@b.c does not have storage.objects.create access'), 403],
    ['a missing bucket', googleError(404, 'notFound', 'The specified bucket does not exist.'), 404],
    ['a token that nobody can renew', googleError(401, 'authError', 'Invalid Credentials'), 401],
  ] as const)('%s', async (_, fault, status) => {
    proxy.always(uploads, fault);
    const cause = await causeOf(store.create(newFile(100)));
    expect(cause).toMatchObject({ status, transient: false });
    expect(cause.message).toContain(JSON.parse(String(fault.kind === 'answer' && fault.body)).error.message);
    expect(sent(uploads)).toBe(1);
  });

  test('a request that is wrong is tried three times, since damaged bytes are answered alike', async () => {
    proxy.always(uploads, googleError(400, 'invalid', 'Invalid argument'));
    expect(await causeOf(store.create(newFile(100)))).toMatchObject({ status: 400, reason: 'invalid' });
    expect(sent(uploads)).toBe(3);
  });
});

describe('a bucket that stays away', () => {
  test('is given up at the deadline, with the cause', async () => {
    proxy.always(uploads, busy);
    const start = performance.now();
    const cause = await causeOf(store.create(newFile(100, { deadline: Date.now() + 1500 })));
    expect(performance.now() - start).toBeLessThan(8000);
    expect(cause.message).toContain('Backend Error');
    expect(retries.length).toBeGreaterThan(1);
  });

  test('and never answers is given up at the deadline', async () => {
    proxy.always(uploads, { kind: 'hang' });
    const start = performance.now();
    await causeOf(impatient.create(newFile(100, { deadline: Date.now() + 1500 })));
    expect(performance.now() - start).toBeLessThan(8000);
    expect(retries).toContain('create connection');
  });

  test.each([
    ['stat', { kind: 'hang' }],
    ['read', { kind: 'stall', afterBytes: 10 }],
    ['read', busy],
  ] as const)('is given up by %s at the deadline that it is told', async (call, fault) => {
    const stored = await store.create(newFile(100_000));
    proxy.always(({ method }) => method === 'GET', fault);
    const start = performance.now();
    const limits = { deadline: Date.now() + 300 };
    await causeOf(call === 'stat' ? store.stat(stored.name, limits) : bytesOf(store, stored, undefined, limits));
    expect(performance.now() - start).toBeLessThan(8000);
  });

  test('and refuses connections is given up, with the address', async () => {
    const away = storeWith({ endpoint: 'http://127.0.0.1:9' });
    expect((await causeOf(away.create(newFile(100, { deadline: Date.now() + 800 })))).message).toContain('127.0.0.1:9');
  });
});

/** Credentials whose tokens are these, one after the other. */
function tokens(...all: string[]): Credentials & { renewals: number } {
  return {
    renewals: 0,
    headers() {
      return Promise.resolve({ authorization: `Bearer ${all[this.renewals]}` });
    },
    renew() {
      this.renewals++;
    },
    signLink: () => Promise.reject(new Error('not asked for')),
  };
}

describe('a token', () => {
  const isOld = ({ headers }: SeenRequest) => headers.authorization === 'Bearer old';
  const expired = googleError(401, 'authError', 'Invalid Credentials');

  test('that has expired is renewed, once', async () => {
    const credentials = tokens('old', 'new');
    const own = storeWith({ credentials });
    proxy.always(isOld, expired);
    const file = newFile(1000);
    await own.create(file);
    expect(await isStored(file)).toBe(true);
    expect(credentials.renewals).toBe(1);
    expect(sent(isOld)).toBe(1);
    own.close();
  });

  test('that nobody gives is given up at the deadline', async () => {
    const own = storeWith({ credentials: { ...tokens(), headers: () => new Promise<never>(() => undefined) } });
    const start = performance.now();
    await causeOf(own.create(newFile(1, { deadline: Date.now() + 200 })));
    expect(performance.now() - start).toBeLessThan(8000);
    own.close();
  });

  test('that is refused when it is new, too, is the end', async () => {
    const own = storeWith({ credentials: tokens('old', 'new') });
    proxy.always(() => true, expired);
    expect(await causeOf(own.create(newFile(100)))).toMatchObject({ status: 401 });
    expect(proxy.seen).toHaveLength(2);
    own.close();
  });
});

test('slow readers keep nobody from the bucket', async () => {
  const patient = storeWith({ endpoint: bucket.endpoint });
  const file = newFile(megabyte);
  const stored = await patient.create(file);
  const readings = await Promise.all(
    Array.from({ length: 70 }, async () => {
      const reading = patient.read(stored)[Symbol.asyncIterator]();
      await reading.next();
      return reading;
    }),
  );
  expect(await patient.stat(file.name)).toEqual(stored);
  for (const reading of readings) await reading.return?.();
  patient.close();
});

describe('connections that died in silence', () => {
  test('are left for a new one after the first of them', async () => {
    const own = storeWith({ backoffMs: 1, silenceMs: 1000 });
    const { name } = await own.create(newFile(1));
    proxy.always(({ url }) => url.searchParams.has('fields'), { kind: 'delay', ms: 30 });
    await Promise.all(Array.from({ length: 8 }, () => own.stat(name)));
    proxy.heal();
    proxy.deaden();
    const before = proxy.unanswered();
    expect(await own.stat(name)).not.toBeNull();
    expect(proxy.unanswered() - before).toBe(1);
    expect(retries).toContain('get connection');
    own.close();
  });

  test('are not waited for once they have been idle for long', async () => {
    await using idle = await startFaultProxy(bucket.endpoint);
    const own = storeWith({ idleMs: 1000, endpoint: idle.url });
    const { name } = await own.create(newFile(1));
    await own.stat(name);
    expect([idle.connections(), idle.open()]).toEqual([1, 1]);
    await until('it to be closed', () => idle.open() === 0);
    expect(await own.stat(name)).not.toBeNull();
    expect(retries).toEqual([]);
    own.close();
  });
});

test('connections are kept: many calls take few of them', async () => {
  const own = storeWith();
  const before = proxy.connections();
  for (let turn = 0; turn < 20; turn++) {
    const file = newFile(10_000);
    const stored = await own.create(file);
    await bytesOf(own, stored);
    await own.stat(newFile(1).name);
    await own.remove(file.name);
  }
  expect(proxy.connections() - before).toBe(2);
  own.close();
});

test('an answer of something else than the bucket is no answer: no file is missing by it', async () => {
  const page: Fault = { kind: 'answer', status: 200, body: '<html>Sign in</html>' };
  proxy.always(() => true, page);
  expect(await causeOf(store.stat(newFile(1).name))).toMatchObject({ failure: 'connection' });
  expect(await causeOf(store.list(null, 10))).toMatchObject({ failure: 'connection' });
});

describe('without the right to list', () => {
  const objects = ({ url }: SeenRequest) => url.pathname.includes('/o/');
  const asksForRights = ({ url }: SeenRequest) => url.pathname.endsWith('/testPermissions');
  const denied = (right: string) =>
    googleError(
      403,
      'forbidden',
      `a@b.c does not have ${right} access. Permission '${right}' denied on resource (or it may not exist).`,
    );
  const grants = (...permissions: string[]): Fault => ({
    kind: 'answer',
    status: 200,
    body: JSON.stringify({ permissions }),
  });
  const rights = ['storage.objects.get', 'storage.objects.delete'];
  let own: GcsStore;
  beforeEach(() => (own = storeWith()));
  afterEach(() => own.close());

  test('a file that is not there is answered 403, and is not there; the rights are asked for once', async () => {
    const stored = await store.create(newFile(1));
    proxy.always(objects, denied('storage.objects.get'));
    proxy.always(asksForRights, grants(...rights));
    expect(await Promise.all([own.stat(stored.name), own.stat(stored.name)])).toEqual([null, null]);
    await own.remove(stored.name);
    // A download is told of in plain text.
    proxy.heal();
    proxy.always(downloads, {
      kind: 'answer',
      status: 403,
      body: "Permission 'x' denied on resource (or it may not exist).",
    });
    proxy.always(asksForRights, grants());
    await expect(bytesOf(own, stored)).rejects.toMatchObject({ name: 'FileReplacedError' });
    expect(sent(asksForRights)).toBe(0);
  });

  test.each([
    ['retentionPolicyNotMet', "Object 'b/o' is subject to bucket's retention policy and cannot be deleted"],
    ['objectUnderActiveHold', "Object 'b/o' is under active Temporary hold and cannot be deleted"],
    ['accountDisabled', 'The billing account for the owning project is disabled'],
    ['forbidden', "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: x"],
  ])('a refusal for another reason, %s, is no missing file', async (reason, message) => {
    const stored = await store.create(newFile(1));
    proxy.always(objects, googleError(403, reason, message));
    proxy.always(asksForRights, grants(...rights));
    for (const call of [own.stat(stored.name), own.remove(stored.name), bytesOf(own, stored)]) {
      expect(await causeOf(call)).toMatchObject({ status: 403, reason });
    }
  });

  test('a right that is withdrawn later is no missing file, once what was known of it is old', async () => {
    const stored = await store.create(newFile(1));
    proxy.always(objects, denied('storage.objects.get'));
    proxy.next(asksForRights, grants(...rights));
    proxy.always(asksForRights, grants('storage.objects.delete'));
    expect(await own.stat(stored.name)).toBeNull();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    try {
      expect(await causeOf(own.stat(stored.name))).toMatchObject({ status: 403, reason: 'forbidden' });
      expect(await causeOf(bytesOf(own, stored))).toMatchObject({ status: 403 });
      await own.remove(stored.name);
    } finally {
      vi.useRealTimers();
    }
  });

  test('nothing is missing while nobody tells which rights there are', async () => {
    proxy.always(objects, denied('storage.objects.get'));
    proxy.always(asksForRights, googleError(403, 'forbidden', 'no'));
    expect(await causeOf(own.stat(newFile(1).name))).toMatchObject({ operation: 'get', status: 403 });
  });
});

test('a bucket that is not there any more is no missing file', async () => {
  proxy.always(({ method }) => method !== 'POST', googleError(404, 'notFound', 'The specified bucket does not exist.'));
  const { name } = newFile(1);
  expect(await causeOf(store.stat(name))).toMatchObject({ status: 404 });
  expect(await causeOf(store.remove(name))).toMatchObject({ status: 404 });
});

test('a name that is there when it is written, and gone when it is looked for, is tried a few times', async () => {
  proxy.always(uploads, googleError(412, 'conditionNotMet', 'At least one of the pre-conditions did not hold'));
  await expect(store.create(newFile(100))).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    cause: { message: 'others wrote and removed the file again and again' },
  });
  expect(sent(uploads)).toBe(5);
});

test('what is told of a failure does not tell the name by which anybody could read the file', async () => {
  const file = newFile(1);
  proxy.always(uploads, googleError(403, 'forbidden', `a@b.c does not have access to b/captures/${file.name}.`));
  const cause = await causeOf(store.create(file));
  expect(cause.message).toContain(file.name.slice(0, 36));
  expect(`${cause.message} ${cause.detail}`).not.toContain(file.name.slice(37, 69));
});
