import { describe, expect, test } from 'vitest';
import { stripeColor, stripeHeight } from '../harness/site/pages/tall-pages.ts';
import type { BrowserFacts } from '../harness/site/pages/network-pages.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

/** The colors of the squares of /quadrants, at a point in the middle of each, and one outside. */
const squares = [
  [50, 50, '#ff0000'],
  [150, 50, '#00ff00'],
  [50, 150, '#0000ff'],
  [150, 150, '#000000'],
  [250, 250, '#ffffff'],
] as const;

describe.concurrent('format', () => {
  test('png, the default, is exact to the pixel', async () => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/quadrants') });
    expect(picture.format).toBe('png');
    expect(picture.size).toBe('1280x720');
    for (const [x, y, color] of squares) expect(picture.at(x, y)).toBe(color);
    // The edges are at the same positions as in the page.
    expect([picture.at(99, 99), picture.at(100, 99), picture.at(99, 100), picture.at(100, 100)]).toEqual([
      '#ff0000',
      '#00ff00',
      '#0000ff',
      '#000000',
    ]);
    expect(data.metadata).toMatchObject({ format: 'png', mimeType: 'image/png', width: 1280, height: 720 });
    expect(data.fileUrl).toMatch(/\.png$/);
  });

  test.for(['jpeg', 'webp'] as const)(
    '%s has the colors of the page, as exactly as the format allows',
    { tags: 'long' },
    async (format) => {
      const { data, picture } = await fleet().api.picture({ url: site().url('/quadrants'), format });
      expect(picture.format).toBe(format);
      expect(picture.size).toBe('1280x720');
      for (const [x, y, color] of squares) expect(picture.difference(x, y, color)).toBeLessThanOrEqual(8);
      expect(data.metadata).toMatchObject({ format, mimeType: `image/${format}`, width: 1280, height: 720 });
      expect(data.fileUrl.endsWith(`.${format}`)).toBe(true);
    },
  );

  test.for(['png', 'jpeg', 'webp', 'pdf'] as const)('%s as the response itself', async (format) => {
    const answer = await fleet().api.capture({ url: site().url('/quadrants'), format, responseType: 'file' });
    expect(answer.status).toBe(200);
    const type = format === 'pdf' ? 'application/pdf' : `image/${format}`;
    expect(answer.headers.get('content-type')).toBe(type);
    expect(answer.headers.get('content-length')).toBe(String(answer.bytes.length));
    const uuid = answer.headers.get('x-capture-uuid') ?? '';
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);

    const signatures = { png: '\u0089PNG', jpeg: '\u00ff\u00d8\u00ff', webp: 'RIFF', pdf: '%PDF-' };
    expect(answer.bytes.toString('latin1').startsWith(signatures[format])).toBe(true);

    // The response is identical to the stored file.
    const record = await fleet().api.get(`/captures/${uuid}`);
    const { data } = (await record.json()) as { data: { fileUrl: string } };
    const stored = await fleet().api.request(data.fileUrl);
    expect(Buffer.from(await stored.arrayBuffer()).equals(answer.bytes)).toBe(true);
  });
});

describe.concurrent('quality', () => {
  test.for(['jpeg', 'webp'] as const)('%s: a higher quality makes a larger file', { tags: 'long' }, async (format) => {
    const url = site().url('/busy-picture');
    const sizes = [];
    for (const quality of [1, 80, 100]) {
      const { data } = await fleet().api.picture({ url, format, quality });
      sizes.push(data.fileSizeBytes);
    }
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
    expect(sizes[2]).toBeGreaterThan((sizes[0] ?? 0) * 3);
    const byDefault = await fleet().api.captured({ url, format });
    // The browser may draw an edge slightly differently each time.
    expect(Math.abs(byDefault.fileSizeBytes / (sizes[1] ?? 0) - 1)).toBeLessThan(0.01);
  });

  test('is ignored for png', { tags: 'long' }, async () => {
    const url = site().url('/busy-picture');
    const low = await fleet().api.captureWithFile({ url, quality: 1 });
    const high = await fleet().api.captureWithFile({ url, quality: 100 });
    // Edges of rotated boxes are not drawn identically each time.
    expect(Math.abs(low.bytes.length - high.bytes.length)).toBeLessThan(0.01 * high.bytes.length);
  });
});

