import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { html, TestEngine, TestSite, type ShotOptions } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;
let silent: Server;

beforeAll(async () => {
  engine = await TestEngine.start({ slots: 4 });
  site = await TestSite.start({
    '/': html('<p>all is well</p>'),
    '/white': html(''),
    '/never': () => undefined,
    '/busy': html('<script>for (;;);</script>'),
    '/rootless': html('<script>onload = () => document.documentElement.remove()</script>'),
    '/tall': html('<div style="height: 200000px">'),
  });
  silent = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(silent, 'listening');
});

afterAll(async () => {
  silent.close();
  await engine.close();
  await site.close();
});

const shut = () => `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;

test.concurrent.each<[cause: string, what: string, code: string, url: () => string, options: ShotOptions]>([
  ['client', 'failOn.status', 'CAPTURE_FAILED', () => site.url('/missing'), { failOn: { status: ['4xx'] } }],
  ['client', 'failOn.blank', 'CAPTURE_FAILED', () => site.url('/white'), { failOn: { blank: true } }],
  [
    'client',
    'a text that is required and does not come',
    'CAPTURE_FAILED',
    () => site.url('/'),
    { waitFor: { text: 'Sold out', timeout: 0, required: true, state: 'visible' } },
  ],
  ['client', 'a selector that matches nothing', 'CAPTURE_FAILED', () => site.url('/'), { selector: '#missing' }],
  ['client', 'a click that finds nothing', 'CAPTURE_FAILED', () => site.url('/'), { click: ['#missing'] }],
  ['client', 'a step that finds nothing', 'CAPTURE_FAILED', () => site.url('/'), { steps: [{ hover: '#missing' }] }],
  [
    'client',
    'a clip beyond the page',
    'CAPTURE_FAILED',
    () => site.url('/'),
    { clip: { x: 0, y: 0, width: 9000, height: 9000 } },
  ],
  [
    'client',
    'pages that the document does not have',
    'CAPTURE_FAILED',
    () => site.url('/'),
    { format: 'pdf', pdf: { pageRanges: '7-8' } },
  ],
  [
    'client',
    'margins that leave no room',
    'CAPTURE_FAILED',
    () => site.url('/'),
    { format: 'pdf', pdf: { margin: { top: 200, right: 10, bottom: 200, left: 10 } } },
  ],
  ['page', 'a name that does not resolve', 'NAVIGATION_FAILED', () => 'http://no.such.name.invalid/', {}],
  ['page', 'a server that hangs up', 'NAVIGATION_FAILED', shut, {}],
  ['page', 'a server that does not answer', 'CAPTURE_TIMEOUT', () => site.url('/never'), { timeout: 1000 }],
  ['page', 'a page that is busy for ever', 'CAPTURE_TIMEOUT', () => site.url('/busy'), { timeout: 1000 }],
  ['page', 'a page that removes its root element', 'CAPTURE_FAILED', () => site.url('/rootless'), { isFullPage: true }],
  ['page', 'a page that is too tall', 'PAGE_TOO_LARGE', () => site.url('/tall'), { isFullPage: true, format: 'webp' }],
])('%s: %s', async (causedBy, _, code, url, options) => {
  await expect(engine.render(url(), options)).rejects.toMatchObject({ code, causedBy });
});
