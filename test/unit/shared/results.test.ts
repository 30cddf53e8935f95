import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { decodeReply, parseResult, type JobOutcome, type JobResult } from '@webcapture/shared/queue/results.ts';
import { encodeReply } from '@webcapture/shared/queue/encode-reply.ts';
import { plainReport } from '../../harness/records.ts';

const upload = {
  object: 'a-file.png',
  contentType: 'image/png',
  size: 7,
  etag: 'a-tag',
  width: 3,
  height: 4,
  expiresAt: 1_800_000_000_000,
} as const;
const completed = { kind: 'completed', upload, report: plainReport, ageMs: 3 } as const satisfies JobOutcome;
const result: JobResult = { ticket: 'a.ticket', pod: 'a-pod', delivery: 1, elapsedMs: 12.5, outcome: completed };

test('a reply comes back as it was, bytes and all', () => {
  const bytes = randomBytes(5000);
  const reply = decodeReply(encodeReply(result, bytes, 1_000_000));
  expect(reply?.result).toEqual(result);
  expect(reply?.bytes?.equals(bytes)).toBe(true);
});

test('bytes that do not fit stay behind, and so they do when nobody wants them', () => {
  expect(decodeReply(encodeReply(result, randomBytes(5000), 5000))).toEqual({ result, bytes: null });
  expect(decodeReply(encodeReply(result, null, 5000))).toEqual({ result, bytes: null });
  const size = encodeReply(result, randomBytes(100), 1_000_000).length;
  expect(encodeReply(result, randomBytes(100), size)).toHaveLength(size);
  expect(encodeReply(result, randomBytes(100), size - 1)).toHaveLength(size - 100);
});

test('what has no end of its line is no reply', () => {
  expect(decodeReply(Buffer.from(JSON.stringify(result)))).toBeNull();
  expect(decodeReply(Buffer.from('\n'))).toBeNull();
});

