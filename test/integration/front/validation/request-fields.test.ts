import { describe, expect, test } from 'vitest';
import { maxTemplateBytes } from '@webcapture/shared/api/pdf-options.ts';
import { maxBodyBytes } from '../../../../services/front/api/capture-body.ts';
import { accepted, url, useValidation } from './use-validation.ts';

const { ask, post } = useValidation();
const astral = '\u{1F600}';

describe('the request is accepted with', () => {
  test.each<[string, object]>([
    ['the url alone', { url }],
    ['html', { html: '<p>' }],
    ['base64', { html: Buffer.from('<p>é</p>').toString('base64') }],
    ['a url of 2048 characters', { url: `https://example.com/${'a'.repeat(2028)}` }],
    ['a url of 2048 characters beyond the basic plane', { url: `https://example.com/${astral.repeat(2028)}` }],
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
    [
      'a schedule',
      { url, persistence: { enabled: true, schedule: { cron: '0 6 * * 1-5', timeZone: 'europe/berlin' } } },
    ],
    ['an hourly schedule', { url, persistence: { enabled: true, schedule: { cron: '0 0-23/1 1,L JAN-DEC 5-7' } } }],
    ['a schedule of leap days', { url, persistence: { enabled: true, schedule: { cron: '59 23 29 2 *' } } }],
    ['a comparison', { url, persistence: { enabled: true, compare: {} } }],
    [
      'a comparison with limits',
      {
        url,
        format: 'webp',
        persistence: {
          enabled: true,
          compare: {
            threshold: 1,
            minShare: 1,
            ignore: Array(20).fill('p'),
            ignoreAreas: Array(20).fill({ x: 0, y: 0, width: 1, height: 100_000 }),
          },
        },
      },
    ],
    ['no earlier files', { url, persistence: { history: 0 } }],
    ['the most earlier files', { url, persistence: { enabled: true, history: 100 } }],
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
    ['fixed elements on every page', { url, format: 'pdf', pdf: { fixed: 'repeat' } }],
    ['a pdf without tags', { url, format: 'pdf', pdf: { tagged: false, outline: false } }],
    ['the shortest locale, time zone and user agent', { url, locale: 'de', timezone: 'UTC', userAgent: 'x' }],
    ['the longest user agent', { url, userAgent: `${'a b'.repeat(170)}.~` }],
    ['a locale with script, region and variant', { url, locale: 'sr-latn-rs-ekavsk' }],
    ['an old name of a time zone, in small letters', { url, timezone: 'asia/calcutta' }],
    ['the south-western corner', { url, geolocation: { latitude: -90, longitude: -180, accuracy: 0 } }],
    ['the north-eastern corner', { url, geolocation: { latitude: 90, longitude: 180, accuracy: 100_000 } }],
    ['a place without its accuracy', { url, geolocation: { latitude: 1.5, longitude: 2.5 } }],
    ['a device', { url, device: 'iPhone 15' }],
    ['a device and a viewport', { url, device: 'iPhone 15', viewport: { width: 7680 } }],
    ['quality that is not used', { url, format: 'png', quality: 50 }],
  ])('%s', async (_name, body) => {
    expect(await ask(body)).toMatchObject(accepted);
  });

  test.each([
    ['four bytes a character', '😀'],
    ['escaped line ends and quotes', '\\n\\"'],
  ])('html of the maximum length: %s', async (_, characters) => {
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

describe('the refusal contains the reason for', () => {
  test.each<[object, string]>([
    [{}, 'one of url and html is required'],
    [{ url, html: '<p>' }, 'url: send either url or html, not both'],
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
    [{ html: 'hello' }, 'html must be HTML, which contains "<", or base64'],
    [{ html: '////' }, 'html must be HTML, which contains "<", or base64'],
    [{ url, quality: 0 }, 'quality must be an integer from 1 to 100, not 0'],
    [{ url, quality: 101 }, 'quality must be an integer from 1 to 100, not 101'],
    [{ url, quality: 50.5 }, 'quality must be an integer from 1 to 100, not 50.5'],
    [{ url, quality: '80' }, 'quality must be an integer from 1 to 100, not "80"'],
    [{ url, quality: null }, 'quality must be an integer from 1 to 100, not null'],
    [{ url, format: 'gif' }, 'format must be one of png, jpeg, webp, pdf, none, not "gif"'],
    [{ url, format: 'PNG' }, 'format must be one of png, jpeg, webp, pdf, none, not "PNG"'],
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
    ...(
      [
        ['0 6 * *', 'must be a string like "0 6 * * 1-5", not "0 6 * *"'],
        ['0 0 6 * * *', 'must be a string like "0 6 * * 1-5", not "0 0 6 * * *"'],
        ['@daily', 'must be a string like "0 6 * * 1-5"'],
        ['0 6 * * MON#1', 'must be a string like "0 6 * * 1-5"'],
        [`${'0,'.repeat(46)}0 0 * * *`, 'must be a string like "0 6 * * 1-5"'],
        ['60 6 * * *', 'must be a cron expression of five fields like "0 6 * * 1-5", not "60 6 * * *"'],
        ['0 6 * * 8', 'must be a cron expression of five fields'],
        ['0 6 0 * *', 'must be a cron expression of five fields'],
        ['0 6 * 13 *', 'must be a cron expression of five fields'],
        ['0 5-4 * * *', 'must be a cron expression of five fields'],
        ['0 6 * * tuesday', 'must be a cron expression of five fields'],
        ['0 0 31 2 *', 'must match a date, which "0 0 31 2 *" never does'],
        ['*/59 * * * *', 'must have at least 3600 seconds between two runs, not 60'],
        ['0,59 6 * * *', 'must have at least 3600 seconds between two runs, not 3540'],
        ['5,50 0,23 * * 6,0', 'must have at least 3600 seconds between two runs, not 900'],
        ['0,1 0 29 2 *', 'must have at least 3600 seconds between two runs, not 60'],
      ] as const
    ).map(([cron, message]): [object, string] => [
      { url, persistence: { enabled: true, schedule: { cron } } },
      `persistence.schedule.cron ${message}`,
    ]),
    [{ url, persistence: { enabled: true, schedule: {} } }, 'persistence.schedule.cron is required'],
    [
      { url, persistence: { enabled: true, schedule: { cron: '0 6 * * *', timeZone: 'Mars/Olympus' } } },
      'persistence.schedule.timeZone must be a name of the IANA time zone database like "Europe/Berlin", not "Mars/Olympus"',
    ],
    [
      { url, persistence: { enabled: true, refreshInterval: 3600, schedule: { cron: '0 6 * * *' } } },
      'persistence.refreshInterval: send either persistence.refreshInterval or persistence.schedule, not both',
    ],
    [{ url, persistence: { schedule: { cron: '0 6 * * *' } } }, 'persistence.schedule needs persistence.enabled true'],
    [
      { url, persistence: { enabled: true, history: 101 } },
      'persistence.history must be an integer from 0 to 100, not 101',
    ],
    [
      { url, persistence: { enabled: true, history: -1 } },
      'persistence.history must be an integer from 0 to 100, not -1',
    ],
    [{ url, persistence: { history: 1 } }, 'persistence.history needs persistence.enabled true'],
    [
      { url, persistence: { enabled: true, compare: { ignore: ['p', 'div >'] } } },
      'persistence.compare.ignore.1 must be a CSS selector, not "div >"',
    ],
    [{ url, persistence: { enabled: true, compare: { ignore: Array(21).fill('p') } } }, 'persistence.compare.ignore'],
    [{ url, persistence: { compare: {} } }, 'persistence.compare needs persistence.enabled true'],
    [
      { url, format: 'pdf', persistence: { enabled: true, compare: {} } },
      'persistence.compare needs format png, jpeg or webp, not pdf',
    ],
    [
      { url, persistence: { enabled: true, compare: { threshold: 1.1 } } },
      'persistence.compare.threshold must be a number from 0 to 1, not 1.1',
    ],
    [
      { url, persistence: { enabled: true, compare: { minShare: -0.1 } } },
      'persistence.compare.minShare must be a number from 0 to 1, not -0.1',
    ],
    [
      { url, persistence: { enabled: true, compare: { ignoreAreas: [{ x: 0, y: -1, width: 1, height: 1 }] } } },
      'persistence.compare.ignoreAreas.0.y must be an integer from 0 to 100000, not -1',
    ],
    [
      { url, persistence: { enabled: true, compare: { ignoreAreas: [{ x: 0, y: 0, width: 0, height: 1 }] } } },
      'persistence.compare.ignoreAreas.0.width must be an integer from 1 to 100000, not 0',
    ],
    [
      {
        url,
        persistence: { enabled: true, compare: { ignoreAreas: Array(21).fill({ x: 0, y: 0, width: 1, height: 1 }) } },
      },
      'persistence.compare.ignoreAreas',
    ],
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
      'pdf.paper: send either pdf.paper or pdf.width with pdf.height, not both',
    ],
    [
      { url, format: 'pdf', pdf: { width: 62, height: 100, landscape: true } },
      'pdf.landscape needs pdf.paper: swap pdf.width and pdf.height instead',
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
    [
      { url, format: 'pdf', isFullPage: true, pdf: { fixed: 'once' } },
      'pdf.fixed needs isFullPage false: the one page',
    ],
    [{ url, format: 'pdf', pdf: { fixed: 'twice' } }, 'pdf.fixed must be one of repeat, once, not "twice"'],
    [{ url, format: 'pdf', pdf: { fixed: true } }, 'pdf.fixed must be one of repeat, once, not true'],
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
    [{ url: 'https://user:hunter2@example.com/' }, 'url must have no user name or password: send them as auth'],
    [{ url: 'https://user@example.com/' }, 'url must have no user name or password: send them as auth'],
    [{ url: 'https://:hunter2@10.0.0.1/' }, 'url must have no user name or password: send them as auth'],
    [{ url, webhook: {} }, 'webhook.url is required'],
    [{ url, webhook: { url: 'https://example.com/' } }, 'webhook needs background true'],
    [
      { url, background: true, webhook: { url: 'example.com/hook' } },
      'webhook.url must be an absolute http or https address, not "example.com/hook"',
    ],
    [{ url, background: true, webhook: { url: 'ftp://example.com/' } }, 'webhook.url must be an absolute http'],
    [
      { url, background: true, webhook: { url: 'https://user@example.com/' } },
      'webhook.url must not contain a user name',
    ],
    [
      { url, background: true, webhook: { url: 'https://:pass@example.com/' } },
      'webhook.url must not contain a user name',
    ],
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

  test('several errors at once', async () => {
    const { message } = await ask({ url, quality: 0, timeout: 1, viewport: { width: 1 } });
    expect(message).toContain('quality must');
    expect(message).toContain('timeout must');
    expect(message).toContain('viewport.width must');
  });

  test('more errors than the message lists, with their number', async () => {
    const body = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field${index}`, 1]));
    expect((await ask({ url, ...body })).message).toMatch(/; and 45 more$/);
  });

  test('an excess of fields, without an error for each', async () => {
    const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`f${index}`, 1]));
    expect((await ask({ url, viewport: body })).message).toBe('the body has an object of more than 100 fields');
  });
});
