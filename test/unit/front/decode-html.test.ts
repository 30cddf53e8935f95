import { describe, expect, test } from 'vitest';
import { decodeHtml } from '../../../services/front/capture/accept-request.ts';
import { timeOf } from '../../harness/time-of.ts';

const page = '<!doctype html><p>Grüße, 世界 \u{1F600}</p>';
const standard = Buffer.from(page).toString('base64');

describe('gives the text of', () => {
  test.each([
    ['raw html', page, page],
    ['a lone less-than', 'a < b', 'a < b'],
    ['base64', standard, page],
    ['base64 without padding', standard.replaceAll('=', ''), page],
    ['URL-safe base64', Buffer.from('<p>???>>>~~~</p>').toString('base64url'), '<p>???>>>~~~</p>'],
    ['URL-safe base64 with padding', `${Buffer.from('ÿ').toString('base64url')}=`, 'ÿ'],
    ['base64 in lines', (standard.match(/.{1,20}/g) ?? []).join('\r\n'), page],
    ['base64 of text', Buffer.from('no tag').toString('base64'), 'no tag'],
  ])('%s', (_name, html, text) => {
    expect(decodeHtml(html)).toBe(text);
  });

  test('base64 as long as html may be', () => {
    const text = `<${'é'.repeat(393_215)}>`;
    const packed = Buffer.from(text).toString('base64');
    expect(packed.length).toBeGreaterThan(1_048_570);
    expect(decodeHtml(packed)).toBe(text);
  });
});

test.each([
  ['plain text', 'hello, world'],
  ['letters that leave one over', 'aGVsb'],
  ['padding that is too short', 'YQ='],
  ['padding that is too long', 'YWI=='],
  ['padding in the middle', 'YQ==YQ=='],
  ['both alphabets at once', 'ab+/cd-_'],
  ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x3c]).toString('base64')],
  ['blanks', ' \n\t'],
  ['a data address', `data:text/html;base64,${standard}`],
])('refuses %s', (_name, html) => {
  expect(() => decodeHtml(html)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});

test('refuses a million letters and one that does not fit, at once', async () => {
  const refuse = async () => expect(() => decodeHtml(`${'A'.repeat(1_048_000)}!`)).toThrow();
  expect(await timeOf(refuse)).toBeLessThan(1000);
});

test('what is no html is refused at once, whatever it is made of', () => {
  for (const html of [`${'='.repeat(1_048_575)}A`, `A${'='.repeat(1_048_575)}`, `${'A='.repeat(500_000)}`]) {
    const start = performance.now();
    expect(() => decodeHtml(html)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    // It took hours; a busy machine may take some milliseconds.
    expect(performance.now() - start).toBeLessThan(1000);
  }
});