describe('of what a renderer says', () => {
  const parse = (value: unknown) => parseResult(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
  const withUpload = (changes: object) => ({ ...result, outcome: { ...completed, upload: { ...upload, ...changes } } });
  const withReport = (changes: object) => ({
    ...result,
    outcome: { ...completed, report: { ...plainReport, ...changes } },
  });
  const withFailure = (changes: object) => ({
    ...result,
    outcome: { kind: 'failed', code: 'CAPTURE_FAILED', message: 'It failed.', cause: 'page', ...changes },
  });

  test.each<[string, unknown]>([
    ['a completed capture', result],
    ['a pdf of many pages', { ...result, outcome: { ...completed, pages: 1_000_000 } }],
    ['a failed one', withFailure({})],
    ['a job that is returned', { ...result, outcome: { kind: 'returned', reason: 'shutting_down' } }],
    ['a start', { ...result, outcome: { kind: 'started' } }],
    ['fields that a newer renderer adds', { ...result, later: true }],
    ['that the picture has been taken', { ...result, outcome: { kind: 'rendered' } }],
    ['a title as long as it may be', withReport({ title: 'x'.repeat(16_384) })],
    ['what was extracted', { ...result, outcome: { ...completed, extracted: { upload, parts: ['text'] } } }],
    ['a file that caches may keep for a year', withUpload({ cacheSeconds: 31_536_000 })],
    ['the longest name of an object and a tag', withUpload({ object: 'o'.repeat(512), etag: 't'.repeat(128) })],
  ])('%s is taken', (_, value) => {
    expect(parse(value)).toEqual(value);
  });

  test.each<[string, object, string]>([
    ['a cause that a later version may add', { cause: 'network' }, 'service'],
    ['a cause that is no text', { cause: { client: true } }, 'service'],
    ['an unknown cause, of a code that has one', { code: 'NAVIGATION_FAILED', cause: 'network' }, 'page'],
    ['a cause that the code cannot have', { code: 'STORAGE_FAILED', cause: 'client' }, 'service'],
  ])('%s: the failure is taken, with the cause of its code', (_, changes, cause) => {
    expect(parse(withFailure(changes))?.outcome).toMatchObject({ kind: 'failed', message: 'It failed.', cause });
  });

  test.each<[string, unknown]>([
    ['no JSON', 'nonsense'],
    ['nothing', ''],
    ['null', null],
    ['a list', [result]],
    ['no ticket', { ...result, ticket: undefined }],
    ['a ticket that is no text', { ...result, ticket: { account: 'a' } }],
    ['a ticket without a bound', { ...result, ticket: 'x'.repeat(65_537) }],
    ['no outcome', { ...result, outcome: undefined }],
    ['a failure without a cause', withFailure({ cause: undefined })],
    ['a report without a strategy', withReport({ strategy: undefined })],
    ['an unknown outcome', { ...result, outcome: { kind: 'charged' } }],
    ['an outcome without a name', { ...result, outcome: { kind: '' } }],
    ['a name of a pod that is too long', { ...result, pod: 'p'.repeat(254) }],
    ['no delivery', { ...result, delivery: 0 }],
    ['a delivery beyond all bounds', { ...result, delivery: 1_000_001 }],
    ['an object without a name', withUpload({ object: '' })],
    ['an object with too long a name', withUpload({ object: 'o'.repeat(513) })],
    ['an empty tag', withUpload({ etag: '' })],
    ['too long a tag', withUpload({ etag: 't'.repeat(129) })],
    ['a negative time for caches', withUpload({ cacheSeconds: -1 })],
    ['more than a year for caches', withUpload({ cacheSeconds: 31_536_001 })],
    ['what was extracted without its file', { ...result, outcome: { ...completed, extracted: { parts: ['text'] } } }],
    ['parts that nobody extracts', { ...result, outcome: { ...completed, extracted: { upload, parts: ['soul'] } } }],
    [
      'more parts than there are',
      { ...result, outcome: { ...completed, extracted: { upload, parts: Array(20).fill('text') } } },
    ],
    ['a title that is a little too long', withReport({ title: 'x'.repeat(16_385) })],
    ['an endless wait', { ...result, elapsedMs: 1e300 }],
    ['a wait that is no number', JSON.stringify(result).replace('12.5', 'NaN')],
    ['a pdf without pages', { ...result, outcome: { ...completed, pages: 0 } }],
    ['an absurd number of pages', { ...result, outcome: { ...completed, pages: 1_000_001 } }],
    ['a negative age', { ...result, outcome: { ...completed, ageMs: -1 } }],
    ['a type that is none of ours', withUpload({ contentType: 'text/html' })],
    ['a size of zero', withUpload({ size: 0 })],
    ['a size below zero', withUpload({ size: -7 })],
    ['an absurd size', withUpload({ size: 2 ** 41 })],
    ['a size that is null, as NaN is in JSON', withUpload({ size: Number.NaN })],
    ['half a pixel', withUpload({ width: 0.5 })],
    ['an absurd width', withUpload({ width: 1_000_001 })],
    ['an absurd height', withUpload({ height: 1e12 })],
    ['no height', withUpload({ height: undefined })],
    ['a tag that is a list', withUpload({ etag: ['a', 'b'] })],
    ['an end beyond all numbers', withUpload({ expiresAt: 2 ** 60 })],
    ['a report without its texts', withReport({ title: 7 })],
    ['a title of a megabyte', withReport({ title: 'x'.repeat(1_000_000) })],
    ['an address of a megabyte', withReport({ finalUrl: 'x'.repeat(1_000_000) })],
    ['a scriptError of a megabyte', withReport({ scriptError: 'x'.repeat(1_000_000) })],
    ['a message of a megabyte', withFailure({ message: 'x'.repeat(1_000_000) })],
    ['a message without a word', withFailure({ message: '' })],
    ["a code that is no renderer's to give", withFailure({ code: 'QUOTA_EXCEEDED' })],
    ['a return without a reason of ours', { ...result, outcome: { kind: 'returned', reason: 'no_mood' } }],
  ])('%s is refused', (_, value) => {
    expect(parse(value)).toBeNull();
    const line = Buffer.from(`${typeof value === 'string' ? value : JSON.stringify(value)}\nbytes`);
    expect(decodeReply(line)).toBeNull();
  });
});
