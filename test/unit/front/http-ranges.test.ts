import { describe, expect, test } from 'vitest';
import { byteRange, isNotModified, isRangeMeant } from '../../../services/front/api/send-file.ts';

test.each<[string | undefined, ReturnType<typeof byteRange>]>([
  [undefined, null],
  ['bytes=0-0', { start: 0, end: 0 }],
  ['bytes=0-9', { start: 0, end: 9 }],
  ['bytes=10-', { start: 10, end: 99 }],
  ['bytes=90-1000', { start: 90, end: 99 }],
  ['bytes=-10', { start: 90, end: 99 }],
  ['bytes=-1000', { start: 0, end: 99 }],
  ['BYTES= 0-1 ', { start: 0, end: 1 }],
  ['bytes=99-', { start: 99, end: 99 }],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=9999999999999999999999-', 'unsatisfiable'],
  ['bytes=5-2', null],
  ['bytes=-', null],
  ['bytes=', null],
  ['bytes=0-1,5-6', null],
  ['bytes=a-b', null],
  ['items=0-1', null],
  ['bytes 0-1', null],
])('the range %s of 100 bytes', (header, range) => {
  expect(byteRange(header, 100)).toEqual(range);
});

const storedAt = Date.parse('2025-08-19T09:30:01.432Z');
const file = { etag: 'abc', storedAt };

describe('whether the client has the current version', () => {
  test.each<[Record<string, string>, boolean]>([
    [{}, false],
    [{ 'if-none-match': '"abc"' }, true],
    [{ 'if-none-match': 'W/"abc"' }, true],
    [{ 'if-none-match': '"x", "abc"' }, true],
    [{ 'if-none-match': '*' }, true],
    [{ 'if-none-match': 'abc' }, false],
    [{ 'if-none-match': '"x"', 'if-modified-since': 'Tue, 19 Aug 2025 09:30:01 GMT' }, false],
    [{ 'if-modified-since': 'Tue, 19 Aug 2025 09:30:01 GMT' }, true],
    [{ 'if-modified-since': 'Tue, 19 Aug 2025 09:30:00 GMT' }, false],
    [{ 'if-modified-since': 'yesterday' }, false],
  ])('%j', (headers, known) => {
    expect(isNotModified(headers, file)).toBe(known);
  });
});

test.each<[string | undefined, boolean]>([
  [undefined, true],
  ['"abc"', true],
  ['"x"', false],
  ['W/"abc"', false],
  ['Tue, 19 Aug 2025 09:30:01 GMT', true],
  ['Tue, 19 Aug 2025 09:30:02 GMT', false],
  ['nonsense', false],
])('whether the range applies with If-Range %s', (header, meant) => {
  expect(isRangeMeant(header, file)).toBe(meant);
});
