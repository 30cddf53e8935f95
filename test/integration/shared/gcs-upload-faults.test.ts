// @module-tag long
import { describe, expect, test } from 'vitest';
import { BucketUploader } from '@webcapture/shared/files/bucket-uploader.ts';
import { googleError, type Fault, type SeenRequest } from '../../harness/fault-proxy.ts';
import { replaceFile } from '../../harness/place-file.ts';
import { newFile } from '../../harness/records.ts';
import { pair } from './support/stored-files.ts';
import { busy, megabyte, uploads, useFaultyBucket } from './support/faulty-bucket.ts';

const on = useFaultyBucket();

const passing: readonly (readonly [string, Fault, string])[] = [
  ['503', busy, 'status'],
  ['429', googleError(429, 'rateLimitExceeded', 'The rate of change requests is too high'), 'status'],
  ['403 of a quota', googleError(403, 'userRateLimitExceeded', 'User Rate Limit Exceeded'), 'status'],
  ['408', { kind: 'answer', status: 408 }, 'status'],
  ['502 of a proxy', { kind: 'answer', status: 502, body: '<html>Bad Gateway</html>' }, 'status'],
  ['page of another server', { kind: 'answer', status: 200, body: '<html>Sign in</html>' }, 'connection'],
  ['reset in its middle', { kind: 'reset', afterBytes: 100_000 }, 'connection'],
  ['silence', { kind: 'hang' }, 'connection'],
  ['answer that was lost', { kind: 'lose the answer' }, 'connection'],
  ['damage on the way', { kind: 'damage' }, 'status'],
];

describe('an upload after', () => {
  test.each(passing)('%s is retried, and the file is stored once', async (_, fault, failure) => {
    const file = newFile(300_000);
    on().proxy.next(uploads, fault);
    const isSilent = fault.kind === 'hang';
    const stored = await (isSilent ? on().impatient : on().store).create(file);
    expect(stored).toMatchObject({ name: file.name, size: file.bytes.length });
    expect(await on().isStored(file)).toBe(true);
    expect(await on().store.stat(file.name)).toEqual(stored);
    expect(isSilent ? on().retries.slice(-1) : on().retries).toEqual([`create ${failure}`]);
  });

  test.each(passing)('%s replaces the file once', async (_, fault) => {
    const { next } = await pair(on().store, 1000, 300_000);
    on().proxy.next(uploads, fault);
    const { bucket } = fault.kind === 'hang' ? on().impatient : on().store;
    const replaced = await replaceFile({ store: on().store, uploader: new BucketUploader(bucket) }, next);
    expect(replaced).toMatchObject({ size: next.bytes.length, height: 5 });
    expect(await on().isStored(next)).toBe(true);
    expect(await on().store.stat(next.name)).toEqual(replaced);
  });

  test('three failures in a row is tried a fourth time', async () => {
    const file = newFile(1000);
    on().proxy.next(uploads, busy, { kind: 'reset', afterBytes: 10 }, busy);
    await on().store.create(file);
    expect(await on().isStored(file)).toBe(true);
    expect(on().retries).toHaveLength(3);
  });
});

describe('a large upload', () => {
  const large = () => newFile(1.5 * megabyte);
  const puts = ({ method }: SeenRequest) => method === 'PUT';

  test('continues where its connection broke', async () => {
    const file = large();
    const [half, total] = [megabyte / 2, file.bytes.length];
    on().proxy.next(puts, { kind: 'break', afterBytes: half });
    await on().store.create(file);
    // The server has combined the pieces.
    expect(await on().isStored(file)).toBe(true);
    const sent = on().proxy.seen.filter(puts);
    expect(sent.map(({ headers }) => headers['content-range'])).toEqual([
      `bytes 0-*/${total}`,
      'bytes */*',
      `bytes ${half}-*/${total}`,
    ]);
    expect(sent.at(-1)?.body).toHaveLength(total - half);
    expect(on().sent(({ method }) => method === 'POST')).toBe(1);
  });

  test('whose bytes were damaged starts again', async () => {
    const file = large();
    on().proxy.next(puts, { kind: 'damage' });
    // A session that has failed stays failed.
    on().proxy.next(
      ({ headers }) => headers['content-range']?.startsWith('bytes */') === true,
      googleError(400, 'invalid', 'The upload has failed'),
    );
    await on().store.create(file);
    expect(await on().isStored(file)).toBe(true);
    expect(on().retries).toEqual(['create status']);
  });

  test('starts again if a response does not come from the bucket', async () => {
    const file = large();
    on().proxy.next(uploads, { kind: 'answer', status: 200, body: '{}' });
    await on().store.create(file);
    expect(await on().isStored(file)).toBe(true);
    expect(on().retries).toEqual(['create connection']);
  });

  test('starts again if the bucket has forgotten its session', async () => {
    const file = large();
    on().proxy.next(puts, { kind: 'answer', status: 410 });
    await on().store.create(file);
    expect(await on().isStored(file)).toBe(true);
    expect(on().retries).toEqual(['create connection']);
  });

  test('that is fully written, but in transit on a slow line, is not cut', async () => {
    const own = on().storeWith({ silenceMs: 1000 });
    on().proxy.next(puts, { kind: 'delay', ms: 1020 });
    await own.create(newFile(4 * megabyte));
    expect(on().sent(puts)).toBe(1);
    own.close();
  });

  test('whose response was lost is not sent again', async () => {
    const file = large();
    on().proxy.next(puts, { kind: 'lose the answer' });
    const stored = await on().store.create(file);
    expect(await on().isStored(file)).toBe(true);
    expect(await on().store.stat(file.name)).toEqual(stored);
  });
});
