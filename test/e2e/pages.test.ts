// @module-tag long
import { describe, expect, test } from 'vitest';
import { stripeColor } from '../harness/site/pages/tall-pages.ts';
import type { Picture } from '../harness/picture.ts';
import { useFleet, useSite } from '../harness/use.ts';

// Pages that screenshot tools often capture incorrectly.
const fleet = useFleet();
const site = useSite();

const whole = (path: string, parameters: Record<string, string | number> = {}, rest: object = {}) =>
  fleet().api.picture({ url: site().url(path, parameters), isFullPage: true, ...rest });

/** The expected stripes of /tall from row `from` on. */
function expectStripes(picture: Picture, from: number, to: number): void {
  for (let y = Math.ceil(from / 100) * 100 + 50; y < to; y += 100) {
    expect([y, picture.at(640, y)]).toEqual([y, stripeColor(Math.floor(y / 100))]);
  }
}

describe.concurrent('whole pages', () => {
  test('all lazy pictures are loaded', async () => {
    const visit = site().visit('/lazy', { n: 20 });
    // On a busy machine, loading twenty of them takes more time than the default allows.
    const { data, picture } = await fleet().api.picture({ url: visit.url, isFullPage: true, imageTimeout: 15_000 });
    expect(picture.size).toBe('1280x10000');
    for (let n = 0; n < 20; n++) expect([n, picture.at(640, n * 500 + 150)]).toEqual([n, '#0000ff']);
    expect(visit.seen('/asset/image')).toHaveLength(20);
    expect(data.report.images).toEqual({ loaded: 20, failed: 0, pending: 0 });
  });

  test('content that appears on scrolling is visible', async () => {
    const { picture } = await whole('/reveal');
    for (let n = 0; n < 8; n++) expect([n, picture.at(640, n * 500 + 250)]).toEqual([n, stripeColor(n)]);
  });

  test.for(['sticky', 'fixed'])('a %s header appears once', async (mode) => {
    const { picture } = await whole('/header', { mode, h: 4000 });
    const rows = picture.rowsOf(640, '#ff0000');
    expect([rows[0], rows.at(-1), rows.length]).toEqual([0, 49, 50]);
  });

  test('sections of 100vh keep the height of the viewport', async () => {
    const { picture } = await whole('/sections', { n: 4 }, { viewport: { height: 600 } });
    expect(picture.size).toBe('1280x2400');
    for (let n = 0; n < 4; n++) {
      expect([n, picture.at(640, n * 600), picture.at(640, n * 600 + 599)]).toEqual([
        n,
        stripeColor(n),
        stripeColor(n),
      ]);
    }
  });

  test('a box that scrolls instead of the page is shown whole', async () => {
    const { picture } = await whole('/scroller', { h: 3000 });
    expect(picture.height).toBe(3000);
    expectStripes(picture, 0, 3000);
  });

  test('a page that grows to a limit is shown to its end', async () => {
    const { data, picture } = await whole('/growing', { max: 6 }, { viewport: { width: 400 } });
    expect(picture.size).toBe('400x6000');
    expect(picture.at(200, 5500)).toBe(stripeColor(5));
    expect(data.report.truncated).toBe(false);
  });

  test('a page that grows endlessly is cut off, and the report says so', async () => {
    const answer = await fleet().api.capture({
      url: site().url('/growing'),
      isFullPage: true,
      viewport: { width: 400 },
    });
    expect(answer.status).toBe(200);
    expect(answer.body?.data?.report.truncated).toBe(true);
    expect(answer.body?.data?.metadata.height).toBeGreaterThan(2000);
    expect(answer.ms).toBeLessThan(50_000);
  });

  test('a page of many screens has no seams', { tags: 'long' }, async () => {
    const { picture } = await whole('/tall', { h: 25_000 }, { viewport: { width: 320 } });
    expect(picture.size).toBe('320x25000');
    for (let y = 50; y < 25_000; y += 100) {
      expect([y, picture.at(160, y)]).toEqual([y, stripeColor(Math.floor(y / 100))]);
    }
    for (const y of [8191, 8192, 16_383, 16_384]) expect(picture.at(160, y)).toBe(stripeColor(Math.floor(y / 100)));
  });

  test('a page shorter than the viewport is as tall as the viewport, or as its content', async () => {
    const { picture } = await whole('/tall', { h: 300 }, { viewport: { height: 500 } });
    expect([300, 500]).toContain(picture.height);
  });

  test('a page wider than the viewport keeps the requested width', async () => {
    const { picture } = await whole('/tall', { h: 1000, w: '3000px' }, { viewport: { width: 800 } });
    expect(picture.size).toBe('800x1000');
  });
});

describe.concurrent('the report', () => {
  test('counts failed pictures', async () => {
    const data = await fleet().api.captured({ url: site().url('/images', { list: 'ok,missing,ok,missing' }) });
    expect(data.report.images).toEqual({ loaded: 2, failed: 2, pending: 0 });
  });

  test('cuts a title to 512 characters', async () => {
    const data = await fleet().api.captured({ url: site().url('/text', { title: 't'.repeat(1000) }) });
    expect(data.report.title).toHaveLength(512);
  });

  test('contains the latest title of the page', async () => {
    const html = '<title>before</title><script>document.title = "after"</script>';
    const data = await fleet().api.captured({ html });
    expect(data.report.title).toBe('after');
  });
});

test('text in many scripts is drawn, not as boxes', async () => {
  // Each line has a separate row; the fallback box of a missing glyph would make all rows equal.
  const lines = ['Latin', 'Ελληνικά', 'Русский', '中文网页', '日本語', '한국어', 'العربية', 'हिन्दी'];
  const html = `<style>body{margin:0;background:#fff}p{margin:0;height:60px;font:40px sans-serif;color:#000}</style>${lines.map((line) => `<p>${line}</p>`).join('')}`;
  const { picture } = await fleet().api.picture({ html, viewport: { width: 600, height: 480 } });
  const { pdf } = await fleet().api.pdf({ html });
  expect(picture.share('#000000', 80)).toBeGreaterThan(0.01);
  // A font may have one glyph for a character and the similar radical; NFKC maps most of them to one character.
  const text = pdf.text.normalize('NFKC').replaceAll(/\s/g, '');
  for (const line of ['Latin', 'Ελληνικά', 'Русский', '中文', '日本語', '한국어']) expect(text).toContain(line);
});
