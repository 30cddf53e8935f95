import { describe, expect, test } from 'vitest';
import { scanJson } from '../../../services/front/validation/scan-json.ts';

const scan = (text: string) => scanJson(Buffer.from(text));

describe('scanJson accepts', () => {
  test.each([
    ['32 levels', `${'['.repeat(32)}${']'.repeat(32)}`],
    ['sibling lists of three levels', `[${'[[]],'.repeat(200)}1]`],
    ['brackets and commas in strings', JSON.stringify({ html: '[{,'.repeat(10_000) })],
    ['escaped quotes and backslashes in strings', JSON.stringify({ html: '\\"[\\\\"[{,'.repeat(10_000), url: '\\' })],
    ['a string that ends with backslashes', String.raw`{"a":"\\\\","b":"\\","c":"[[["}`],
    ['100 fields', `{${Array.from({ length: 100 }, (_, index) => `"${index}":1`).join()}}`],
    ['text that is not JSON', ']]]}}}"'],
    ['an empty text', ''],
  ])('%s', (_name, text) => {
    expect(() => scan(text)).not.toThrow();
  });
});

describe('scanJson refuses', () => {
  test.each([
    ['33 levels', '{"a":'.repeat(33), 'the body is nested deeper than 32 levels'],
    ['levels after a string full of quotes', `["${'\\"'.repeat(100)}",${'['.repeat(40)}`, 'nested deeper'],
    ['101 fields', `{${Array.from({ length: 101 }, () => '"a":1').join()}}`, 'an object of more than 100 fields'],
    ['1,001 values', `[${'1,'.repeat(1000)}1]`, 'the body has more than 1000 values'],
    ['1,001 empty objects', `[${'{},'.repeat(1000)}1]`, 'the body has more than 1000 values'],
    ['1,001 lists in lists', `[${'[[]],'.repeat(500)}1]`, 'the body has more than 1000 values'],
  ])('%s', (_name, text, message) => {
    expect(() => scan(text)).toThrow(message);
  });
});

// Mutation testing makes the code many times slower.
test.skipIf('__stryker__' in globalThis).each([
  ['letters', `"${'a'.repeat(8_000_000)}"`],
  ['escaped quotes', `"${'\\"'.repeat(4_000_000)}"`],
  ['backslashes', `"${'\\\\'.repeat(4_000_000)}"`],
])('8 MB of %s in a string take linear time', (_name, text) => {
  const bytes = Buffer.from(text);
  const begin = process.threadCpuUsage();
  scanJson(bytes);
  const { user, system } = process.threadCpuUsage(begin);
  // Microseconds of CPU time. If the time grew with the square of the length, the scan would take hours.
  expect(user + system).toBeLessThan(2_000_000);
});
