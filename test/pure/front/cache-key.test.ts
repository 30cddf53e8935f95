import { expect, test } from 'vitest';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { cacheName } from '../../../services/front/capture/cache-key.ts';
import { defaultOptions } from '../../harness/records.ts';

const base: RenderOptions = { ...defaultOptions, format: 'jpeg' };

const url = (text: string) => ({ kind: 'url', url: text }) as const;
const html = (text: string) => ({ kind: 'html', html: text }) as const;
const page = url('https://example.com/');
const name = (changes: Partial<RenderOptions> = {}) => cacheName(page, { ...base, ...changes }, 'auto');

test('equal captures have equal names, whatever the order of their fields', () => {
  const { format, viewport, ...rest } = base;
  const turned = { ...rest, viewport: { deviceScaleFactor: 1, height: 720, width: viewport.width }, format };
  expect(cacheName(page, turned, 'auto')).toBe(name());
  expect(name()).toMatch(/^[0-9a-f]{64}$/);
});

test.each<Partial<RenderOptions>>([
  { format: 'png' },
  { format: 'webp' },
  { format: 'pdf' },
  { viewport: { width: 1281, height: 720, deviceScaleFactor: 1 } },
  { viewport: { width: 1280, height: 721, deviceScaleFactor: 1 } },
  { viewport: { width: 1280, height: 720, deviceScaleFactor: 2 } },
  { isFullPage: true },
  { quality: 81 },
  { colorScheme: 'dark' },
  { colorScheme: 'no-preference' },
  { timeout: 30_001 },
  { waitUntil: 'commit' },
  { imageTimeout: 3001 },
  { delay: 1 },
  { antiBot: true },
  { block: { ...base.block, ads: true } },
  { block: { ...base.block, trackers: true } },
  { block: { ...base.block, media: true } },
  { block: { ...base.block, cookieBanners: true } },
  { media: 'print' },
  { reducedMotion: true },
  { selector: 'a' },
  { elementPadding: 1 },
  { clip: { x: 0, y: 0, width: 1, height: 1 } },
  { hide: ['a'] },
  { remove: ['a'] },
  { omitBackground: true },
  { resize: { width: 1, fit: 'inside', enlarge: false } },
  { javaScript: false },
  { click: ['a'] },
  { failOn: { blank: true } },
  { extract: ['text'] },
  { waitFor: { selector: 'a', state: 'visible', timeout: 10_000, required: false } },
  { locale: 'de-DE' },
  { timezone: 'Asia/Tokyo' },
  { geolocation: { latitude: 0, longitude: 0, accuracy: 10 } },
  { userAgent: 'Mozilla/5.0' },
  { isMobile: true },
  { screen: { width: 393, height: 852 } },
])('%j makes another name', (changes) => {
  expect(name(changes)).not.toBe(name());
});

const pdf = (changes: Partial<RenderOptions['pdf']>, isFullPage = false) =>
  name({ format: 'pdf', isFullPage, pdf: { ...base.pdf, ...changes } });

test.each<Partial<RenderOptions['pdf']>>([
  { paper: 'A3' },
  { landscape: true },
  { margin: { ...base.pdf.margin, left: 11 } },
  { printBackground: false },
  { scale: 1.5 },
])('with format pdf, %j makes another name', (changes) => {
  expect(pdf(changes)).not.toBe(pdf({}));
});

test('options that the format has no use for make no other name', () => {
  expect(name({ format: 'png', quality: 1 })).toBe(name({ format: 'png' }));
  expect(name({ format: 'pdf', quality: 1 })).toBe(name({ format: 'pdf' }));
  expect(name({ pdf: { ...base.pdf, paper: 'A0' } })).toBe(name());
  expect(pdf({ paper: 'A0', landscape: true }, true)).toBe(pdf({}, true));
  expect(pdf({ scale: 2 }, true)).not.toBe(pdf({}, true));
});

test('addresses meet as they are parsed, the fragment included', () => {
  const of = (text: string) => cacheName(url(text), base, 'auto');
  expect(of('HTTPS://EXAMPLE.com:443')).toBe(of('https://example.com/'));
  expect(of('https://example.com/a/../b')).toBe(of('https://example.com/b'));
  const others = ['http://example.com/', 'https://example.com/?', 'https://example.com/#a', 'https://u@example.com/'];
  expect(new Set(['https://example.com/', ...others].map(of)).size).toBe(5);
});

test('html, addresses and regions make names of their own', () => {
  const names = [
    name(),
    cacheName(page, base, 'us-east'),
    cacheName(page, base, 'eu-west'),
    cacheName(html('https://example.com/'), base, 'auto'),
    cacheName(html('<p>'), base, 'auto'),
    cacheName(html('<p> '), base, 'auto'),
  ];
  expect(new Set(names).size).toBe(names.length);
});

test('a capture that is kept is not equal to one that is not, or that is refreshed at another interval', () => {
  const kept = [undefined, 0, 3_600_000].map((refreshIntervalMs) =>
    cacheName(page, base, 'auto', refreshIntervalMs === undefined ? undefined : { refreshIntervalMs }),
  );
  expect(new Set(kept).size).toBe(3);
  expect(kept[0]).toBe(name());
});
