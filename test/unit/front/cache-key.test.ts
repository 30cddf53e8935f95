import { expect, test } from 'vitest';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { cacheName } from '../../../services/front/capture/cache-key.ts';
import { pdfOptions } from '../../../services/front/capture/pdf-rules.ts';
import { defaultOptions } from '../../harness/records.ts';

const base: RenderOptions = { ...defaultOptions, format: 'jpeg' };

const url = (text: string) => ({ kind: 'url', url: text }) as const;
const html = (text: string) => ({ kind: 'html', html: text }) as const;
const page = url('https://example.com/');
const name = (changes: Partial<RenderOptions> = {}) => cacheName(page, { ...base, ...changes }, 'auto');

test('equal captures have equal cache keys, independent of the order of their fields', () => {
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
  { block: { ...base.block, chats: true } },
  { block: { ...base.block, newsletters: true } },
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
  { ignoreTlsErrors: true },
  { click: ['a'] },
  { steps: [{ click: 'a' }] },
  { steps: [{ type: { selector: 'a' } }] },
  { failOn: { blank: true } },
  { extract: ['text'] },
  { extractFields: { title: 'h1' } },
  { freeze: { time: '2026-01-01T00:00:00.000Z', random: 1 } },
  { waitFor: { selector: 'a', state: 'visible', timeout: 10_000, required: false } },
  { locale: 'de-DE' },
  { timezone: 'Asia/Tokyo' },
  { geolocation: { latitude: 0, longitude: 0, accuracy: 10 } },
  { userAgent: 'Mozilla/5.0' },
  { isMobile: true },
  { screen: { width: 393, height: 852 } },
  { headersFor: ['https://cdn.example.com'] },
  { session: '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77' },
])('the cache key depends on %j', (changes) => {
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
  { paper: { width: 210, height: 297 } },
  { preferCssPageSize: true },
  { pageRanges: '1' },
  { headerTemplate: 'a' },
  { footerTemplate: 'a' },
  { tagged: false },
  { outline: true },
  { fixed: 'repeat' },
  { metadata: { title: 'a' } },
  { attachments: [{ name: 'a', content: 'YQ==', mimeType: 'a/b', relationship: 'Data' }] },
  { attachments: [{ name: 'a', content: 'YQ==', mimeType: 'a/b', relationship: 'Source' }] },
])('with the format pdf, the cache key depends on %j', (changes) => {
  expect(pdf(changes)).not.toBe(pdf({}));
});

test('the cache keys of basic requests never change, so that existing entries are found', () => {
  expect(name({ format: 'png' })).toBe('e6b0f8211d63e120112761a0e8875ffdbfe9700c53736e07fd66a5c6fd43b41a');
  expect(name()).toBe('6160a3bb5a1fa51976298e17182b7217d6f336f1c20e3b60b4f40570ac2fc86a');
  const request = { landscape: false, margin: 10, printBackground: true, scale: 1 } as const;
  for (const set of [undefined, request, { ...request, paper: 'A4' as const }]) {
    const names = [false, true].map((isFullPage) => name({ format: 'pdf', isFullPage, pdf: pdfOptions(set) }));
    expect(names).toEqual([
      '94d3e117e217cb3f661f281572caefe7a3e3d00c93f2e9e77fefb2b03b588e84',
      '656921d617f9538a0979f02edaeebcce2b721de29a5995984d08c65333ce14f1',
    ]);
  }
});

test('the cache key does not depend on options that the format does not use', () => {
  expect(name({ format: 'png', quality: 1 })).toBe(name({ format: 'png' }));
  expect(name({ format: 'pdf', quality: 1 })).toBe(name({ format: 'pdf' }));
  expect(name({ pdf: { ...base.pdf, paper: 'A0' } })).toBe(name());
  expect(pdf({ paper: 'A0', landscape: true }, true)).toBe(pdf({}, true));
  expect(pdf({ scale: 2 }, true)).not.toBe(pdf({}, true));
});

test('the cache key contains the names of secrets and their keyed hash', () => {
  const options = { ...base, secrets: { headers: ['x-a'] } };
  const of = (secretsHash?: string) => cacheName(page, options, 'auto', { secretsHash });
  expect(new Set([of('a'), of('b'), of(), name()]).size).toBe(4);
  expect(of('a')).toBe(of('a'));
});

test('the cache key contains the parsed address, with its fragment', () => {
  const of = (text: string) => cacheName(url(text), base, 'auto');
  expect(of('HTTPS://EXAMPLE.com:443')).toBe(of('https://example.com/'));
  expect(of('https://example.com/a/../b')).toBe(of('https://example.com/b'));
  const others = ['http://example.com/', 'https://example.com/?', 'https://example.com/#a', 'https://u@example.com/'];
  expect(new Set(['https://example.com/', ...others].map(of)).size).toBe(5);
});

test('HTML, addresses and regions have different cache keys', () => {
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

test('the cache key depends on whether a capture is kept, and on its refresh interval', () => {
  const kept = [undefined, 0, 3_600_000].map((refreshIntervalMs) =>
    cacheName(page, base, 'auto', refreshIntervalMs === undefined ? {} : { persistence: { refreshIntervalMs } }),
  );
  expect(new Set(kept).size).toBe(3);
  expect(kept[0]).toBe(name());
});
