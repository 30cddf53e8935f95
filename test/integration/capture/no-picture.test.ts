// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { html, sharedEngine, type ShotOptions, type TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;

beforeAll(async () => {
  engine = await sharedEngine();
  site = await TestSite.start({
    '/app': html(
      `<h1>Title</h1><p class="ad">ad</p><script>
         fetch('/items').then((answer) => answer.json()).then((items) =>
           document.body.append(...items.map((item) => Object.assign(document.createElement('p'), { className: 'item', textContent: item }))));
       </script>`,
    ),
    '/items': (_, response) =>
      void setTimeout(() => response.setHeader('content-type', 'application/json').end('["one","two"]'), 200),
    '/image': html(
      `<p>text</p><script>addEventListener('load', () => setTimeout(() => { document.body.append(Object.assign(new Image(10, 10), { src: '/hanging' })) }))</script>`,
    ),
    '/hanging': () => undefined,
    '/endless': html(
      `<div style="height: 3000px"></div><i></i><script>
         new IntersectionObserver(([entry]) => { if (entry.isIntersecting) document.querySelector('i').textContent = 'seen' }).observe(document.querySelector('i'));
       </script>`,
    ),
  });
});

afterAll(() => site.close());

async function read(path: string, options: ShotOptions) {
  const rendering = await engine.render(site.url(path), { format: 'none', ...options });
  return { ...rendering, parts: JSON.parse(rendering.bytes.toString()) as Extracted };
}

test('the file of a capture without a picture has the parts, after scripts have added to the page', async () => {
  const rendering = await read('/app', {
    extract: ['text', 'html'],
    extractFields: { items: { selector: '.item', list: true } },
    hide: ['.ad'],
  });
  expect(rendering).toMatchObject({ mimeType: 'application/json', width: 640, height: 480 });
  expect(rendering).not.toHaveProperty('extracted');
  expect(rendering.report).toMatchObject({ title: 'Test', httpStatus: 200, blank: false, softTimeouts: [] });
  const { text, html: whole, fields } = rendering.parts;
  expect([text, fields]).toEqual(['Title\n\none\n\ntwo', { items: ['one', 'two'] }]);
  expect(whole).toContain('<p class="item">one</p>');
});

test('a capture without a picture does not wait for images', async () => {
  const { report, parts } = await read('/image', { extract: ['text'], imageTimeout: 15_000 });
  expect(parts).toEqual({ text: 'text' });
  expect(report).toMatchObject({ images: { pending: 1 }, softTimeouts: [] });
  expect(report.timings.settleMs).toBeLessThan(10_000);
});

test('with isFullPage, the page is scrolled through before it is read', async () => {
  const visible = await read('/endless', { extract: ['text'] });
  expect(visible.parts.text).toBe('');
  const whole = await read('/endless', { extract: ['text'], isFullPage: true });
  expect(whole.parts.text).toBe('seen');
});
