import { mergeOptions } from '@webcapture/shared/api/merge-options.ts';
import { describe, expect, test } from 'vitest';
import {
  byField,
  byFlag,
  captureOptions,
  findProblems,
  helpOf,
  readOption,
  setOption,
} from '../../../services/cli/capture/options.ts';

/** Builds a request from flags, as the command line does. */
function requestOf(flags: Readonly<Record<string, string | readonly string[]>>): Record<string, unknown> {
  const request: Record<string, unknown> = {};
  for (const [flag, texts] of Object.entries(flags)) {
    const option = captureOptions.find((each) => each.flag === flag);
    if (option === undefined) throw new Error(`no option has the flag ${flag}`);
    setOption(request, option.path, readOption(option, [texts].flat()));
  }
  return request;
}

describe('the flags of a capture', () => {
  test('are distinct, and each belongs to a named group', () => {
    const flags = captureOptions.map(({ flag }) => flag);
    expect(new Set(flags).size).toBe(flags.length);
    expect(captureOptions.filter(({ group }) => group === 'Other options')).toEqual([]);
  });

  test('become the request body of the API', () => {
    const request = requestOf({
      '--viewport-width': '800',
      '--full-page': 'true',
      '--hide': ['.ad', '#banner'],
      '--fail-on-status': ['404', '5xx'],
      '--headers': ['X-A: b:c', 'Accept: */*'],
      '--cookies': ['{"name":"a","value":"1"}', '[{"name":"b","value":"2"}]'],
      '--pdf-margin': '{"top":5}',
      '--pdf-width': '62mm',
      '--wait-for-text': '12',
      '--extract-fields': ['title: h1', 'prices: {"selector":".price","list":true}', '{"links":{"selector":"a"}}'],
      '--steps': ['{"click":"#a"}', '[{"type":{"selector":"#b","text":"c"}},{"waitFor":"#d"}]'],
    });
    expect(request).toEqual({
      viewport: { width: 800 },
      isFullPage: true,
      hide: ['.ad', '#banner'],
      failOn: { status: [404, '5xx'] },
      headers: { 'X-A': 'b:c', Accept: '*/*' },
      cookies: [
        { name: 'a', value: '1' },
        { name: 'b', value: '2' },
      ],
      pdf: { margin: { top: 5 }, width: '62mm' },
      waitFor: { text: '12' },
      extractFields: { title: 'h1', prices: { selector: '.price', list: true }, links: { selector: 'a' } },
      steps: [{ click: '#a' }, { type: { selector: '#b', text: 'c' } }, { waitFor: '#d' }],
    });
    expect(findProblems({ url: 'https://example.com', ...request }, byFlag)).toEqual([]);
  });

  test('show defaults and ranges in their help', () => {
    const help = (flag: string) => helpOf(captureOptions.find((each) => each.flag === flag) ?? expect.fail());
    expect(help('--quality')).toMatch(/\(1 to 100; default: 80\)$/);
    expect(help('--cdn-ttl')).toMatch(/\(more than 60, at most 2592000; default: 86400\)$/);
    expect(help('--wait-until')).toContain('load, domcontentloaded, networkidle, commit; default: load');
  });
});

describe('problems of a request', () => {
  test.each([
    [{ '--quality': '200' }, '--quality must be an integer from 1 to 100, not 200'],
    [{ '--viewport-width': 'wide' }, '--viewport-width must be an integer from 16 to 7680, not "wide"'],
    [{ '--format': 'gif' }, '--format must be one of png, jpeg, webp, pdf, none, not "gif"'],
    [{ '--geolocation-latitude': '1' }, '--geolocation-longitude is required with geolocation'],
    [{ '--cookies': '[{"name":"a"}]' }, '--cookies (0.value) is required with cookies.0'],
    [{ '--headers': 'no colon' }, '--headers must be lines of the form "Name: value"'],
    [{ '--extract-fields': 'h1' }, '--extract-fields must be lines of the form "Name: value", not "h1"'],
    [
      { '--extract-fields': 'a: {"selector":1}' },
      '--extract-fields (a) must be a string of 1 to 1000 characters, or an object with selector, attribute, list, fields, not {"selector":1}',
    ],
    [
      { '--auth-username': '', '--auth-password': 'secret' },
      '--auth-username must be a string of 1 to 1024 characters',
    ],
    [
      { '--pdf-encryption-user-password': 'secret'.repeat(30) },
      '--pdf-encryption-user-password must be a string of 1 to 127 characters',
    ],
    [
      { '--steps': '[{"click":"#a"},{"type":{"selector":"#b","text":7777}}]' },
      '--steps (1.type.text) must be a string of at most 4096 characters',
    ],
    [{ '--steps': '{"type":"secret"}' }, '--steps (0.type) must be an object with selector, text'],
    [
      { '--steps': '{"click":"#a","hover":"#b"}' },
      '--steps (0) must be an object with one of goto, click, type, press, select, hover, scroll, waitFor, wait',
    ],
    [{ '--pdf-metadata-title': '' }, '--pdf-metadata-title must be a string of 1 to 512 characters, not ""'],
  ])('are reported by flag: %j', (flags, problem) => {
    expect(findProblems(requestOf(flags), byFlag)).toEqual([problem]);
  });

  test('include an unknown field with its path', () => {
    expect(findProblems({ viewport: { widht: 4 } }, byField)).toEqual(['viewport.widht is not an option of a capture']);
  });
});

test('options of an entry override those for all entries, objects field by field', () => {
  const merged = mergeOptions(
    { viewport: { width: 1, height: 2 }, hide: ['a'] },
    { viewport: { width: 3 }, hide: ['b'] },
  );
  expect(merged).toEqual({ viewport: { width: 3, height: 2 }, hide: ['b'] });
});
