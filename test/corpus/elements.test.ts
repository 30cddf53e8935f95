import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';

/** What the page adds after it has loaded, `delayMs` later. */
const later = (delayMs: number, script: string) => `<script>setTimeout(() => { ${script} }, ${delayMs})</script>`;
const green = `<div id="late" style="position:fixed;inset:0;background:#00aa00">Your  Report</div>`;
const waits = { state: 'visible', timeout: 10_000, required: false } as const;

const isGreen: NonNullable<HardPage['check']> = (seen) => {
  seen.expectColour(200, 200, '#00aa00');
  expect(seen.report.softTimeouts).toEqual([]);
};

const waiting: readonly HardPage[] = [
  {
    name: 'waitFor an element that becomes visible long after load, among those that never do',
    site: {
      '/': html(`<i class="late" hidden>no</i>${later(3000, `document.body.innerHTML += \`${green}\``)}`),
    },
    options: { waitFor: { ...waits, selector: '.late, div:has(+ script), #late' } },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'waitFor a text whose case a style changes, on a page that moves on meanwhile',
    site: {
      '/': html(later(400, 'location.href = "/next"')),
      '/next': html(
        `<style>#late { text-transform: uppercase }</style>${later(2500, `document.body.innerHTML += \`${green}\``)}`,
      ),
    },
    options: { waitFor: { ...waits, text: 'your report', required: true } },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'waitFor the end of a loader, on a page that has made its own of what looks for elements',
    site: {
      '/': html(
        `<style>html { background: #00aa00 } #loader { position: fixed; inset: 0; background: #ff0000 }</style>
         <div id="loader">Loading</div>
         <script>document.querySelector = document.querySelectorAll = () => []; Element.prototype.checkVisibility = () => false; window.Promise = class {}</script>
         ${later(3000, 'loader.remove()')}`,
      ),
    },
    options: { waitFor: { ...waits, selector: '#loader', state: 'hidden' } },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'waitFor what does not come',
    site: { '/': html(`<p hidden>text`) },
    options: { waitFor: { ...waits, selector: 'p', timeout: 300 } },
    formats: ['png'],
    check: (seen) => expect(seen.report.softTimeouts).toEqual(['waitFor']),
  },
  {
    name: 'waitFor what does not come, and is required',
    site: { '/': html(`<p hidden>text`) },
    options: { waitFor: { ...waits, text: 'text', timeout: 0, required: true } },
    formats: ['png'],
    fails: { code: 'CAPTURE_FAILED', message: /waitFor.text "text" was not visible within 0 ms/ },
  },
  {
    name: 'waitFor a selector that the browser does not know',
    site: { '/': html(`<p>text`) },
    options: { waitFor: { ...waits, selector: 'p:contains("text")' } },
    formats: ['png'],
    fails: { code: 'CAPTURE_FAILED', message: /waitFor.selector "p:contains\(\\"text\\"\)" is not a selector/ },
  },
];

testCorpus([...waiting]);
