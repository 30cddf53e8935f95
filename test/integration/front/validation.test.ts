import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { maxTemplateBytes } from '@webcapture/shared/api/pdf-options.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { maxBodyBytes, maxOpenBytes } from '../../../services/front/api/capture-body.ts';
import { notationsOf } from '../egress/refused-hosts.ts';
import { buildAppAlone } from './app-alone.ts';

let app: FastifyInstance;
/** Knows a key, which the body of a large request needs; a request that is valid gets as far as in the other one. */
let keyed: FastifyInstance;
beforeAll(async () => {
  app = await buildAppAlone();
  keyed = await buildAppAlone({
    key: { id: 'k', account: 'a', name: 'n', scopes, createdAt: 0 },
    dispatch: () => Promise.reject(new ServiceError('UNAUTHORIZED')),
  });
});
afterAll(() => Promise.all([app.close(), keyed.close()]));

async function post(payload: string, headers: Record<string, string> = {}) {
  const isLarge = Buffer.byteLength(payload) > maxOpenBytes;
  const response = await (isLarge ? keyed : app).inject({
    method: 'POST',
    url: '/capture',
    headers: { 'content-type': 'application/json', ...(isLarge ? { authorization: 'Bearer x' } : {}), ...headers },
    payload,
  });
  const body: { success: boolean; error: { code: string; message: string }; data: unknown } = response.json();
  return { status: response.statusCode, ...body.error, success: body.success, data: body.data };
}

const ask = (body: unknown, headers?: Record<string, string>) => post(JSON.stringify(body), headers);

const url = 'https://example.com/';
const astral = '\u{1F600}';

/** A valid request gets as far as its key. */
const accepted = { status: 401, code: 'UNAUTHORIZED' };

describe('is accepted', () => {
  test.each<[string, object]>([
    ['the url alone', { url }],
    ['html', { html: '<p>' }],
    ['base64', { html: Buffer.from('<p>é</p>').toString('base64') }],
    ['a url of 2048 characters', { url: `https://example.com/${'a'.repeat(2028)}` }],
    ['a url of 2048 characters beyond the basic plane', { url: `https://example.com/${astral.repeat(2028)}` }],
    ['a url with user info', { url: 'https://user:secret@example.com/' }],
    ['an upper-case scheme', { url: 'HTTPS://EXAMPLE.COM' }],
    ['an international name', { url: 'https://bücher.example/' }],
    ['html of 1048576 characters', { html: `<${'a'.repeat(1_048_575)}` }],
    ['html of 1048576 characters beyond the basic plane', { html: `<${astral.repeat(1_048_575)}` }],
    ['the least of everything', { url, quality: 1, timeout: 5000, imageTimeout: 0, delay: 0, cdnTtl: 61 }],
    ['the most of everything', { url, quality: 100, timeout: 120_000, imageTimeout: 15_000, delay: 15_000 }],
    ['the longest lifetime', { url, cdnTtl: 2_592_000 }],
    ['the smallest viewport', { url, viewport: { width: 16, height: 16 } }],
    ['150 megapixels', { url, viewport: { width: 5000, height: 7500, deviceScaleFactor: 2 } }],
    ['an empty viewport', { url, viewport: {} }],
    ['features that are switched off', { url, responseCache: { enabled: false, ttl: 60 }, background: false }],
    ['no refresh', { url, persistence: { enabled: false, refreshInterval: 0 } }],
    ['a refresh interval that is not used', { url, persistence: { refreshInterval: 3600 } }],
    ['every option', { url, format: 'webp', waitUntil: 'commit', colorScheme: 'no-preference', region: 'asia-east' }],
    ['pdf with margins', { url, format: 'pdf', pdf: { margin: { top: '1.5cm', left: 3 }, scale: 0.1 } }],
    ['pdf with one margin', { url, format: 'pdf', pdf: { margin: '96px', paper: 'Legal' } }],
    ['pdf on the smallest paper', { url, format: 'pdf', pdf: { width: 10, height: '1cm', margin: 0 } }],
    ['pdf on the largest paper', { url, format: 'pdf', pdf: { width: 5080, height: '19200px' } }],
    ['pdf on the paper of the page', { url, format: 'pdf', pdf: { preferCssPageSize: true, width: 62, height: 100 } }],
    ['pages of a pdf', { url, format: 'pdf', pdf: { pageRanges: '1-3, 5,5-5 , 8-,99999' } }],
    ['the longest list of pages', { url, format: 'pdf', pdf: { pageRanges: `${'1,'.repeat(499)}12` } }],
    ['the longest header', { url, format: 'pdf', pdf: { headerTemplate: 'é'.repeat(maxTemplateBytes / 2) } }],
    ['a footer on a single page', { url, format: 'pdf', isFullPage: true, pdf: { footerTemplate: '', outline: true } }],
    ['a pdf without tags', { url, format: 'pdf', pdf: { tagged: false, outline: false } }],
    ['the shortest locale, time zone and user agent', { url, locale: 'de', timezone: 'UTC', userAgent: 'x' }],
    ['the longest user agent', { url, userAgent: `${'a b'.repeat(170)}.~` }],
    ['a locale with script, region and variant', { url, locale: 'sr-latn-rs-ekavsk' }],
    ['an old name of a time zone, in small letters', { url, timezone: 'asia/calcutta' }],
    ['the south-western corner', { url, geolocation: { latitude: -90, longitude: -180, accuracy: 0 } }],
    ['the north-eastern corner', { url, geolocation: { latitude: 90, longitude: 180, accuracy: 100_000 } }],
    ['a place without its accuracy', { url, geolocation: { latitude: 1.5, longitude: 2.5 } }],
    ['a device', { url, device: 'iPhone 15' }],
    ['a device in a viewport of its own', { url, device: 'iPhone 15', viewport: { width: 7680 } }],
    ['quality that is not used', { url, format: 'png', quality: 50 }],
  ])('%s', async (_name, body) => {
    expect(await ask(body)).toMatchObject(accepted);
  });

  test.each([
    ['four bytes a character', '😀'],
    ['escaped line ends and quotes', '\\n\\"'],
  ])('html as long as it may be: %s', async (_, characters) => {
    const count = [...(JSON.parse(`"${characters}"`) as string)].length;
    const body = `{"html":"<${characters.repeat(Math.floor(1_048_575 / count))}"}`;
    expect(body.length).toBeLessThan(maxBodyBytes);
    expect(await post(body)).toMatchObject(accepted);
  });

  test('a body with a byte order mark, and a charset', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expect(await post(`\uFEFF{"url":"${url}"}`, headers)).toMatchObject(accepted);
  });
});

