import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { decodeReply, parseResult, type JobOutcome, type JobResult } from '@webcapture/shared/queue/results.ts';
import { encodeReply } from '@webcapture/shared/queue/encode-reply.ts';
import { maxTicketLength } from '@webcapture/shared/queue/tickets.ts';
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

test('a reply with bytes is decoded unchanged', () => {
  const bytes = randomBytes(5000);
  const reply = decodeReply(encodeReply(result, bytes, 1_000_000));
  expect(reply?.result).toEqual(result);
  expect(reply?.bytes?.equals(bytes)).toBe(true);
});

test('bytes that do not fit or are not wanted are omitted from the reply', () => {
  expect(decodeReply(encodeReply(result, randomBytes(5000), 5000))).toEqual({ result, bytes: null });
  expect(decodeReply(encodeReply(result, null, 5000))).toEqual({ result, bytes: null });
  const size = encodeReply(result, randomBytes(100), 1_000_000).length;
  expect(encodeReply(result, randomBytes(100), size)).toHaveLength(size);
  expect(encodeReply(result, randomBytes(100), size - 1)).toHaveLength(size - 100);
});

test('a reply without a line end is not decoded', () => {
  expect(decodeReply(Buffer.from(JSON.stringify(result)))).toBeNull();
  expect(decodeReply(Buffer.from('\n'))).toBeNull();
});

describe('the result of a renderer', () => {
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
    ['a PDF with the maximum number of pages', { ...result, outcome: { ...completed, pages: 1_000_000 } }],
    ['a failed capture', withFailure({})],
    ['a job that is returned', { ...result, outcome: { kind: 'returned', reason: 'shutting_down' } }],
    ['a start', { ...result, outcome: { kind: 'started' } }],
    ['fields that a newer renderer adds', { ...result, later: true }],
    ['the state rendered', { ...result, outcome: { kind: 'rendered' } }],
    ['a title of the maximum length', withReport({ title: 'x'.repeat(16_384) })],
    ['the longest ticket', { ...result, ticket: 'x'.repeat(maxTicketLength) }],
    ['extracted text', { ...result, outcome: { ...completed, extracted: { upload, parts: ['text'] } } }],
    ['a file with the maximum cache time', withUpload({ cacheSeconds: 31_536_000 })],
    [
      'an object and an ETag with names of the maximum length',
      withUpload({ object: 'o'.repeat(512), etag: 't'.repeat(128) }),
    ],
  ])('is accepted: %s', (_, value) => {
    expect(parse(value)).toEqual(value);
  });

  test.each<[string, object, string]>([
    ['a cause that a later version may add', { cause: 'network' }, 'service'],
    ['a cause that is no text', { cause: { client: true } }, 'service'],
    ['an unknown cause, of a code that has one', { code: 'NAVIGATION_FAILED', cause: 'network' }, 'page'],
    ['a cause that the code cannot have', { code: 'STORAGE_FAILED', cause: 'client' }, 'service'],
  ])('that is a failure has the cause of its code: %s', (_, changes, cause) => {
    expect(parse(withFailure(changes))?.outcome).toMatchObject({ kind: 'failed', message: 'It failed.', cause });
  });

  test.each<[string, unknown]>([
    ['text that is not JSON', 'nonsense'],
    ['an empty text', ''],
    ['null', null],
    ['a list', [result]],
    ['no ticket', { ...result, ticket: undefined }],
    ['a ticket that is not a string', { ...result, ticket: { account: 'a' } }],
    ['a ticket that is too long', { ...result, ticket: 'x'.repeat(maxTicketLength + 1) }],
    ['no outcome', { ...result, outcome: undefined }],
    ['a failure without a cause', withFailure({ cause: undefined })],
    ['a report without a strategy', withReport({ strategy: undefined })],
    ['an unknown outcome', { ...result, outcome: { kind: 'charged' } }],
    ['an empty outcome', { ...result, outcome: { kind: '' } }],
    ['a pod with a name that is too long', { ...result, pod: 'p'.repeat(254) }],
    ['no delivery', { ...result, delivery: 0 }],
    ['a delivery number that is too large', { ...result, delivery: 1_000_001 }],
    ['an object with an empty name', withUpload({ object: '' })],
    ['an object with a name that is too long', withUpload({ object: 'o'.repeat(513) })],
    ['an empty ETag', withUpload({ etag: '' })],
    ['an ETag that is too long', withUpload({ etag: 't'.repeat(129) })],
    ['a negative cache time', withUpload({ cacheSeconds: -1 })],
    ['a cache time of more than a year', withUpload({ cacheSeconds: 31_536_001 })],
    ['extracted text without its file', { ...result, outcome: { ...completed, extracted: { parts: ['text'] } } }],
    ['unknown extracted parts', { ...result, outcome: { ...completed, extracted: { upload, parts: ['soul'] } } }],
    [
      'too many extracted parts',
      { ...result, outcome: { ...completed, extracted: { upload, parts: Array(20).fill('text') } } },
    ],
    ['a title that is one character too long', withReport({ title: 'x'.repeat(16_385) })],
    ['a duration that is too large', { ...result, elapsedMs: 1e300 }],
    ['a duration that is not a number', JSON.stringify(result).replace('12.5', 'NaN')],
    ['a PDF without pages', { ...result, outcome: { ...completed, pages: 0 } }],
    ['too many pages', { ...result, outcome: { ...completed, pages: 1_000_001 } }],
    ['a negative age', { ...result, outcome: { ...completed, ageMs: -1 } }],
    ['an unexpected content type', withUpload({ contentType: 'text/html' })],
    ['a size of zero', withUpload({ size: 0 })],
    ['a negative size', withUpload({ size: -7 })],
    ['a size that is too large', withUpload({ size: 2 ** 41 })],
    ['a size that is null, like NaN in JSON', withUpload({ size: Number.NaN })],
    ['a width of half a pixel', withUpload({ width: 0.5 })],
    ['a width that is too large', withUpload({ width: 1_000_001 })],
    ['a height that is too large', withUpload({ height: 1e12 })],
    ['no height', withUpload({ height: undefined })],
    ['an ETag that is a list', withUpload({ etag: ['a', 'b'] })],
    ['an expiry time that is too large', withUpload({ expiresAt: 2 ** 60 })],
    ['a title that is not a string', withReport({ title: 7 })],
    ['a title of a megabyte', withReport({ title: 'x'.repeat(1_000_000) })],
    ['an address of a megabyte', withReport({ finalUrl: 'x'.repeat(1_000_000) })],
    ['an address of a response of a megabyte', withReport({ responseUrl: 'x'.repeat(1_000_000) })],
    ['a scriptError of a megabyte', withReport({ scriptError: 'x'.repeat(1_000_000) })],
    ['a message of a megabyte', withFailure({ message: 'x'.repeat(1_000_000) })],
    ['an empty message', withFailure({ message: '' })],
    ['a code that a renderer cannot return', withFailure({ code: 'QUOTA_EXCEEDED' })],
    ['an unknown reason of a return', { ...result, outcome: { kind: 'returned', reason: 'no_mood' } }],
  ])('is refused: %s', (_, value) => {
    expect(parse(value)).toBeNull();
    const line = Buffer.from(`${typeof value === 'string' ? value : JSON.stringify(value)}\nbytes`);
    expect(decodeReply(line)).toBeNull();
  });
});
