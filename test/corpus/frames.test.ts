import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, hang, redirect, svg, svgAnswer } from './answers.ts';
import { testCorpus, type HardPage, type Seen } from './corpus.ts';
import { rowsOf } from './rows.ts';
import { whole } from './whole.ts';

const green = '#00aa00';
const inner = html(`<body style="background:${green}">`);
const frameStyle = '<style>iframe,object,embed{display:block;width:100%;height:100px;border:0}</style>';
/** Number of green blocks of 100 px, counted from the top. */
const greenBlocks = (count: number) => (seen: Seen) =>
  seen.expectColumn(
    300,
    Array.from({ length: count }, (_, index) => [index * 100 + 50, green] as const),
  );

const pages: readonly HardPage[] = [
  {
    name: 'frames of the same site, of another site, nested, of srcdoc, blob and data, and sandboxed',
    site: {
      '/': html(
        `<iframe src="/inner"></iframe><iframe id="other"></iframe><iframe src="/outer"></iframe>
         <iframe srcdoc="<body style='background:${green}'>"></iframe><iframe id="blob"></iframe>
         <iframe src="data:text/html,<body style='background:%2300aa00'>"></iframe>
         <iframe sandbox src="/inner"></iframe><iframe id="written"></iframe>
         <script>other.src = location.origin.replace('127.0.0.1', 'other.test') + '/inner';
           blob.src = URL.createObjectURL(new Blob(['<body style="background:${green}">'], { type: 'text/html' }));
           written.contentDocument.write('<body style="background:${green}">'); written.contentDocument.close();</script>`,
        frameStyle,
      ),
      '/inner': inner,
      '/outer': html('<iframe src="/inner"></iframe>', frameStyle),
    },
    options: { viewport: { height: 800 } },
    formats: ['png', 'pdf'],
    check: greenBlocks(8),
  },
  {
    name: 'a frame of another site that a script adds after load, with a redirect',
    isLong: true,
    site: {
      '/': html(
        `<script>addEventListener('load', () => { const f = document.createElement('iframe'); f.src = location.origin.replace('127.0.0.1', 'other.test') + '/go'; document.body.append(f) })</script>`,
        frameStyle,
      ),
      '/go': redirect('/inner'),
      '/inner': inner,
    },
    formats: ['png'],
    options: { waitUntil: 'networkidle' },
    check: greenBlocks(1),
  },
  {
    name: 'frames that must not be shown (X-Frame-Options, CSP), are files or do not respond leave the page unchanged',
    site: {
      '/': html(
        `<div style="height:100px;background:${green}"></div><iframe src="/denied"></iframe><iframe src="/file"></iframe><iframe src="/nothing"></iframe><iframe src="/csp"></iframe>`,
        frameStyle,
      ),
      '/denied': answer('text/html', inner, { headers: { 'x-frame-options': 'DENY' } }),
      '/csp': answer('text/html', inner, { headers: { 'content-security-policy': "frame-ancestors 'none'" } }),
      '/file': answer('application/zip', 'PK', { headers: { 'content-disposition': 'attachment' } }),
      '/nothing': (_, response) => void response.writeHead(204).end(),
    },
    formats: ['png'],
    check: (seen) => {
      greenBlocks(1)(seen);
      expect(seen.report).toMatchObject({ httpStatus: 200, softTimeouts: [] });
      expect(new URL(seen.report.finalUrl).pathname).toBe('/');
    },
  },
  {
    name: 'a sandboxed frame that tries to replace the page',
    site: {
      '/': html(`<body style="background:${green}"><iframe sandbox="allow-scripts" src="/inner"></iframe>`),
      '/inner': '<script>try { top.location = "/elsewhere" } catch {}</script>',
    },
    formats: ['png'],
    check: (seen) => {
      seen.expectColor(300, 300, green);
      expect(seen.asked('/elsewhere')).toBe(0);
    },
  },
  {
    name: 'a frame that never finishes loading, and one that reloads itself',
    site: {
      '/': html(
        `<body style="background:${green}"><iframe src="/next" height="50"></iframe><iframe src="/reloads" height="50"></iframe>`,
      ),
      '/next': '<script>setTimeout(() => (location = "/next?" + Math.random()), 30)</script>',
      '/reloads': '<script>setTimeout(() => location.reload(), 30)</script>',
    },
    formats: ['png'],
    options: { timeout: 2000, delay: 100 },
    check: (seen) => {
      seen.expectColor(300, 300, green);
      expect(seen.report.timings.navigateMs).toBeLessThan(6000);
    },
  },
  {
    name: 'an image that never arrives, in a frame of another site that scrolling loads, is named in the report',
    isLong: true,
    site: {
      '/': html(
        `${rowsOf(6)}<script>addEventListener('scroll', () => { const f = document.createElement('iframe'); f.src = location.origin.replace('127.0.0.1', 'other.test') + '/inner';
           document.body.append(f) }, { once: true })</script>`,
        frameStyle,
      ),
      '/inner': html('<img src="/never">'),
      '/never': hang,
    },
    options: { ...whole, imageTimeout: 300 },
    formats: ['png'],
    check: (seen) => {
      // The document itself has no image to wait for.
      expect(seen.report).toMatchObject({ images: { loaded: 0, failed: 0, pending: 0 }, softTimeouts: ['images'] });
    },
  },
  {
    name: 'object and embed: html, SVG, and the fallback of an object that does not exist',
    site: {
      '/': html(
        `<object data="/inner" type="text/html"></object><embed src="/inner" type="text/html"><object data="/green.svg" type="image/svg+xml"></object>
         <object data="/missing" style="height:auto"><div style="height:100px;background:${green}"></div></object>`,
        frameStyle,
      ),
      '/inner': inner,
      '/green.svg': answer('image/svg+xml', svg(green, 640)),
    },
    formats: ['png'],
    check: greenBlocks(4),
  },
  {
    name: 'shadow trees: open, closed, declarative, with slots, and of elements that are defined late',
    site: {
      '/': html(
        `<style>.box, x-late:not(:defined) { display: block; height: 100px; background: #cc0000 }</style>
         <div id="open"></div><div id="closed"></div>
         <div><template shadowrootmode="open"><style>:host { display: block; height: 100px; background: ${green} }</style></template></div>
         <div><template shadowrootmode="open"><slot></slot></template><img src="/green.svg" style="display:block;width:100%"></div>
         <x-late></x-late>
         <script>
           const fill = (root) => (root.innerHTML = '<style>p { margin: 0; height: 100px; background: ${green} }</style><p></p>');
           fill(open.attachShadow({ mode: 'open' })); fill(closed.attachShadow({ mode: 'closed' }));
           setTimeout(() => customElements.define('x-late', class extends HTMLElement {
             connectedCallback() { fill(this.attachShadow({ mode: 'open' })) } }), 200);
         </script>`,
      ),
      '/green.svg': svgAnswer(green),
    },
    options: { delay: 300 },
    formats: ['png'],
    check: (seen) => {
      greenBlocks(2)(seen);
      seen.expectColumn(50, [
        [250, green],
        [350, green],
      ]);
    },
  },
];

testCorpus(pages);
