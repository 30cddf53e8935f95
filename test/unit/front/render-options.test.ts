import { expect, test } from 'vitest';
import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { renderOptions } from '../../../services/front/capture/render-options.ts';
import { defaultOptions } from '../../harness/records.ts';

const request = { ...defaultOptions, url: 'https://example.com/' } as CaptureRequest;

test('options of the request are included, and absent options are omitted', () => {
  const bare = renderOptions(request);
  expect(Object.keys(bare).filter((name) => bare[name as keyof typeof bare] === undefined)).toEqual([]);
  expect('reducedMotion' in bare).toBe(false);
  expect(renderOptions({ ...request, reducedMotion: true, hide: ['a'] })).toEqual({
    ...bare,
    reducedMotion: true,
    hide: ['a'],
  });
});

test('steps are included without the values that they enter', () => {
  const steps = [
    { type: { selector: '#a', text: 'hunter2' } },
    { select: { selector: '#b', value: 'hunter2' } },
    { press: { key: 'Enter' } },
  ];
  const { secrets, ...options } = renderOptions({ ...request, steps });
  expect(options.steps).toEqual([
    { type: { selector: '#a' } },
    { select: { selector: '#b' } },
    { press: { key: 'Enter' } },
  ]);
  expect(secrets).toEqual({ stepValues: true });
});

test('the media type is included only if it differs from that of the format', () => {
  const mediaOf = (changes: Partial<CaptureRequest>) => renderOptions({ ...request, ...changes }).media;
  expect([mediaOf({ media: 'screen' }), mediaOf({ media: 'print' })]).toEqual([undefined, 'print']);
  const pdf = { format: 'pdf' } as const;
  expect([mediaOf({ ...pdf, media: 'print' }), mediaOf({ ...pdf, media: 'screen' })]).toEqual([undefined, 'screen']);
});

test('the values of extract are sorted', () => {
  const { extract } = renderOptions({ ...request, extract: ['text', 'links'] });
  expect(extract).toEqual(renderOptions({ ...request, extract: ['links', 'text'] }).extract);
});

test('pdf.fixed is included only if it differs from the default of the source', () => {
  const { url: _, ...rest } = request;
  const fixedOf = (source: object, fixed: 'repeat' | 'once') =>
    renderOptions({ ...rest, ...source, pdf: { fixed } } as CaptureRequest).pdf.fixed;
  const [url, html] = [{ url: 'https://example.com/' }, { html: '<p>x' }];
  expect([fixedOf(url, 'once'), fixedOf(url, 'repeat')]).toEqual([undefined, 'repeat']);
  expect([fixedOf(html, 'repeat'), fixedOf(html, 'once')]).toEqual([undefined, 'once']);
});
