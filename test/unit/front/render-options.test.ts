import { expect, test } from 'vitest';
import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { renderOptions } from '../../../services/front/capture/render-options.ts';
import { defaultOptions } from '../../harness/records.ts';

const request = { ...defaultOptions, url: 'https://example.com/' } as CaptureRequest;

test('an option that is asked for is rendered with, and one that is not is not even named', () => {
  const bare = renderOptions(request);
  expect(Object.keys(bare).filter((name) => bare[name as keyof typeof bare] === undefined)).toEqual([]);
  expect('reducedMotion' in bare).toBe(false);
  expect(renderOptions({ ...request, reducedMotion: true, hide: ['a'] })).toEqual({
    ...bare,
    reducedMotion: true,
    hide: ['a'],
  });
});

test('what is extracted is the same in any order', () => {
  const { extract } = renderOptions({ ...request, extract: ['text', 'links'] });
  expect(extract).toEqual(renderOptions({ ...request, extract: ['links', 'text'] }).extract);
});

test('fixed elements are named where the request asks for what is not the default of its source', () => {
  const { url: _, ...rest } = request;
  const fixedOf = (source: object, fixed: 'repeat' | 'once') =>
    renderOptions({ ...rest, ...source, pdf: { fixed } } as CaptureRequest).pdf.fixed;
  const [url, html] = [{ url: 'https://example.com/' }, { html: '<p>x' }];
  expect([fixedOf(url, 'once'), fixedOf(url, 'repeat')]).toEqual([undefined, 'repeat']);
  expect([fixedOf(html, 'repeat'), fixedOf(html, 'once')]).toEqual([undefined, 'once']);
});
