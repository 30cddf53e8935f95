import { describe, expect, test } from 'vitest';
import { decodeHtml } from '../../../services/front/capture/accept-request.ts';
import { timeOf } from '../../harness/time-of.ts';

const page = '<!doctype html><p>Grüße, 世界 \u{1F600}</p>';
const standard = Buffer.from(page).toString('base64');

describe('decodeHtml returns the text of', () => {
  test.each([
    ['raw html', page, page],
    ['a single less-than sign', 'a < b', 'a < b'],
    ['base64', standard, page],
    ['base64 without padding', standard.replaceAll('=', ''), page],
    ['URL-safe base64', Buffer.from('<p>???>>>~~~</p>').toString('base64url'), '<p>???>>>~~~</p>'],
    ['URL-safe base64 with padding', `${Buffer.from('ÿ').toString('base64url')}=`, 'ÿ'],
    ['base64 in lines', (standard.match(/.{1,20}/g) ?? []).join('\r\n'), page],
    ['base64 of text', Buffer.from('no tag').toString('base64'), 'no tag'],
  ])('%s', (_name, html, text) => {
    expect(decodeHtml(html)).toBe(text);
  });

  test('base64 of the maximum length', () => {
    const text = `<${'é'.repeat(393_215)}>`;
    const packed = Buffer.from(text).toString('base64');
    expect(packed.length).toBeGreaterThan(1_048_570);
    expect(decodeHtml(packed)).toBe(text);
  });
});

test.each([
  ['plain text', 'hello, world'],
  ['base64 with one letter too many', 'aGVsb'],
  ['padding that is too short', 'YQ='],
  ['padding that is too long', 'YWI=='],
  ['padding in the middle', 'YQ==YQ=='],
  ['both alphabets at once', 'ab+/cd-_'],
  ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x3c]).toString('base64')],
  ['blanks', ' \n\t'],
  ['a data address', `data:text/html;base64,${standard}`],
])('decodeHtml refuses %s', (_name, html) => {
  expect(() => decodeHtml(html)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});

test('refuses a million letters and an invalid one within a second', async () => {
  const refuse = async () => expect(() => decodeHtml(`${'A'.repeat(1_048_000)}!`)).toThrow();
  expect(await timeOf(refuse)).toBeLessThan(1000);
});

test('refuses invalid base64 of any pattern within a second', () => {
  for (const html of [`${'='.repeat(1_048_575)}A`, `A${'='.repeat(1_048_575)}`, `${'A='.repeat(500_000)}`]) {
    const start = performance.now();
    expect(() => decodeHtml(html)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    // With an earlier pattern, this took hours. A busy machine may take some milliseconds.
    expect(performance.now() - start).toBeLessThan(1000);
  }
});
