import { expect, test } from 'vitest';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { mayReusePage } from '../../../services/renderer/page/reuse.ts';
import { defaultOptions } from '../../harness/records.ts';

const mayReuse = (options: Partial<RenderOptions>) => mayReusePage({ options: { ...defaultOptions, ...options } });
const { block } = defaultOptions;

test.each<Partial<RenderOptions>>([
  {},
  { hide: ['.a'], remove: ['.b'], extract: ['text'], resize: { width: 5, fit: 'inside', enlarge: false } },
  { format: 'pdf', media: 'screen', failOn: { status: ['4xx'] } },
])('a page is reused before and after a capture with %j', (options) => {
  expect(mayReuse(options)).toBe(true);
});

test.each<Partial<RenderOptions>>([
  { antiBot: true },
  { block: { ...block, ads: true } },
  { failOn: { consoleErrors: true } },
  { click: ['a'] },
  { javaScript: false },
  { freeze: { time: '2026-01-01T00:00:00.000Z', random: 1 } },
  { locale: 'de-DE' },
  { diagnostics: true },
  // From a device.
  { isMobile: true },
  { secrets: { css: true } },
])('no page is reused before or after a capture with %j', (options) => {
  expect(mayReuse(options)).toBe(false);
});

test('no page is reused with secrets', () => {
  expect(mayReusePage({ options: defaultOptions, secrets: { css: 'a' } })).toBe(false);
});