describe.concurrent('viewport', () => {
  test("is the size of the picture and of the page's window", async () => {
    const page = site().visit('/facts');
    const { data, picture } = await fleet().api.picture({ url: page.url, viewport: { width: 400, height: 300 } });
    expect(picture.size).toBe('400x300');
    expect(data.metadata.viewport).toEqual({ width: 400, height: 300, deviceScaleFactor: 1 });
    expect(await page.facts<BrowserFacts>()).toMatchObject({ innerWidth: 400, innerHeight: 300, devicePixelRatio: 1 });
  });

  test.for([
    [{}, '1280x720'],
    [{ width: 500 }, '500x720'],
    [{ height: 500 }, '1280x500'],
    [{ deviceScaleFactor: 2 }, '2560x1440'],
  ] as const)('%j uses defaults for missing fields', { tags: 'long' }, async ([viewport, size]) => {
    const { picture } = await fleet().api.picture({ url: site().url('/color'), viewport });
    expect(picture.size).toBe(size);
    expect(picture.share('#00ff00')).toBe(1);
  });

  test('comes from the device unless the request overrides it, and the browser identifies as that device', async () => {
    const page = site().visit('/facts');
    const options = { device: 'iPhone 15', viewport: { deviceScaleFactor: 1 }, locale: 'DE-de' };
    const { data, picture } = await fleet().api.picture({ url: page.url, ...options });
    expect(picture.size).toBe('393x659');
    expect(data.metadata.viewport).toEqual({ width: 393, height: 659, deviceScaleFactor: 1 });
    const { userAgent, languages } = await page.facts<BrowserFacts>();
    expect(userAgent).toContain('iPhone');
    expect(languages).toEqual(['de-DE', 'de']);
  });

  test.for([3, 1.5])(
    'a scale of %d renders the same page with more pixels',
    { tags: 'long' },
    async (deviceScaleFactor) => {
      const page = site().visit('/facts');
      const viewport = { width: 400, height: 300, deviceScaleFactor };
      const { data, picture } = await fleet().api.picture({ url: page.url, viewport });
      expect(picture.size).toBe(`${400 * deviceScaleFactor}x${300 * deviceScaleFactor}`);
      expect(data.metadata).toMatchObject({
        width: 400 * deviceScaleFactor,
        height: 300 * deviceScaleFactor,
        viewport,
      });
      expect(await page.facts<BrowserFacts>()).toMatchObject({ innerWidth: 400, devicePixelRatio: deviceScaleFactor });

      const { picture: sharp } = await fleet().api.picture({ url: site().url('/quadrants'), viewport });
      const edge = 100 * deviceScaleFactor;
      expect([sharp.at(edge - 1, 5), sharp.at(edge, 5)]).toEqual(['#ff0000', '#00ff00']);
    },
  );
});

describe.concurrent('isFullPage', () => {
  test.for([
    ['png', 0],
    ['jpeg', 8],
    ['webp', 8],
  ] as const)(
    '%s shows all of a page that is taller than the viewport',
    { tags: 'long' },
    async ([format, tolerance]) => {
      const body = { url: site().url('/tall', { h: 3050 }), format, isFullPage: true };
      const { data, picture } = await fleet().api.picture(body);
      expect(picture.size).toBe('1280x3050');
      expect(data.metadata).toMatchObject({ fullPage: true, width: 1280, height: 3050 });
      for (let stripe = 0; stripe <= 30; stripe++) {
        const middle = stripe * stripeHeight + (stripe === 30 ? 25 : 50);
        expect(picture.difference(640, middle, stripeColor(stripe))).toBeLessThanOrEqual(tolerance);
      }
    },
  );

  test('without it, the picture shows the viewport', { tags: 'long' }, async () => {
    const { data, picture } = await fleet().api.picture({ url: site().url('/tall', { h: 3050 }) });
    expect(picture.size).toBe('1280x720');
    expect(data.metadata.fullPage).toBe(false);
    expect(picture.at(640, 719)).toBe(stripeColor(7));
  });

  test('keeps the width and the scale of the viewport, and overrides its height', { tags: 'long' }, async () => {
    const viewport = { width: 300, height: 2000, deviceScaleFactor: 2 };
    const tall = await fleet().api.picture({ url: site().url('/tall', { h: 2500 }), isFullPage: true, viewport });
    expect(tall.picture.size).toBe('600x5000');
    expect(tall.picture.at(300, 4999)).toBe(stripeColor(24));
  });
});

describe.concurrent('colorScheme', () => {
  test.for([
    [undefined, '#fafafa'],
    ['light', '#fafafa'],
    ['dark', '#101010'],
  ] as const)('%s', async ([colorScheme, color]) => {
    const body = { url: site().url('/scheme'), ...(colorScheme === undefined ? {} : { colorScheme }) };
    const { picture } = await fleet().api.picture(body);
    expect(picture.share(color)).toBe(1);
  });

  test('no-preference is not dark', { tags: 'long' }, async () => {
    const { picture } = await fleet().api.picture({ url: site().url('/scheme'), colorScheme: 'no-preference' });
    expect(picture.share('#101010')).toBe(0);
  });

  test('applies to html too', { tags: 'long' }, async () => {
    const html = '<style>@media (prefers-color-scheme: dark){html{background:#123456}}</style>';
    const { picture } = await fleet().api.picture({ html, colorScheme: 'dark' });
    expect(picture.share('#123456')).toBe(1);
  });
});

describe.concurrent('cdnTtl', () => {
  test.for([
    [undefined, 86_400],
    [61, 61],
    [2_592_000, 2_592_000],
  ] as const)('%s sets the expiry of the file', async ([cdnTtl, seconds]) => {
    const body = { url: site().url('/color'), ...(cdnTtl === undefined ? {} : { cdnTtl }) };
    const { metadata, fileUrl } = await fleet().api.captured(body);
    const lifetime = (Date.parse(metadata.expiresAt) - Date.parse(metadata.capturedAt)) / 1000;
    expect(Math.abs(lifetime - seconds)).toBeLessThan(2);
    const file = await fleet().api.request(fileUrl);
    const maxAge = Number(/max-age=(\d+)/.exec(file.headers.get('cache-control') ?? '')?.[1]);
    expect(maxAge).toBeLessThanOrEqual(seconds);
    expect(maxAge).toBeGreaterThan(0);
  });
});

test('two captures with freeze: {} have the same bytes', async () => {
  const html = `<script>document.write(new Date().toISOString() + ' ' + Math.random())</script>`;
  const capture = () => fleet().api.capture({ html, freeze: {}, responseType: 'file' });
  const [one, other] = [await capture(), await capture()];
  expect(one.status).toBe(200);
  expect(one.bytes.equals(other.bytes)).toBe(true);
});
