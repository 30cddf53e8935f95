import { describe, expect, test } from 'vitest';
import { accepted, url, useValidation } from './use-validation.ts';

const { ask } = useValidation();

/** Options of a capture without a picture. */
const none = { format: 'none', extract: ['text'] };

describe('options of the page', () => {
  test.each<[string, object]>([
    ['an element with the least padding', { selector: '#a', elementPadding: 0 }],
    ['an element with the most padding', { selector: '#a', elementPadding: 200 }],
    ['the smallest clip', { clip: { x: 0, y: 0, width: 1, height: 1 } }],
    ['the largest clip', { clip: { x: 100_000, y: 100_000, width: 100_000, height: 100_000 } }],
    ['100 selectors to hide, and 100 to remove', { hide: Array(100).fill('.a'), remove: Array(100).fill('a::before') }],
    ['no background', { omitBackground: true, format: 'webp' }],
    ['the background', { omitBackground: false, format: 'pdf' }],
    ['the smallest size', { resize: { width: 1, height: 1, fit: 'fill' } }],
    ['the largest size', { resize: { height: 10_000, enlarge: true } }],
    ['no scripts', { javaScript: false }],
    ['a frozen clock with defaults', { freeze: {} }],
    ['the least seed', { freeze: { random: 0, time: '1970-01-01T00:00Z' } }],
    ['the greatest seed', { freeze: { random: 4_294_967_295, time: '9999-12-31T23:59:59.999+14:00' } }],
    ['10 elements to click', { click: Array(10).fill('a') }],
    ['what to fail on', { failOn: { status: ['4xx', '5xx', 100, 599], blank: true, challenge: false } }],
    [
      '20 statuses to fail on',
      { format: 'pdf', failOn: { status: Array(20).fill(404), consoleErrors: true, blank: true } },
    ],
    ['all parts of a page', { extract: ['text', 'html', 'markdown', 'links', 'metadata'] }],
    ['one part of a page', { extract: ['text'], format: 'pdf' }],
    [
      'fields of a page',
      {
        extractFields: {
          a: 'h1',
          Z_9: { selector: 'a:has(> b)', attribute: 'href', list: true },
          b: { fields: { c: { fields: { d: { attribute: 'x'.repeat(128), list: false } } } } },
          ['n'.repeat(64)]: {},
        },
      },
    ],
    ['50 fields', { extractFields: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, 'a'])) }],
    ['no picture', { format: 'none', extract: ['html'], quality: 5, isFullPage: true, failOn: { blank: false } }],
    ['no picture, only fields', { format: 'none', extractFields: { a: 'h1' } }],
    ['an element to wait for', { waitFor: { selector: 'a'.repeat(1000), timeout: 0 } }],
    ['a text to wait for', { waitFor: { text: '1a', timeout: 30_000, state: 'hidden', required: true } }],
    [
      'selectors of today',
      { waitFor: { selector: 'a:has(> b, + c) > :is(.d, #e):not([f="g" i]):nth-child(2n + 1 of h)' } },
    ],
    ['selectors of elements in frames', { selector: 'iframe, #a > object>>[b="c >> d"]', hide: ['a >> b >> c'] }],
    ['selectors of tomorrow', { waitFor: { selector: 'a:some-day(now)::soon, & > .\\:b, [onclick*="a(\'b\')"]' } }],
  ])('%s is accepted', async (_name, body) => {
    expect(await ask({ url, ...body })).toMatchObject(accepted);
  });

  test.each<[object, string]>([
    [{ selector: '' }, 'selector must be a string of 1 to 1000 characters, not ""'],
    [{ selector: '#1' }, 'selector must be a CSS selector, not "#1" ('],
    [{ selector: '#a', elementPadding: -1 }, 'elementPadding must be an integer from 0 to 200, not -1'],
    [{ selector: '#a', elementPadding: 201 }, 'elementPadding must be an integer from 0 to 200, not 201'],
    [{ elementPadding: 1 }, 'elementPadding needs selector'],
    [{ selector: '#a', isFullPage: true }, 'selector needs isFullPage false'],
    [{ selector: '#a', format: 'pdf' }, 'selector needs format png, jpeg or webp, not pdf'],
    [{ clip: { x: 0, y: 0, width: 1 } }, 'clip.height is required'],
    [{ clip: { x: -1, y: 0, width: 1, height: 1 } }, 'clip.x must be an integer from 0 to 100000, not -1'],
    [{ clip: { x: 0, y: 0.5, width: 1, height: 1 } }, 'clip.y must be an integer from 0 to 100000, not 0.5'],
    [{ clip: { x: 0, y: 0, width: 0, height: 1 } }, 'clip.width must be an integer from 1 to 100000, not 0'],
    [{ clip: { x: 0, y: 0, width: 1, height: 100_001 } }, 'clip.height must be an integer from 1 to 100000'],
    [{ clip: { x: 0, y: 0, width: 1, height: 1 }, isFullPage: true }, 'clip needs isFullPage false'],
    [{ clip: { x: 0, y: 0, width: 1, height: 1 }, format: 'pdf' }, 'clip needs format png, jpeg or webp, not pdf'],
    [{ clip: { x: 0, y: 0, width: 1, height: 1 }, selector: 'a' }, 'selector: send either selector or clip, not both'],
    [{ hide: '.a' }, 'hide must be a list of at most 100, not ".a"'],
    [{ hide: Array(101).fill('.a') }, 'hide must be a list of at most 100'],
    [{ remove: Array(101).fill('.a') }, 'remove must be a list of at most 100'],
    [{ remove: [1] }, 'remove.0 must be a string of 1 to 1000 characters, not 1'],
    [
      { remove: ['iframe >> '] },
      'remove.0 must be a CSS selector, not "iframe >> " (there is no selector after the last ">>": write frame >> element)',
    ],
    [{ hide: ['.a', '.b{'] }, 'hide.1 must be a CSS selector, not ".b{" ('],
    [{ omitBackground: true, format: 'jpeg' }, 'omitBackground needs format png or webp, not jpeg'],
    [{ omitBackground: true, format: 'pdf' }, 'omitBackground needs format png or webp, not pdf'],
    [{ resize: {} }, 'resize needs resize.width or resize.height'],
    [{ resize: { width: 0 } }, 'resize.width must be an integer from 1 to 10000, not 0'],
    [{ resize: { height: 10_001 } }, 'resize.height must be an integer from 1 to 10000, not 10001'],
    [{ resize: { width: 1, fit: 'outside' } }, 'resize.fit must be one of cover, contain, fill, inside, not "outside"'],
    [{ resize: { width: 1 }, format: 'pdf' }, 'resize needs format png, jpeg or webp, not pdf'],
    [{ freeze: true }, 'freeze must be an object with time, random, not true'],
    [{ freeze: { time: 0 } }, 'freeze.time must be a string like "2026-01-01T00:00:00Z", not 0'],
    [{ freeze: { time: '2026-01-01' } }, 'freeze.time must be a string like "2026-01-01T00:00:00Z", not "2026-01-01"'],
    [{ freeze: { time: '2026-01-01T00:00:00' } }, 'freeze.time must be a string like "2026-01-01T00:00:00Z"'],
    [{ freeze: { time: '2026-13-01T00:00:00Z' } }, 'freeze.time must be a date and time like "2026-01-01T00:00:00Z"'],
    [{ freeze: { random: -1 } }, 'freeze.random must be an integer from 0 to 4294967295, not -1'],
    [{ freeze: { random: 4_294_967_296 } }, 'freeze.random must be an integer from 0 to 4294967295'],
    [{ freeze: {}, antiBot: true }, 'freeze needs antiBot false: pages can detect a frozen clock'],
    [{ javaScript: 'false' }, 'javaScript must be true or false, not "false"'],
    [{ click: Array(11).fill('a') }, 'click must be a list of at most 10'],
    [{ click: ['a', ''] }, 'click.1 must be a string of 1 to 1000 characters, not ""'],
    [{ click: ['text=Sign in'] }, 'click.0 must be a CSS selector, not "text=Sign in" ('],
    [{ failOn: { status: 404 } }, 'failOn.status must be a list of at most 20, not 404'],
    [{ failOn: { status: Array(21).fill(404) } }, 'failOn.status must be a list of at most 20'],
    [{ failOn: { status: ['6xx'] } }, 'failOn.status.0 must be an integer from 100 to 599, or a string like "4xx"'],
    [{ failOn: { status: [600] } }, 'failOn.status.0 must be an integer from 100 to 599, or a string like "4xx"'],
    [{ failOn: { status: [99] } }, 'failOn.status.0 must be an integer from 100 to 599, or a string like "4xx"'],
    [{ extract: [] }, 'extract must be a list, not empty, of html, links, markdown, metadata, text, each once, not an'],
    [
      { extract: ['text', 'text'] },
      'extract must be a list, not empty, of html, links, markdown, metadata, text, each',
    ],
    [{ extract: ['text', 'Text'] }, 'extract.1 must be one of html, links, markdown, metadata, text, not "Text"'],
    [
      { extract: 'text' },
      'extract must be a list, not empty, of html, links, markdown, metadata, text, each once, not "t',
    ],
    [{ extractFields: 'h1' }, 'extractFields must be an object of 1 to 50 fields, not "h1"'],
    [{ extractFields: {} }, 'extractFields must be an object of 1 to 50 fields'],
    [
      { extractFields: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`f${at}`, 'a'])) },
      'extractFields must be an object of 1 to 50 fields',
    ],
    [{ extractFields: { a: { fields: {} } } }, 'extractFields.a.fields must be an object of 1 to 50 fields'],
    [
      { extractFields: { '1a': 'a' } },
      'extractFields: the name "1a" must be a string that matches ^[A-Za-z][A-Za-z0-9_]{0,63}$',
    ],
    [{ extractFields: { a: { fields: { 'b c': 'a' } } } }, 'extractFields.a.fields: the name "b c" must be a string'],
    [{ extractFields: { ['n'.repeat(65)]: 'a' } }, 'extractFields: the name a string of 65 characters must be'],
    [
      { extractFields: { a: 1 } },
      'extractFields.a must be a string of 1 to 1000 characters, or an object with selector, attribute, list, fields, not 1',
    ],
    [{ extractFields: { a: ['b'] } }, 'extractFields.a must be a string of 1 to 1000 characters, or an object with'],
    [{ extractFields: { a: { selector: 'a', type: 'b' } } }, 'extractFields.a.type is not a field of the request'],
    [{ extractFields: { a: { selector: '' } } }, 'extractFields.a.selector must be a string of 1 to 1000 characters'],
    [{ extractFields: { a: { attribute: '' } } }, 'extractFields.a.attribute must be a string of 1 to 128 characters'],
    [
      { extractFields: { a: { attribute: 'x'.repeat(129) } } },
      'extractFields.a.attribute must be a string of 1 to 128',
    ],
    [{ extractFields: { a: { list: 1 } } }, 'extractFields.a.list must be true or false, not 1'],
    [{ extractFields: { a: { list: true } } }, 'extractFields.a.list needs extractFields.a.selector'],
    [
      { extractFields: { a: { attribute: 'b', fields: { c: 'd' } } } },
      'extractFields.a: send either attribute or fields, not both',
    ],
    [{ extractFields: { a: 'text=b' } }, 'extractFields.a must be a CSS selector, not "text=b" ('],
    [
      { extractFields: { a: { fields: { b: { selector: '> c' } } } } },
      'extractFields.a.fields.b.selector must be a CSS selector, not "> c" (',
    ],
    [
      { extractFields: { a: 'iframe >> b' } },
      'extractFields.a must be a CSS selector, not "iframe >> b" (it cannot match in frames, so it must have no ">>")',
    ],
    [
      { extractFields: { a: { fields: { b: { fields: { c: { fields: { d: 'e' } } } } } } } },
      'extractFields.a.fields.b.fields.c.fields is not a field of the request',
    ],
    [{ format: 'none' }, 'format none needs extract or extractFields: there is no picture to return'],
    [{ ...none, responseType: 'file' }, 'responseType file needs a picture or a PDF'],
    [{ ...none, selector: '#a' }, 'selector needs format png, jpeg or webp, not none'],
    [{ ...none, clip: { x: 0, y: 0, width: 1, height: 1 } }, 'clip needs format png, jpeg or webp, not none'],
    [{ ...none, resize: { width: 1 } }, 'resize needs format png, jpeg or webp, not none'],
    [{ ...none, omitBackground: true }, 'omitBackground needs format png or webp, not none'],
    [{ ...none, pdf: {} }, 'pdf needs format pdf, not none'],
    [{ ...none, failOn: { blank: true } }, 'failOn.blank needs format png, jpeg, webp or pdf, not none'],
    [
      { ...none, persistence: { enabled: true, compare: {} } },
      'persistence.compare needs format png, jpeg or webp, not none',
    ],
    [{ waitFor: {} }, 'waitFor needs exactly one of waitFor.selector and waitFor.text'],
    [{ waitFor: { selector: 'a', text: 'a' } }, 'waitFor needs exactly one of waitFor.selector and waitFor.text'],
    [{ waitFor: 'a' }, 'waitFor must be an object with selector, text, state, timeout, required, not "a"'],
    [{ waitFor: { text: '' } }, 'waitFor.text must be a string of 1 to 1000 characters, not ""'],
    [{ waitFor: { selector: 'a'.repeat(1001) } }, 'waitFor.selector must be a string of 1 to 1000 characters'],
    [{ waitFor: { text: 'a', timeout: -1 } }, 'waitFor.timeout must be an integer from 0 to 30000, not -1'],
    [{ waitFor: { text: 'a', timeout: 30_001 } }, 'waitFor.timeout must be an integer from 0 to 30000, not 30001'],
    [{ waitFor: { text: 'a', state: 'gone' } }, 'waitFor.state must be one of visible, attached, hidden, not "gone"'],
  ])('%j is refused', async (body, message) => {
    const answer = await ask({ url, ...body });
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(message);
  });

  test.each([
    ' ',
    '.',
    '1a',
    '..a',
    'a[',
    'a[=b]',
    'a:',
    'a:not(',
    '> a',
    'a >',
    'a,',
    'a,,b',
    'text=Sign in',
    '//div',
    'xpath=//a',
    '<div>',
    'a { color: red }',
    'a; b',
    '@media',
    'a > > b',
    '>> a',
    'a >>> b',
    'iframe >> a:not(',
  ])('%j is not a valid selector', async (selector) => {
    const answer = await ask({ url, waitFor: { selector } });
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(`waitFor.selector must be a CSS selector, not ${JSON.stringify(selector)} (`);
  });
});
