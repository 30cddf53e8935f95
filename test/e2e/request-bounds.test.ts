// @module-tag long
import { describe, expect, test } from 'vitest';
import { maxSide } from '@webcapture/shared/api/formats.ts';
import { stripeColor } from '../harness/site/pages/tall-pages.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

/** A page on the test site whose address has exactly `length` characters. */
function urlOf(length: number): string {
  const base = `${site().url('/color')}&pad=`;
  return base + 'x'.repeat(length - base.length);
}

/** The text after it is parsed, but not drawn: drawing a million characters takes seconds. */
const head = '<style>body{background:#00ff00}</style><p hidden>';

describe.concurrent('numeric fields', () => {
  /** Name of a field, accepted values at both ends, rejected values beyond them, and other fields that the request needs. */
  const numbers: readonly (readonly [field: string, accepted: number[], refused: number[], rest?: object])[] = [
    ['quality', [1, 100], [0, 101, -1, 50.5], { format: 'jpeg' }],
    ['quality', [1, 100], [0, 101], { format: 'webp' }],
    ['quality', [100], [0, 101], { format: 'png' }],
    ['timeout', [5000, 120_000], [4999, 120_001, 0, -1, 5000.5]],
    ['imageTimeout', [0, 15_000], [-1, 15_001, 0.5]],
    ['delay', [0, 1, 15_000], [-1, 15_001, 0.5]],
    ['cdnTtl', [61, 2_592_000], [60, 2_592_001, 0, -1, 61.5]],
    ['responseCache.ttl', [60, 2_592_000], [59, 2_592_001]],
    ['persistence.refreshInterval', [0, 2_592_000], [-1, 2_592_001]],
    ['viewport.width', [16, 7680], [15, 7681, 0, -1, 100.5]],
    ['viewport.height', [16, 7680], [15, 7681, 0, -1, 100.5]],
    ['viewport.deviceScaleFactor', [1, 1.25, 3], [0.99, 3.01, 0, -1]],
    ['pdf.scale', [0.1, 2], [0.09, 2.01, 0], { format: 'pdf' }],
    ['pdf.margin', [0, 50], [-1, 1001], { format: 'pdf' }],
  ];

  /** `{viewport: {width: 16}}` for `viewport.width` and 16. */
  const bodyOf = (field: string, value: number, rest: object = {}) => {
    const [outer = '', inner] = field.split('.');
    return { url: site().url('/color'), ...rest, [outer]: inner === undefined ? value : { [inner]: value } };
  };

  const accepted = numbers.flatMap(([field, values, , rest]) => values.map((value) => [field, value, rest] as const));
  const refused = numbers.flatMap(([field, , values, rest]) => values.map((value) => [field, value, rest] as const));

  test.for(accepted)('%s %d is accepted', async ([field, value, rest]) => {
    const { status } = await fleet().api.captured(bodyOf(field, value, rest));
    expect(status).toBe('completed');
  });

  test.for(refused)('%s %d is rejected', async ([field, value, rest]) => {
    const refusal = await fleet().api.refused(bodyOf(field, value, rest));
    expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(refusal.message).toContain(field);
  });
});

describe.concurrent('length of url', () => {
  test('2048 characters are accepted', async () => {
    const url = urlOf(2048);
    const data = await fleet().api.captured({ url });
    expect(data.metadata.url).toHaveLength(2048);
  });

  test('2049 are rejected', async () => {
    const refusal = await fleet().api.refused({ url: urlOf(2049) });
    expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(refusal.message).toMatch(/url.*2048/s);
  });
});

describe('length of html', () => {
  const limit = 1_048_576;
  const padded = (filler: string, length: number) => head + filler.repeat(length - head.length);
  /** Base64 with exactly this number of characters, a multiple of four. */
  const base64 = (length: number) => Buffer.from(padded(' ', (length / 4) * 3)).toString('base64');

  test.for([
    ['characters', () => padded(' ', limit)],
    ['characters of two bytes', () => padded('é', limit)],
    ['astral characters, which are two units of UTF-16 and four bytes each', () => padded('\u{1f600}', limit)],
    ['characters of base64', () => base64(limit)],
  ] as const)('1048576 %s are accepted', async ([, html]) => {
    const { picture } = await fleet().api.picture({ html: html() });
    expect(picture.at(1270, 0)).toBe('#00ff00');
  });

  test.for([
    ['characters', () => padded(' ', limit + 1)],
    ['astral characters', () => padded('\u{1f600}', limit + 1)],
    ['and more characters of base64', () => base64(limit + 4)],
  ] as const)('1048577 %s are rejected', async ([, html]) => {
    const refusal = await fleet().api.refused({ html: html() });
    expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(refusal.message).toMatch(/html.*1048576/s);
  });

  test('counts characters, not bytes', async () => {
    const rest = '😀'.repeat(limit - head.length);
    const { picture } = await fleet().api.picture(null, { raw: `{"html": "${head}${rest}"}` });
    expect(picture.at(1270, 0)).toBe('#00ff00');
  });

  test('a body larger than any valid one is rejected unread', async () => {
    const body = JSON.stringify({ html: head, padding: 'x'.repeat(16 * 1024 * 1024) });
    const refusal = await fleet().api.refused(null, { raw: body });
    expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(refusal.message).toMatch(/large|MiB|bytes/i);
  });
});

describe('pixels of the viewport', () => {
  test('more are rejected', async () => {
    const viewport = { width: 7500, height: 5001, deviceScaleFactor: 2 };
    const refusal = await fleet().api.refused({ url: site().url('/color'), viewport });
    expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(refusal.message).toMatch(/viewport.*megapixel/s);
  });
});

/** The corpus tests the limit of each format in pixels. This test checks that files of that size, and such errors, reach the client. */
describe('the maximum height of a format', () => {
  const narrow = { viewport: { width: 64 } };

  test(`a png of ${maxSide.png} px is captured whole`, async () => {
    const url = site().url('/tall', { h: maxSide.png });
    const { data, picture } = await fleet().api.picture({ url, isFullPage: true, ...narrow });
    expect(picture.size).toBe(`64x${maxSide.png}`);
    expect(data.metadata.height).toBe(maxSide.png);
    for (const stripe of [0, 79, 80, 81, 160, 999]) {
      expect(picture.at(32, stripe * 100 + 50)).toBe(stripeColor(stripe));
    }
  });

  test.for([
    ['webp', maxSide.webp, narrow, /jpeg/],
    ['pdf', maxSide.pdf, { pdf: { margin: 0 } }, /png|jpeg|isFullPage/],
  ] as const)(
    '%s: one more than %d is PAGE_TOO_LARGE, and the message names a solution',
    async ([format, height, rest, says]) => {
      const url = site().url('/tall', { h: height + 1 });
      const refusal = await fleet().api.refused({ url, format, isFullPage: true, ...rest });
      expect(refusal).toMatchObject({ status: 500, code: 'PAGE_TOO_LARGE' });
      expect(refusal.message).toMatch(says);
    },
  );
});
