import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { StoredFile } from '@webcapture/shared/files/file-store.ts';
import type { RetryLaterError } from '../../../services/front/admission.ts';
import { TokenBuckets } from '../../../services/front/http/token-buckets.ts';
import { Merges, createMergeMetrics } from '../../../services/front/plugins/merge/merges.ts';
import { fake } from '../../harness/fake.ts';

const stored: StoredFile = {
  name: '',
  contentType: 'application/pdf',
  size: 32 * 1024 * 1024 + 1,
  etag: 'tag',
  storedAt: 0,
  expiresAt: Infinity,
  width: 1,
  height: 1,
};

/** Creates merges whose files never arrive. `files` contains the reads by name. */
function createMerges(files: Readonly<Record<string, StoredFile>> = {}, seconds?: TokenBuckets) {
  const never = new Promise<never>(() => undefined);
  const stat = async (name: string) => (name === 'never' ? never : (files[name] ?? null));
  return new Merges({
    store: fake({ stat, read: () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) }) }),
    now: Date.now,
    metrics: createMergeMetrics(new Registry()),
    ...(seconds && { seconds }),
  });
}

const merge = (merges: Merges, names: readonly string[], clientGone = new AbortController().signal, account = 'a') =>
  merges.merge(
    names.map((fileName) => ({ fileName, title: 't' })),
    { pageLabels: 'continuous' },
    { account, clientGone },
  );

function refusalOf(merges: Merges, account: string): RetryLaterError {
  try {
    merges.begin(account);
  } catch (error) {
    return error as RetryLaterError;
  }
  throw new Error('the merge was admitted');
}

test('an account may have two merges in progress, and all accounts together 32', () => {
  const merges = createMerges();
  const ends = [merges.begin('a'), merges.begin('a')];
  expect(refusalOf(merges, 'a')).toMatchObject({ code: 'QUEUE_FULL', retryAfterSeconds: 5 });
  ends[0]?.();
  ends.push(merges.begin('a'));
  for (let index = 2; index < 32; index++) merges.begin(`account-${index}`);
  expect(refusalOf(merges, 'another')).toMatchObject({ code: 'QUEUE_FULL' });
  ends[1]?.();
  merges.begin('another');
});

test('an account whose merges took too long is refused for a while', async () => {
  const merges = createMerges({}, new TokenBuckets({ capacity: 1e-6, perSecond: 0.001, now: () => 0 }));
  await expect(merge(merges, ['gone'])).rejects.toThrow();
  expect(refusalOf(merges, 'a').retryAfterSeconds).toBeGreaterThan(900);
  merges.begin('b');
});

test('files of more than 64 MiB together are not merged', async () => {
  const merges = createMerges({ file: stored });
  await expect(merge(merges, ['file', 'file'])).rejects.toMatchObject({
    code: 'PAGE_TOO_LARGE',
    message: expect.stringContaining('67108866 bytes together, but at most 67108864') as unknown,
  });
});

test.each<[string, StoredFile | undefined]>([
  ['that no longer exists', undefined],
  ['of another type', { ...stored, contentType: 'image/png' }],
])('a file %s is named', async (_name, file) => {
  const merges = createMerges({ file: { ...stored, size: 1 }, ...(file && { other: file }) });
  await expect(merge(merges, ['file', 'other'])).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: expect.stringContaining('documents.1') as unknown,
  });
});

test('a merge that waits for its turn ends when its client disconnects, or the front closes', async () => {
  const merges = createMerges();
  const running = merge(merges, ['never'], undefined, 'first');
  const client = new AbortController();
  const waiting = [merge(merges, ['gone'], client.signal, 'second'), merge(merges, ['gone'], undefined, 'third')];
  client.abort(new Error('disconnected'));
  await expect(waiting[0]).rejects.toThrow('disconnected');
  merges.close();
  await expect(waiting[1]).rejects.toThrow('aborted');
  running.catch(() => undefined);
});
