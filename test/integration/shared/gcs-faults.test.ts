// @module-tag long
import { describe, expect, test } from 'vitest';
import { googleError, startFaultProxy, type Fault } from '../../harness/fault-proxy.ts';
import { replaceFile } from '../../harness/place-file.ts';
import { newFile } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { bytesOf, pair } from './support/stored-files.ts';
import { busy, causeOf, downloads, megabyte, uploads, useFaultyBucket } from './support/faulty-bucket.ts';

const on = useFaultyBucket();

describe('a read', () => {
  test.each([
    ['is cut', { kind: 'cut', afterBytes: 123_456 }],
    ['falls silent', { kind: 'stall', afterBytes: 123_456 }],
    ['is refused', busy],
  ] as const)('that %s continues where it stopped', async (_, fault) => {
    const file = newFile(600_000);
    const stored = await on().store.create(file);
    const isSilent = fault.kind === 'stall';
    const own = isSilent ? on().impatient : on().store;
    on().proxy.next(downloads, fault);
    expect((await bytesOf(own, stored)).equals(file.bytes)).toBe(true);
    on().proxy.next(downloads, fault);
    const range = { start: 1000, end: 500_000 };
    expect((await bytesOf(own, stored, range)).equals(file.bytes.subarray(1000, 500_001))).toBe(true);
    if (isSilent) expect(on().sent(downloads)).toBeGreaterThanOrEqual(4);
    else expect(on().sent(downloads)).toBe(4);
  });

  test('fails, without bytes of another file, if the file is replaced and the connection breaks', async () => {
    const { old, stored, next } = await pair(on().store, 600_000);
    const replaced = Promise.withResolvers<undefined>();
    on().proxy.next(downloads, { kind: 'cut', afterBytes: 100_000, when: replaced.promise });
    const reading = on().store.read(stored)[Symbol.asyncIterator]();
    const chunks = [(await reading.next()).value as Uint8Array];
    await replaceFile(on(), next);
    replaced.resolve(undefined);
    const rest = async () => {
      for (let step = await reading.next(); step.done !== true; step = await reading.next()) chunks.push(step.value);
    };
    await expect(rest()).rejects.toMatchObject({ name: 'FileReplacedError', code: 'STORAGE_FAILED' });
    const read = Buffer.concat(chunks);
    expect(read.equals(old.bytes.subarray(0, read.length))).toBe(true);
  });

  test('of bytes that differ from the stored ones fails', async () => {
    const file = newFile(1000, { bytes: Buffer.from('a'.repeat(1000)) });
    const stored = await on().store.create(file);
    on().proxy.next(downloads, { kind: 'rewrite', change: (text) => `b${text.slice(1)}` });
    let delivered = 0;
    const reading = async () => {
      for await (const bytes of on().store.read(stored)) delivered += bytes.length;
    };
    expect(await causeOf(reading())).toMatchObject({ failure: 'checksum' });
    // The reader must be able to detect that the bytes are not the file.
    expect(delivered).toBeLessThan(1000);
  });

  test('that breaks repeatedly backs off between attempts', async () => {
    const file = newFile(1000);
    const stored = await on().store.create(file);
    on().proxy.next(downloads, ...Array.from({ length: 3 }, () => ({ kind: 'cut', afterBytes: 10 }) as const));
    const start = performance.now();
    expect((await bytesOf(on().store, stored)).equals(file.bytes)).toBe(true);
    expect(performance.now() - start).toBeGreaterThan(60 + 45);
  });

  test('takes no more from the bucket than its reader consumes', async () => {
    const file = newFile(4 * megabyte);
    const stored = await on().store.create(file);
    // The proxy is not used here, because its buffers are in this process and would count.
    const own = on().storeWith({ endpoint: on().bucket.endpoint, silenceMs: 1000 });
    const reading = own.read(stored)[Symbol.asyncIterator]();
    await reading.next();
    const before = process.memoryUsage().arrayBuffers;
    // The pause is longer than the silence timeout of a read that waits for bytes.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * megabyte);
    let size = 0;
    for (let step = await reading.next(); step.done !== true; step = await reading.next()) size += step.value.length;
    expect(size).toBeGreaterThan(3 * megabyte);
    expect(on().retries).toEqual([]);
    own.close();
  });
});

describe('permanent failures:', () => {
  test.each([
    ['a missing right', googleError(403, 'forbidden', 'a@b.c does not have storage.objects.create access'), 403],
    ['a missing bucket', googleError(404, 'notFound', 'The specified bucket does not exist.'), 404],
    ['a token that cannot be renewed', googleError(401, 'authError', 'Invalid Credentials'), 401],
  ] as const)('%s is not retried', async (_, fault, status) => {
    on().proxy.always(uploads, fault);
    const cause = await causeOf(on().store.create(newFile(100)));
    expect(cause).toMatchObject({ status, transient: false });
    expect(cause.message).toContain(JSON.parse(String(fault.kind === 'answer' && fault.body)).error.message);
    expect(on().sent(uploads)).toBe(1);
  });

  test('a 400 is tried three times, since damaged bytes also cause it', async () => {
    on().proxy.always(uploads, googleError(400, 'invalid', 'Invalid argument'));
    expect(await causeOf(on().store.create(newFile(100)))).toMatchObject({ status: 400, reason: 'invalid' });
    expect(on().sent(uploads)).toBe(3);
  });
});

