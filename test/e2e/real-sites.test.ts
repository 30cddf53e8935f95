// @module-tag long
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { mkdir, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import type { Picture } from '../harness/picture.ts';
import { serveFolder, type StaticSite } from '../harness/static-site.ts';
import { useFleet } from '../harness/use.ts';

// Built pages of real projects, from their packages: the demo of an admin template, two documentations, slides.
const fleet = useFleet();

const require = createRequire(import.meta.url);
const folderOf = (manifest: string, inside: string) => join(dirname(manifest), inside);

const sites: Record<'gentelella' | 'css98' | 'pico' | 'reveal', StaticSite | undefined> = {
  gentelella: undefined,
  css98: undefined,
  pico: undefined,
  reveal: undefined,
};

beforeAll(async () => {
  sites.gentelella = await serveFolder(folderOf(require.resolve('gentelella/package.json'), 'dist'));
  sites.css98 = await serveFolder(folderOf(require.resolve('98.css/package.json'), 'dist'));
  sites.pico = await serveFolder(folderOf(require.resolve('@picocss/pico/package.json'), ''));
  sites.reveal = await serveFolder(folderOf(require.resolve('reveal.js'), '..'));
});

afterAll(async () => {
  for (const site of Object.values(sites)) await site?.[Symbol.asyncDispose]();
});

/** Captures a page; with WEBCAPTURE_TEST_PICTURES set, also writes the picture into that folder for inspection. */
async function capture(
  site: keyof typeof sites,
  path: string,
  options: object = {},
): Promise<{ data: CaptureResult; picture: Picture }> {
  const result = await fleet().api.picture({ url: `${sites[site]?.url}${path}`, ...options });
  const folder = process.env['WEBCAPTURE_TEST_PICTURES'];
  if (folder !== undefined) {
    const { width, height, format } = result.picture;
    await mkdir(folder, { recursive: true });
    const name = `${site}${path.replaceAll(/[^\w]+/g, '-')}-${width}x${height}.${format}`;
    await writeFile(join(folder, name), result.picture.bytes);
  }
  return result;
}

/** The share of rows with more than one color. */
function inkedRows(picture: Picture): number {
  const rows = Array.from({ length: picture.height }, (_, y) => y);
  return rows.filter((y) => picture.colorsInRow(y) > 1).length / picture.height;
}

describe('gentelella, an admin template built by Vite', () => {
  test('dashboard, viewport', async () => {
    const { data, picture } = await capture('gentelella', '/production/index.html', { delay: 1000 });
    expect(picture.size).toBe('1280x720');
    expect(data.report).toMatchObject({ httpStatus: 200, blank: false, challenge: false });
    expect(data.report.title).toMatch(/Gentelella/i);
    // The page has a dark side bar on the left, a light page on the right, and many colors.
    const [sidebar, content] = [picture.at(5, 500), picture.at(1270, 715)];
    expect(luminance(sidebar)).toBeLessThan(60);
    expect(luminance(content)).toBeGreaterThan(220);
    expect(picture.dominant(50)).toHaveLength(50);
  });

  test('dashboard, full page', async () => {
    const { picture } = await capture('gentelella', '/production/index.html', { isFullPage: true, delay: 1000 });
    expect(picture.width).toBe(1280);
    expect(picture.height).toBeGreaterThan(1500);
    expect(picture.height).toBeLessThan(5000);
    expect(inkedRows(picture)).toBeGreaterThan(0.95);
    // The chart in the first large card is drawn: its line is teal.
    expect(picture.share('#1abb9c', 12)).toBeGreaterThan(0.001);
  });

  test('landing page, full page, dark and light', async () => {
    const light = await capture('gentelella', '/production/landing.html', { isFullPage: true });
    const dark = await capture('gentelella', '/production/landing.html', {
      isFullPage: true,
      colorScheme: 'dark',
      format: 'jpeg',
    });
    expect(light.picture.height).toBeGreaterThan(3000);
    expect(light.picture.height).toBeLessThan(9000);
    expect(Math.abs(dark.picture.height - light.picture.height)).toBeLessThan(200);
    expect(luminance(light.picture.dominant(1)[0]?.color ?? '')).toBeGreaterThan(220);
    expect(luminance(dark.picture.dominant(1)[0]?.color ?? '')).toBeLessThan(70);
    // Sections that fade in on scrolling are visible, so no half of a screen is empty.
    for (const picture of [light.picture, dark.picture]) expect(longestGap(picture)).toBeLessThan(360);
  });
});

describe('98.css, a documentation of one long page', () => {
  test('full page', async () => {
    const { data, picture } = await capture('css98', '/', { isFullPage: true });
    expect(data.report.title).toContain('98.css');
    expect(picture.height).toBeGreaterThan(7000);
    expect(picture.height).toBeLessThan(20_000);
    // The picture is mostly Windows 98 gray, with some blue title bars.
    expect(picture.dominant(1)[0]?.color).toBe('#c0c0c0');
    expect(picture.share('#000080', 10)).toBeGreaterThan(0.0005);
    // Screens further down have as much content as the first.
    expect(longestGap(picture, 300)).toBeLessThan(700);
  });

  test('viewport, in the pixel font that the page loads', async () => {
    const { picture } = await capture('css98', '/', { viewport: { width: 1024, height: 768, deviceScaleFactor: 2 } });
    expect(picture.size).toBe('2048x1536');
    expect(picture.at(2040, 1500)).toBe('#c0c0c0');
  });

  test('PDF, with its text', async () => {
    const { pdf } = await fleet().api.pdf({ url: `${sites.css98?.url}/` });
    expect(pdf.pages.length).toBeGreaterThan(5);
    for (const text of ['Components', 'TreeView', 'Progress']) expect(pdf.text).toContain(text);
  });
});

describe('Pico, a documentation of many pages', () => {
  test('typography, full page', async () => {
    const { data, picture } = await capture('pico', '/docs/typography.html', { isFullPage: true });
    expect(data.report.title).toMatch(/Typography/);
    expect(picture.height).toBeGreaterThan(2500);
    // The banner at the top appears once.
    const banner = picture.rowsOf(5, picture.at(5, 5), 2);
    expect(banner.length).toBeLessThan(120);
    expect(inkedRows(picture)).toBeGreaterThan(0.7);
  });

  test('forms, viewport, dark, on a phone', async () => {
    const { picture } = await capture('pico', '/docs/forms.html', {
      viewport: { width: 390, height: 844, deviceScaleFactor: 3 },
      colorScheme: 'dark',
      format: 'webp',
    });
    expect(picture.size).toBe('1170x2532');
    expect(luminance(picture.dominant(1)[0]?.color ?? '')).toBeLessThan(60);
  });
});

describe('reveal.js, slides drawn by script', () => {
  test('the first slide', async () => {
    const { data, picture } = await capture('reveal', '/demo.html', { delay: 500 });
    expect(data.report.title).toContain('reveal.js');
    expect(luminance(picture.at(20, 20))).toBeLessThan(60);
    // Large white letters across the middle.
    expect(picture.share('#ffffff', 8)).toBeGreaterThan(0.005);
  });
});

function luminance(color: string): number {
  const value = Number.parseInt(color.slice(1), 16);
  return 0.2126 * (value >> 16) + 0.7152 * ((value >> 8) & 255) + 0.0722 * (value & 255);
}

/** Returns the maximum number of consecutive rows that have only one color to the right of `left` px. */
function longestGap(picture: Picture, left = 0): number {
  let longest = 0;
  let gap = 0;
  for (let y = 0; y < picture.height; y++) {
    const first = picture.at(left, y);
    let plain = true;
    for (let x = left; plain && x < picture.width; x += 3) plain = picture.at(x, y) === first;
    gap = plain ? gap + 1 : 0;
    longest = Math.max(longest, gap);
  }
  return longest;
}
