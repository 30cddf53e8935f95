import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { describe, expect, test } from 'vitest';
import { mayReusePage } from '../../../services/renderer/page/reuse.ts';
import { defaultOptions } from '../../harness/records.ts';

const mayReuse = (options: Partial<RenderOptions>) => mayReusePage({ options: { ...defaultOptions, ...options } });

describe('mayReusePage', () => {
  test('is true for options whose effects end with the session of the capture', () => {
    expect(mayReuse({})).toBe(true);
    const clip = { x: 0, y: 0, width: 1, height: 1 };
    expect(
      mayReuse({
        clip,
        colorScheme: 'dark',
        delay: 1,
        elementPadding: 1,
        extract: ['text'],
        extractFields: { title: 'h1' },
        failOn: { blank: true },
        format: 'pdf',
        hide: ['a'],
        isFullPage: true,
        media: 'print',
        omitBackground: true,
        reducedMotion: true,
        remove: ['a'],
        resize: { width: 1, fit: 'inside', enlarge: false },
        selector: 'a',
        waitFor: { selector: 'a', state: 'visible', timeout: 1, required: false },
      }),
    ).toBe(true);
  });

  test.each<Partial<RenderOptions>>([
    { antiBot: true },
    { block: { ...defaultOptions.block, media: true } },
    { failOn: { consoleErrors: true } },
    { locale: 'de-DE' },
    { userAgent: 'x' },
    { ignoreTlsErrors: true },
    { click: ['a'] },
    { steps: [{ click: 'a' }] },
    { javaScript: false },
    { freeze: { time: '2026-01-01T00:00:00.000Z', random: 1 } },
    { session: '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77' },
    { secrets: { css: true } },
    { isMobile: true },
    { screen: { width: 1, height: 1 } },
    { diagnostics: true },
  ])('is false for %j', (options) => {
    expect(mayReuse(options)).toBe(false);
  });

  test('is false with secrets, and ignores options that are not set', () => {
    expect(mayReusePage({ options: defaultOptions, secrets: {} })).toBe(false);
    expect(mayReusePage({ options: { ...defaultOptions, locale: undefined } as unknown as RenderOptions })).toBe(true);
  });
});