describe('is refused, and told why', () => {
  test.each<[object, string]>([
    [{}, 'one of url and html is required'],
    [{ url, html: '<p>' }, 'url and html exclude each other: send one of them'],
    [
      { url: 'example.com' },
      'url must be an absolute http or https address like "https://example.com/", not "example.com"',
    ],
    [{ url: '' }, 'url must be a string of 1 to 2048 characters, not ""'],
    [{ url: 'ftp://example.com/' }, 'url must be an absolute http or https address'],
    [{ url: 'http:example.com' }, 'url must be an absolute http or https address'],
    [{ url: ' https://example.com' }, 'url must be an absolute http or https address'],
    [{ url: 'https://' }, 'url must be an absolute http or https address'],
    [{ url: 'https:///example.com' }, 'url must be an absolute http or https address'],
    [{ url: 'https://exa mple.com/' }, 'url must be an absolute http or https address'],
    [{ url: 'javascript:alert(1)' }, 'url must be an absolute http or https address'],
    [{ url: 7 }, 'url must be a string of 1 to 2048 characters, not 7'],
    [{ url: null }, 'url must be a string of 1 to 2048 characters, not null'],
    [{ html: '' }, 'html must be a string of 1 to 1048576 characters, not ""'],
    [{ html: 'hello' }, 'html must be HTML (it contains "<") or base64'],
    [{ html: '////' }, 'html must be HTML (it contains "<") or base64'],
    [{ url, quality: 0 }, 'quality must be an integer from 1 to 100, not 0'],
    [{ url, quality: 101 }, 'quality must be an integer from 1 to 100, not 101'],
    [{ url, quality: 50.5 }, 'quality must be an integer from 1 to 100, not 50.5'],
    [{ url, quality: '80' }, 'quality must be an integer from 1 to 100, not "80"'],
    [{ url, quality: null }, 'quality must be an integer from 1 to 100, not null'],
    [{ url, format: 'gif' }, 'format must be one of png, jpeg, webp, pdf, not "gif"'],
    [{ url, format: 'PNG' }, 'format must be one of png, jpeg, webp, pdf, not "PNG"'],
    [{ url, timeout: 4999 }, 'timeout must be an integer from 5000 to 120000, not 4999'],
    [{ url, timeout: 120_001 }, 'timeout must be an integer from 5000 to 120000, not 120001'],
    [{ url, imageTimeout: -1 }, 'imageTimeout must be an integer from 0 to 15000, not -1'],
    [{ url, imageTimeout: 15_001 }, 'imageTimeout must be an integer from 0 to 15000, not 15001'],
    [{ url, delay: 15_001 }, 'delay must be an integer from 0 to 15000, not 15001'],
    [{ url, cdnTtl: 60 }, 'cdnTtl must be an integer greater than 60 and at most 2592000, not 60'],
    [{ url, cdnTtl: 2_592_001 }, 'cdnTtl must be an integer greater than 60 and at most 2592000, not 2592001'],
    [{ url, isFullPage: 'true' }, 'isFullPage must be true or false, not "true"'],
    [{ url, isFullPage: 1 }, 'isFullPage must be true or false, not 1'],
    [{ url, waitUntil: 'idle' }, 'waitUntil must be one of load, domcontentloaded, networkidle, commit, not "idle"'],
    [{ url, region: 'mars' }, 'region must be one of auto, us-east,'],
    [{ url, viewport: [] }, 'viewport must be an object with width, height, deviceScaleFactor, not an array'],
    [{ url, viewport: { width: 15 } }, 'viewport.width must be an integer from 16 to 7680, not 15'],
    [{ url, viewport: { height: 7681 } }, 'viewport.height must be an integer from 16 to 7680, not 7681'],
    [{ url, viewport: { deviceScaleFactor: 3.1 } }, 'viewport.deviceScaleFactor must be a number from 1 to 3, not 3.1'],
    [
      { url, viewport: { width: 7680, height: 7680, deviceScaleFactor: 2 } },
      'viewport must hold at most 150 megapixels (width × height × deviceScaleFactor²), not 235.9',
    ],
    [{ url, responseCache: { ttl: 59 } }, 'responseCache.ttl must be an integer from 60 to 2592000, not 59'],
    [{ url, persistence: { refreshInterval: 3599 } }, 'persistence.refreshInterval must be 0 (never) or at least 3600'],
    [{ url, pdf: {} }, 'pdf needs format pdf, not png'],
    [{ url, format: 'pdf', pdf: { paper: 'A9' } }, 'pdf.paper must be one of A0,'],
    [{ url, format: 'pdf', pdf: { scale: 2.1 } }, 'pdf.scale must be a number from 0.1 to 2, not 2.1'],
    [
      { url, format: 'pdf', pdf: { margin: '3' } },
      'pdf.margin must be a number from 0 to 1000, or a string like "12.5mm", or an object with top, right, bottom, left, not "3"',
    ],
    [
      { url, format: 'pdf', pdf: { margin: { top: -1 } } },
      'pdf.margin.top must be a number from 0 to 1000, or a string like "12.5mm", not -1',
    ],
    [{ url, format: 'pdf', pdf: { margin: '2000cm' } }, 'pdf.margin must be at most 1000 mm, not 2000cm'],
    [
      { url, format: 'pdf', pdf: { width: 9.9, height: 50 } },
      'pdf.width must be a number from 10 to 5080, or a string like',
    ],
    [{ url, format: 'pdf', pdf: { width: 50, height: 5080.1 } }, 'pdf.height must be a number from 10 to 5080'],
    [
      { url, format: 'pdf', pdf: { width: '9mm', height: '201in' } },
      'pdf.width must be from 10 to 5080 mm, not 9mm; pdf.height must be from 10 to 5080 mm, not 201in',
    ],
    [
      { url, format: 'pdf', pdf: { width: '62', height: 100 } },
      'pdf.width must be a number from 10 to 5080, or a string like "62mm", not "62"',
    ],
    [{ url, format: 'pdf', pdf: { height: 100 } }, 'pdf.width and pdf.height need each other: send both'],
    [
      { url, format: 'pdf', pdf: { width: 62, height: 100, paper: 'A4' } },
      'pdf.paper and pdf.width with pdf.height exclude each other',
    ],
    [
      { url, format: 'pdf', pdf: { width: 62, height: 100, landscape: true } },
      'pdf.landscape needs pdf.paper: pdf.width and pdf.height are those of the paper as it lies',
    ],
    [
      { url, format: 'pdf', pdf: { width: 62, height: 20 } },
      'pdf.margin leaves no room on paper of 62 × 20 mm: make it smaller',
    ],
    [{ url, format: 'pdf', isFullPage: true, pdf: { width: 62, height: 100 } }, 'pdf.width needs isFullPage false'],
    [
      { url, format: 'pdf', isFullPage: true, pdf: { pageRanges: '1' } },
      'pdf.pageRanges needs isFullPage false: the one page',
    ],
    [
      { url, format: 'pdf', isFullPage: true, pdf: { preferCssPageSize: true } },
      'pdf.preferCssPageSize needs isFullPage false',
    ],
    ...['', '0', '1-0', '01', '-3', '1--2', '1;2', '1,', 'all', '100000', `${'1,'.repeat(500)}1`].map(
      (pageRanges): [object, string] => [
        { url, format: 'pdf', pdf: { pageRanges } },
        'pdf.pageRanges must be a string like "1-3, 5, 8-", not',
      ],
    ),
    [{ url, format: 'pdf', pdf: { pageRanges: '1, 5-3' } }, 'pdf.pageRanges must count upwards, not "5-3"'],
    [
      { url, format: 'pdf', pdf: { headerTemplate: `${'é'.repeat(maxTemplateBytes / 2)}x` } },
      'pdf.headerTemplate must have at most 65536 bytes in UTF-8, not 65537',
    ],
    [
      { url, format: 'pdf', pdf: { footerTemplate: 'x'.repeat(maxTemplateBytes + 1) } },
      'pdf.footerTemplate must be a string of at most 65536 characters',
    ],
    [
      { url, format: 'pdf', pdf: { footerTemplate: '<img src="https://example.com/logo.png">' } },
      'pdf.footerTemplate may have text, styles, links, and images as data URLs, not src="https://example.com/logo.png"',
    ],
    [{ url, format: 'pdf', pdf: { outline: true, tagged: false } }, 'pdf.outline needs pdf.tagged true'],
    [{ url, block: { ads: 1 } }, 'block.ads must be true or false, not 1'],
    [{ url, webhook: {} }, 'webhook.url is required'],
    [{ url, webhook: { url: 'https://example.com/' } }, 'webhook needs background true'],
    [
      { url, background: true, webhook: { url: 'example.com/hook' } },
      'webhook.url must be an absolute http or https address, not "example.com/hook"',
    ],
    [{ url, background: true, webhook: { url: 'ftp://example.com/' } }, 'webhook.url must be an absolute http'],
    [{ url, background: true, webhook: { url: 'https://user@example.com/' } }, 'webhook.url must not carry a user'],
    [{ url, background: true, webhook: { url: 'https://:pass@example.com/' } }, 'webhook.url must not carry a user'],
    [{ url, responseType: 'file', background: true }, 'responseType file needs background false'],
    [{ url, locale: 'd' }, 'locale must be a string of 2 to 35 characters, not "d"'],
    [{ url, locale: 'de_DE' }, 'locale must be a language tag (BCP 47) without extensions like "de-DE", not "de_DE"'],
    [{ url, locale: 'german' }, 'locale must be a language tag'],
    [{ url, locale: 'de-DE-u-ca-buddhist' }, 'locale must be a language tag (BCP 47) without extensions'],
    [{ url, locale: 'de\r\nx: y' }, 'locale must be a language tag'],
    [{ url, timezone: '' }, 'timezone must be a string of 1 to 64 characters, not ""'],
    [
      { url, timezone: 'Mars/Olympus' },
      'timezone must be a name of the IANA time zone database like "Europe/Berlin", not "Mars/Olympus"',
    ],
    [{ url, timezone: '+01:00' }, 'timezone must be a name of the IANA time zone database'],
    [
      { url, geolocation: { latitude: 91, longitude: 0 } },
      'geolocation.latitude must be a number from -90 to 90, not 91',
    ],
    [{ url, geolocation: { latitude: 0, longitude: -181 } }, 'geolocation.longitude must be a number from -180 to 180'],
    [{ url, geolocation: { latitude: 0 } }, 'geolocation.longitude is required'],
    [
      { url, geolocation: { latitude: 0, longitude: 0, accuracy: 100_001 } },
      'geolocation.accuracy must be a number from 0 to 100000, not 100001',
    ],
    [{ url, userAgent: 'a'.repeat(513) }, 'userAgent must be a string of 1 to 512 characters'],
    [
      { url, userAgent: 'curl\r\nx-evil: 1' },
      'userAgent must have visible ASCII characters, and spaces between them, not "curl\\r\\nx-evil: 1"',
    ],
    [{ url, userAgent: 'caf\u00e9' }, 'userAgent must have visible ASCII characters'],
    [{ url, userAgent: ' x' }, 'userAgent must have visible ASCII characters'],
    [
      { url, device: 'iphone15' },
      'device must be a name that GET /devices lists, not "iphone15"; did you mean "iPhone 15" or "iPhone 15 Pro" or "iPhone 15 Plus"?',
    ],
    [{ url, device: 'Nokia 3310' }, 'device must be a name that GET /devices lists, not "Nokia 3310"'],
    [{ url, device: '' }, 'device must be a string of 1 to 64 characters, not ""'],
    [
      { url, device: 'iPhone 15', viewport: { width: 15 } },
      'viewport.width must be an integer from 16 to 7680, not 15',
    ],
    [{ url, device: 'iPhone 15', viewport: [] }, 'viewport must be an object'],
    [
      { url, device: 'iPhone 15', viewport: { width: 7680, height: 7680 } },
      'viewport must hold at most 150 megapixels (width × height × deviceScaleFactor²), not 530.8',
    ],
    [{ url, isMobile: true }, 'isMobile is not a field of the request'],
    [{ url, colour: 1 }, 'colour is not a field of the request'],
    [{ url, fullPage: true }, 'fullPage is not a field of the request; did you mean isFullPage?'],
    [{ url, viewport: { widht: 800 } }, 'viewport.widht is not a field of the request; did you mean viewport.width?'],
    [{ url, width: 800 }, 'width is not a field of the request; did you mean viewport.width?'],
    [{ url, 'bad\nname': 1 }, '"bad\\nname" is not a field of the request'],
  ])('%j', async (body, message) => {
    const answer = await ask(body);
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR', success: false, data: null });
    expect(answer.message).toContain(message);
  });

  test.each([
    ['url', `https://example.com/${'a'.repeat(2029)}`, 'not a string of 2049 characters'],
    ['url', `https://example.com/${astral.repeat(2029)}`, 'not a string of 2049 characters'],
    ['html', `<${'a'.repeat(1_048_576)}`, 'not a string of 1048577 characters'],
    ['html', `<${astral.repeat(1_048_576)}`, 'not a string of 1048577 characters'],
  ])('a %s that is one character too long', async (field, value, message) => {
    const answer = await ask({ [field]: value });
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(message);
  });

  test('all that is wrong at once', async () => {
    const { message } = await ask({ url, quality: 0, timeout: 1, viewport: { width: 1 } });
    expect(message).toContain('quality must');
    expect(message).toContain('timeout must');
    expect(message).toContain('viewport.width must');
  });

  test('more than can be told', async () => {
    const body = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field${index}`, 1]));
    expect((await ask({ url, ...body })).message).toMatch(/; and 45 more$/);
  });

  test('absurdly many fields, without an error for each', async () => {
    const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`f${index}`, 1]));
    expect((await ask({ url, viewport: body })).message).toBe('the body has an object of more than 100 fields');
  });
});

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
    ['10 elements to click', { click: Array(10).fill('a') }],
    ['what to fail on', { failOn: { status: ['4xx', '5xx', 100, 599], blank: true, challenge: false } }],
    ['20 statuses to fail on', { format: 'pdf', failOn: { status: Array(20).fill(404), consoleErrors: true } }],
    ['all parts of a page', { extract: ['text', 'html', 'markdown', 'links', 'metadata'] }],
    ['one part of a page', { extract: ['text'], format: 'pdf' }],
    ['an element to wait for', { waitFor: { selector: 'a'.repeat(1000), timeout: 0 } }],
    ['a text to wait for', { waitFor: { text: '1a', timeout: 30_000, state: 'hidden', required: true } }],
    [
      'selectors of today',
      { waitFor: { selector: 'a:has(> b, + c) > :is(.d, #e):not([f="g" i]):nth-child(2n + 1 of h)' } },
    ],
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
    [{ clip: { x: 0, y: 0, width: 1, height: 1 }, selector: 'a' }, 'selector and clip exclude each other'],
    [{ hide: '.a' }, 'hide must be a list of at most 100, not ".a"'],
    [{ hide: Array(101).fill('.a') }, 'hide must be a list of at most 100'],
    [{ remove: Array(101).fill('.a') }, 'remove must be a list of at most 100'],
    [{ remove: [1] }, 'remove.0 must be a string of 1 to 1000 characters, not 1'],
    [{ hide: ['.a', '.b{'] }, 'hide.1 must be a CSS selector, not ".b{" ('],
    [{ omitBackground: true, format: 'jpeg' }, 'omitBackground needs format png or webp, not jpeg'],
    [{ omitBackground: true, format: 'pdf' }, 'omitBackground needs format png or webp, not pdf'],
    [{ resize: {} }, 'resize needs resize.width or resize.height'],
    [{ resize: { width: 0 } }, 'resize.width must be an integer from 1 to 10000, not 0'],
    [{ resize: { height: 10_001 } }, 'resize.height must be an integer from 1 to 10000, not 10001'],
    [{ resize: { width: 1, fit: 'outside' } }, 'resize.fit must be one of cover, contain, fill, inside, not "outside"'],
    [{ resize: { width: 1 }, format: 'pdf' }, 'resize needs format png, jpeg or webp, not pdf'],
    [{ javaScript: 'false' }, 'javaScript must be true or false, not "false"'],
    [{ click: Array(11).fill('a') }, 'click must be a list of at most 10'],
    [{ click: ['a', ''] }, 'click.1 must be a string of 1 to 1000 characters, not ""'],
    [{ click: ['text=Sign in'] }, 'click.0 must be a CSS selector, not "text=Sign in" ('],
    [{ failOn: { status: 404 } }, 'failOn.status must be a list of at most 20, not 404'],
    [{ failOn: { status: Array(21).fill(404) } }, 'failOn.status must be a list of at most 20'],
    [{ failOn: { status: ['6xx'] } }, 'failOn.status.0 must be an integer from 100 to 599, or a string like "4xx"'],
    [{ failOn: { status: [600] } }, 'failOn.status.0 must be an integer from 100 to 599, or a string like "4xx"'],
    [{ failOn: { status: [99] } }, 'failOn.status.0 must be an integer from 100 to 599, or a string like "4xx"'],
    [{ failOn: { blank: true }, format: 'pdf' }, 'failOn.blank needs format png, jpeg or webp, not pdf'],
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
  ])('%j is no selector', async (selector) => {
    const answer = await ask({ url, waitFor: { selector } });
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(`waitFor.selector must be a CSS selector, not ${JSON.stringify(selector)} (`);
  });
});

describe('secrets', () => {
  /** Headers that are so many bytes as JSON, with the places of cookies and auth. */
  const credentials = (bytes: number) => {
    const lengthOf = (headers: object) => JSON.stringify([headers, [], null]).length;
    const value = 'a'.repeat(Math.floor((bytes - lengthOf(many(5, ''))) / 5));
    const headers: Record<string, string> = many(5, value);
    headers['x-0'] += 'a'.repeat(bytes - lengthOf(headers));
    return { headers };
  };
  const many = (count: number, value = 'v') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, value]));
  const cookie = { name: 'sid', value: 'v' };

  test.each<[string, object]>([
    ['50 headers', { headers: many(50) }],
    ['no headers', { headers: {} }],
    ['a bearer', { headers: { Authorization: 'Bearer a.b-c_d~e+f/g==' } }],
    ['an empty header, and one with a tab', { headers: { 'x-a': '', 'x-b': 'a\tb' } }],
    ['32 KiB of headers', credentials(32_768)],
    ['the longest header', { headers: { 'x-a': 'v'.repeat(8192) } }],
    ['the longest origin', { headers: {}, headersFor: [`https://${'a'.repeat(2040)}`] }],
    ['20 other origins', { headers: {}, headersFor: Array(20).fill('https://cdn.example.com:8443') }],
    ['100 cookies', { cookies: Array(100).fill(cookie) }],
    ['a cookie of a domain', { cookies: [{ ...cookie, domain: '.example.com', path: '/a b', httpOnly: true }] }],
    [
      'a cookie of an address',
      { cookies: [{ ...cookie, url: 'https://example.com/a?b', secure: true, sameSite: 'None' }] },
    ],
    [
      'the longest cookie',
      {
        cookies: [
          { name: 'n'.repeat(256), value: 'v'.repeat(4096), domain: 'd'.repeat(253), path: `/${'p'.repeat(1023)}` },
        ],
      },
    ],
    ['the longest address of a cookie', { cookies: [{ ...cookie, url: `https://example.com/${'a'.repeat(2028)}` }] }],
    ['a cookie of this host alone', { cookies: [{ name: '__Host-a', value: '', path: '/', secure: true }] }],
    ['basic auth', { auth: { username: 'u', password: '' } }],
    ['the longest auth', { auth: { username: 'u'.repeat(1024), password: 'p:'.repeat(512) } }],
    ['64 KiB of css, and of script', { css: 'a'.repeat(65_536), script: 'a'.repeat(65_536) }],
    [
      'the longest texts together',
      {
        format: 'pdf',
        css: 'a'.repeat(65_536),
        script: 'a'.repeat(65_536),
        pdf: { headerTemplate: 'a'.repeat(65_536), footerTemplate: 'a'.repeat(65_536) },
      },
    ],
    ['css for paper', { css: '@page { size: A5 }', format: 'pdf' }],
  ])('%s is accepted', async (_name, body) => {
    expect(await ask({ url, ...body })).toMatchObject(accepted);
  });

  test.each<[object, string]>([
    [{ headers: many(51) }, 'headers must be an object'],
    [{ headers: { 'x-a': 'hunter2'.repeat(1171) } }, 'headers.x-a must be a string of at most 8192 characters'],
    [{ headers: { 'x-a': 22_222_222 } }, 'headers.x-a must be a string of at most 8192 characters, not a number'],
    [{ headers: { 'x a': 'hunter2' } }, 'headers: a name that begins with "x" is not a name of a header'],
    [{ headers: { 'x-a': 'hunter2\r\nx-b: 1' } }, 'headers.x-a must have visible ASCII characters'],
    [{ headers: { 'x-a': ' hunter2' } }, 'headers.x-a must have visible ASCII characters'],
    [{ headers: { 'x-a': 'hunter2', 'X-A': 'hunter2' } }, 'headers.X-A is given twice'],
    [{ headers: { Host: 'hunter2' } }, 'headers.Host cannot be set: it follows from url'],
    [{ headers: { COOKIE: 'sid=hunter2' } }, 'headers.COOKIE cannot be set: use cookies'],
    [{ headers: { 'user-agent': 'hunter2' } }, 'headers.user-agent cannot be set: use userAgent'],
    [{ headers: { 'Proxy-Authorization': 'hunter2' } }, 'headers.Proxy-Authorization cannot be set: it concerns'],
    [{ headers: { te: 'hunter2' } }, 'headers.te cannot be set: it concerns the connection'],
    [{ headers: 'hunter2' }, 'headers must be an object, not a string of 7 characters'],
    [credentials(32_769), 'headers, cookies and auth must have at most 32768 bytes together, as JSON'],
    [{ headersFor: ['https://cdn.example.com'] }, 'headersFor needs headers'],
    [{ headers: {}, headersFor: Array(21).fill('https://a.example') }, 'headersFor must be a list of at most 20'],
    [
      { headers: {}, headersFor: ['https://a.example', 'https://b.example/c'] },
      'headersFor.1 must be an http or https origin',
    ],
    [{ headers: {}, headersFor: ['https://u:hunter2@a.example'] }, 'headersFor.0 must be an http or https origin'],
    [{ cookies: Array(101).fill(cookie) }, 'cookies must be a list of at most 100'],
    [{ cookies: ['sid=hunter2'] }, 'cookies.0 must be an object with name, value'],
    [{ cookies: [{ name: 'sid' }] }, 'cookies.0.value is required'],
    [{ cookies: [{ name: 's;d', value: 'v' }] }, 'cookies.0.name must be a name of a cookie'],
    [{ cookies: [{ name: 'sid', value: 'hunter2; path=/' }] }, 'cookies.0.value must not contain spaces'],
    [{ cookies: [{ ...cookie, value: 'hunter2'.repeat(586) }] }, 'cookies.0.value must be a string of at most 4096'],
    [{ cookies: [{ ...cookie, name: 'n'.repeat(257) }] }, 'cookies.0.name must be a string of 1 to 256 characters'],
    [{ cookies: [{ ...cookie, domain: 'd'.repeat(254) }] }, 'cookies.0.domain must be a string of 1 to 253 characters'],
    [{ cookies: [{ ...cookie, path: `/${'p'.repeat(1024)}` }] }, 'cookies.0.path must be a string of 1 to 1024'],
    [{ cookies: [{ ...cookie, url: `https://example.com/${'a'.repeat(2029)}` }] }, 'cookies.0.url must be a string of'],
    [{ headers: {}, headersFor: [`https://${'a'.repeat(2041)}`] }, 'headersFor.0 must be a string of 1 to 2048'],
    [{ headers: {}, headersFor: ['https://*.example.com'] }, 'headersFor.0 must be an http or https origin'],
    [{ cookies: [{ ...cookie, domain: '1.2.3.4.5' }] }, 'cookies.0.domain must be a host name'],
    ...[
      'file:///etc/passwd',
      'data:text/html,x',
      'view-source:https://a.example',
      'http://u:hunter2@a.example',
      '//a.example',
      'http:\\\\a.example',
    ].map((address): [object, string] => [
      { cookies: [{ ...cookie, url: address }] },
      'cookies.0.url must be an absolute http or https address',
    ]),
    [{ cookies: [{ ...cookie, url: 'ftp://example.com' }] }, 'cookies.0.url must be an absolute http or https address'],
    [
      { cookies: [{ ...cookie, url: 'javascript:hunter2' }] },
      'cookies.0.url must be an absolute http or https address',
    ],
    [{ cookies: [{ ...cookie, url, domain: 'example.com' }] }, 'cookies.0: url excludes domain and path'],
    [{ cookies: [{ ...cookie, domain: 'exa mple' }] }, 'cookies.0.domain must be a host name'],
    [{ cookies: [{ ...cookie, path: 'a' }] }, 'cookies.0.path must begin with a slash'],
    [{ cookies: [{ ...cookie, sameSite: 'none' }] }, 'cookies.0.sameSite must be one of Strict, Lax, None'],
    [{ cookies: [{ ...cookie, sameSite: 'None' }] }, 'cookies.0: sameSite None needs secure true'],
    [{ cookies: [{ ...cookie, name: '__Secure-a' }] }, 'cookies.0: a name that begins with __Secure-'],
    [
      { cookies: [{ ...cookie, name: '__Host-a', secure: true, domain: 'a.b' }] },
      'cookies.0: a name that begins with __Host-',
    ],
    [{ url: undefined, html: '<p>', cookies: [cookie] }, 'cookies.0 needs url or domain: supplied html has no host'],
    [{ auth: 'user:hunter2' }, 'auth must be an object with username, password, not a string of 12 characters'],
    [{ auth: { username: 'u' } }, 'auth.password is required'],
    [{ auth: { username: 'u:v', password: 'hunter2' } }, 'auth.username must not contain a colon'],
    [{ auth: { username: '', password: 'hunter2' } }, 'auth.username must be a string of 1 to 1024 characters'],
    [
      { auth: { username: 'u', password: 'p'.repeat(1025) } },
      'auth.password must be a string of at most 1024 characters',
    ],
    [{ url: undefined, html: '<p>', auth: { username: 'u', password: 'hunter2' } }, 'auth needs url'],
    [{ css: '' }, 'css must be a string of 1 to 65536 characters'],
    [{ css: 'é'.repeat(32_769) }, 'css must have at most 65536 bytes in UTF-8'],
    [{ script: 'a'.repeat(65_537) }, 'script must be a string of 1 to 65536 characters'],
    [{ script: 'hunter2', javaScript: false }, 'script needs javaScript true'],
    [{ css: '\n'.repeat(65_536), script: '\n'.repeat(65_536) }, 'must have at most 196608 bytes together, as JSON'],
    [
      { auth: { username: 'u', password: 'hunter2' }, background: true },
      'auth cannot be combined with background here',
    ],
    [
      { css: 'hunter2', headers: {}, persistence: { enabled: true } },
      'headers, css cannot be combined with persistence here: they would have to be kept, and the operator has set no WEBCAPTURE_SECRETS_KEY',
    ],
  ])('%j is refused, and not shown', async (body, message) => {
    const answer = await ask({ url, ...body });
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(message);
    expect(answer.message).not.toContain('hunter2');
    expect(answer.message).not.toContain('2222');
  });
});

test.each([
  'http://127.0.0.1/',
  'http://localhost:8080/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://[::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://169.254.169.254/latest/meta-data/',
  'http://10.1.2.3/',
  'http://example.com:22/',
])('the address %s is refused by the egress policy', async (address) => {
  expect(await ask({ url: address })).toMatchObject({ status: 400, code: 'URL_BLOCKED' });
});

describe('a webhook', () => {
  test.each([...notationsOf('127.0.0.1'), 'localhost', 'a.localhost', '10.1.2.3', '[fd00::1]', 'example.com:22'])(
    'to %s is refused by the egress policy',
    async (host) => {
      const answer = await ask({ url, background: true, webhook: { url: `http://${host}/` } });
      expect(answer.status).toBe(400);
      // In some notations it is no address at all to a URL parser.
      const wanted = URL.canParse(`http://${host}/`) ? 'URL_BLOCKED' : 'VALIDATION_ERROR';
      expect(answer.code).toBe(wanted);
      expect(answer.message).toContain('webhook.url');
    },
  );

  test('is not shown with its password', async () => {
    const { message } = await ask({ url, background: true, webhook: { url: 'https://user:hunter2@example.com/' } });
    expect(message).not.toContain('hunter2');
  });
});

describe('what is no request body', () => {
  const type = { 'content-type': 'application/json' };
  test.each<[string, string, Record<string, string>, string]>([
    ['an empty one', '', type, 'the body is empty'],
    ['half an object', '{', type, 'the body is not valid JSON'],
    ['a comma too many', '{"url":"https://example.com/",}', type, 'the body is not valid JSON'],
    ['an array', '[]', type, 'the body must be a JSON object, not an array'],
    ['null', 'null', type, 'the body must be a JSON object, not null'],
    ['a string', '"text"', type, 'the body must be a JSON object, not "text"'],
    ['a number', '7', type, 'the body must be a JSON object, not 7'],
    ['text', '{}', { 'content-type': 'text/plain' }, 'Content-Type: application/json'],
    ['a form', 'url=x', { 'content-type': 'application/x-www-form-urlencoded' }, 'Content-Type: application/json'],
    ['a nonsense type', '{}', { 'content-type': 'nonsense' }, 'Content-Type: application/json'],
    ['too much', `{"html":"${'x'.repeat(maxBodyBytes)}"}`, type, 'the body is larger than 8 MiB'],
    ['__proto__', `{"url":"${url}","__proto__":{"format":"pdf"}}`, type, '__proto__ is not a field of the request'],
    [
      '__proto__ in an object',
      `{"url":"${url}","viewport":{"__proto__":{}}}`,
      type,
      'viewport.__proto__ is not a field of the request',
    ],
    [
      'constructor',
      `{"url":"${url}","constructor":{"prototype":{}}}`,
      type,
      'constructor is not a field of the request',
    ],
  ])('%s', async (_name, payload, headers, message) => {
    const answer = await post(payload, headers);
    expect(answer).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(answer.message).toContain(message);
  });

  test('nothing at all', async () => {
    const response = await app.inject({ method: 'POST', url: '/capture' });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });

  test('of a field that is there twice, the last counts', async () => {
    expect(await post(`{"url":"nonsense","url":"${url}"}`)).toMatchObject(accepted);
  });
});

describe('what is not there', () => {
  test.each([
    ['GET', '/nothing?x=1'],
    ['PUT', '/nothing'],
    ['PUT', '/admin/accounts'],
    ['GET', '/captures/%zz'],
    ['GET', '/files'],
    ['GET', '/../../etc/passwd'],
  ] as const)('%s %s', async (method, path) => {
    const response = await app.inject({ method, url: path });
    expect(response.statusCode).toBe(404);
    expect(response.json()).toMatchObject({ success: false, data: null, error: { code: 'NOT_FOUND' } });
    expect(response.headers['x-request-id']).toMatch(/^[\w-]{36}$/);
  });

  test.each([
    ['GET', '/webhooks/secret/rotate', 'POST'],
    ['HEAD', '/webhooks/secret/rotate', 'POST'],
    ['PUT', '/capture', 'GET, HEAD, POST'],
    ['OPTIONS', '/capture/', 'GET, HEAD, POST'],
    ['DELETE', '/status', 'GET, HEAD'],
    ['POST', '/captures/x', 'DELETE, GET, HEAD'],
    ['POST', '/files/x', 'GET, HEAD'],
    ['PATCH', '/openapi.json', 'GET, HEAD'],
  ] as const)('the method of %s %s, which allows %s', async (method, path, allowed) => {
    const payload = method === 'PUT' || method === 'POST' ? { payload: 'no JSON' } : {};
    const response = await app.inject({ method, url: path, ...payload });
    expect(response.statusCode).toBe(405);
    expect(response.headers.allow?.toString().split(', ').toSorted().join(', ')).toBe(allowed);
    if (method !== 'HEAD') {
      expect(response.json()).toMatchObject({ success: false, data: null, error: { code: 'NOT_FOUND' } });
    }
    expect(response.headers['x-request-id']).toMatch(/^[\w-]{36}$/);
  });

  test('HEAD has no body', async () => {
    const response = await app.inject({ method: 'HEAD', url: '/nothing' });
    expect([response.statusCode, response.body]).toEqual([404, '']);
  });

  test('a slash at the end makes no difference', async () => {
    const response = await app.inject({ method: 'POST', url: '/capture/', payload: { url } });
    expect(response.statusCode).toBe(401);
  });
});