describe('a bucket that stays unavailable', () => {
  test('fails the call at the deadline, with the cause', async () => {
    on().proxy.always(uploads, busy);
    const start = performance.now();
    const cause = await causeOf(on().store.create(newFile(100, { deadline: Date.now() + 1500 })));
    expect(performance.now() - start).toBeLessThan(8000);
    expect(cause.message).toContain('Backend Error');
    expect(on().retries.length).toBeGreaterThan(1);
  });

  test('and never answers fails the call at the deadline', async () => {
    on().proxy.always(uploads, { kind: 'hang' });
    const start = performance.now();
    await causeOf(on().impatient.create(newFile(100, { deadline: Date.now() + 1500 })));
    expect(performance.now() - start).toBeLessThan(8000);
    expect(on().retries).toContain('create connection');
  });

  test.each([
    ['stat', { kind: 'hang' }],
    ['read', { kind: 'stall', afterBytes: 10 }],
    ['read', busy],
  ] as const)('fails the call %s at its deadline', async (call, fault) => {
    const stored = await on().store.create(newFile(100_000));
    on().proxy.always(({ method }) => method === 'GET', fault);
    const start = performance.now();
    const limits = { deadline: Date.now() + 300 };
    await causeOf(
      call === 'stat' ? on().store.stat(stored.name, limits) : bytesOf(on().store, stored, undefined, limits),
    );
    expect(performance.now() - start).toBeLessThan(8000);
  });

  test('and refuses connections fails the call, with the address in the cause', async () => {
    const away = on().storeWith({ endpoint: 'http://127.0.0.1:9' });
    expect((await causeOf(away.create(newFile(100, { deadline: Date.now() + 800 })))).message).toContain('127.0.0.1:9');
  });
});

test('slow readers do not block other requests', async () => {
  const patient = on().storeWith({ endpoint: on().bucket.endpoint });
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

describe('connections that died unnoticed', () => {
  test('are abandoned after the first one times out', async () => {
    const own = on().storeWith({ backoffMs: 1, silenceMs: 1000 });
    const { name } = await own.create(newFile(1));
    on().proxy.always(({ method }) => method === 'GET', { kind: 'delay', ms: 30 });
    await Promise.all(Array.from({ length: 8 }, () => own.stat(name)));
    on().proxy.heal();
    on().proxy.deaden();
    const before = on().proxy.unanswered();
    expect(await own.stat(name)).not.toBeNull();
    expect(on().proxy.unanswered() - before).toBe(1);
    expect(on().retries).toContain('get connection');
    own.close();
  });

  test('are closed when they have been idle for long', async () => {
    await using idle = await startFaultProxy(on().bucket.endpoint);
    const own = on().storeWith({ endpoint: idle.url });
    const { name } = await own.create(newFile(1));
    await own.stat(name);
    expect([idle.connections(), idle.open()]).toEqual([1, 1]);
    await until('it to be closed', () => idle.open() === 0);
    expect(await own.stat(name)).not.toBeNull();
    expect(on().retries).toEqual([]);
    own.close();
  });
});

test('connections are reused: many requests open only one', async () => {
  const own = on().storeWith();
  const before = on().proxy.connections();
  for (let turn = 0; turn < 20; turn++) {
    const file = newFile(10_000);
    const stored = await own.create(file);
    await bytesOf(own, stored);
    await own.stat(newFile(1).name);
    await own.remove(file.name);
  }
  expect(on().proxy.connections() - before).toBe(1);
  own.close();
});

test('a response that does not come from the bucket does not make a file missing', async () => {
  const page: Fault = { kind: 'answer', status: 200, body: '<html>Sign in</html>' };
  on().proxy.always(() => true, page);
  const limits = { deadline: Date.now() + 3000 };
  expect(await causeOf(on().store.stat(newFile(1).name, limits))).toMatchObject({ failure: 'connection' });
});

test('a bucket that no longer exists does not make a file missing', async () => {
  on().proxy.always(
    ({ method }) => method !== 'POST',
    googleError(404, 'notFound', 'The specified bucket does not exist.'),
  );
  const { name } = newFile(1);
  expect(await causeOf(on().store.stat(name))).toMatchObject({ status: 404 });
  expect(await causeOf(on().store.remove(name))).toMatchObject({ status: 404 });
});

test('a name that is taken when it is written, and missing when it is read, is tried five times', async () => {
  on().proxy.always(uploads, googleError(412, 'conditionNotMet', 'At least one of the pre-conditions did not hold'));
  await expect(on().store.create(newFile(100))).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    cause: { message: 'other processes wrote and removed the file repeatedly' },
  });
  expect(on().sent(uploads)).toBe(5);
});

test('error messages do not contain the secret part of a file name', async () => {
  const file = newFile(1);
  on().proxy.always(uploads, googleError(403, 'forbidden', `a@b.c does not have access to b/captures/${file.name}.`));
  const cause = await causeOf(on().store.create(file));
  expect(cause.message).toContain(file.name.slice(0, 36));
  expect(`${cause.message} ${cause.detail}`).not.toContain(file.name.slice(37, 69));
});
