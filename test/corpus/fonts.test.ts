import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, hang } from './answers.ts';
import { blockFont } from './block-font.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const font = (afterMs = 0) => answer('font/ttf', blockFont(), { afterMs });
const face = (address: string, display = 'auto') =>
  `<style>@font-face { font-family: block; src: url(${address}); font-display: ${display} }
    p { margin: 0; font: 100px/100px block, sans-serif; color: #00aa00 }</style>`;
const text = '<p>abc</p>';

/** Text of three letters in the block font is a block of 300 by 100. */
const drawnInBlocks: HardPage['check'] = (seen) => {
  seen.expectColumn(10, [
    [5, '#00aa00'],
    [95, '#00aa00'],
  ]);
  seen.expectColor(290, 50, '#00aa00');
  seen.expectColor(310, 50, '#ffffff');
  expect(seen.report.softTimeouts).toEqual([]);
};

/** The text is visible, in another font. */
const drawnOtherwise: HardPage['check'] = (seen) => {
  expect(seen.report.blank).toBe(false);
  expect(seen.picture.share('#00aa00', 10)).toBeLessThan(0.05);
};

const pages: readonly HardPage[] = [
  {
    name: 'a font that arrives after a second',
    site: { '/': html(text, face('/font.ttf')), '/font.ttf': font(1000) },
    check: drawnInBlocks,
  },
  {
    name: 'a font with an immediate fallback (swap)',
    isLong: true,
    site: { '/': html(text, face('/font.ttf', 'swap')), '/font.ttf': font(1000) },
    formats: ['png', 'pdf'],
    check: drawnInBlocks,
  },
  {
    name: 'a late optional font: the text is visible',
    isLong: true,
    site: { '/': html(text, face('/font.ttf', 'optional')), '/font.ttf': font(800) },
    formats: ['png'],
    check: drawnOtherwise,
  },
  {
    name: 'a font for text that a script adds after load',
    isLong: true,
    site: {
      '/': html(
        `<script>addEventListener('load', () => setTimeout(() => (document.body.innerHTML = '${text}'), 0))</script>`,
        face('/font.ttf'),
      ),
      '/font.ttf': font(800),
    },
    formats: ['png'],
    options: { delay: 100 },
    check: drawnInBlocks,
  },
  {
    name: 'a font that a script loads (FontFace) and adds when it has loaded',
    isLong: true,
    site: {
      '/': html(
        `${text}<script>new FontFace('block', 'url(/font.ttf)').load().then((face) => document.fonts.add(face))</script>`,
        face('/font.ttf').replace(/@font-face {.*?}/, ''),
      ),
      '/font.ttf': font(700),
    },
    formats: ['png', 'pdf'],
    check: drawnInBlocks,
  },
  {
    name: 'text that stays hidden until the fonts have loaded',
    site: {
      '/': html(
        `${text}<script>document.fonts.load('10px block').then(() => document.documentElement.classList.add('ready'))</script>`,
        `${face('/font.ttf')}<style>p { visibility: hidden } .ready p { visibility: visible }</style>`,
      ),
      '/font.ttf': font(700),
    },
    formats: ['png'],
    check: drawnInBlocks,
  },
  {
    name: 'a font in a frame of the same site, which arrives late',
    isLong: true,
    site: {
      '/': html(
        '<iframe style="display:block;border:0" width="600" height="300"></iframe><script>addEventListener("load", () => (document.querySelector("iframe").src = "/frame"))</script>',
      ),
      '/frame': html(text, face('/font.ttf')),
      '/font.ttf': font(1800),
    },
    formats: ['png'],
    // The frame has loaded by now, its font has not.
    options: { delay: 1000 },
    check: drawnInBlocks,
  },
  {
    name: 'fonts that a script adds when an image has loaded',
    isLong: true,
    site: {
      '/': html(
        `<img src="/late.svg" width="1" height="1" style="display:block" onload="document.body.innerHTML = '${text}'">`,
        face('/font.ttf'),
      ),
      '/late.svg': answer('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>', {
        afterMs: 300,
      }),
      '/font.ttf': font(500),
    },
    formats: ['png'],
    options: { waitUntil: 'domcontentloaded' },
    check: drawnInBlocks,
  },
  {
    name: 'a font that never arrives',
    isLong: true,
    site: { '/': html(text, face('/font.ttf')), '/font.ttf': hang },
    formats: ['png'],
    options: { waitUntil: 'domcontentloaded' },
    check: (seen) => {
      expect(seen.report.softTimeouts).toEqual(['fonts']);
      expect(seen.report.timings.settleMs).toBeLessThan(10_000);
      expect(seen.picture.share('#ffffff')).toBeLessThan(1);
      expect(seen.picture.share('#00aa00', 10)).toBeGreaterThan(0.001);
    },
  },
  {
    name: 'a font that does not exist (404), and a file that is not a font',
    site: {
      '/': html(
        '<p>abc</p><p style="font-family: other, sans-serif">abc</p>',
        `${face('/none.ttf')}<style>@font-face { font-family: other; src: url(/broken.ttf) }</style>`,
      ),
      '/broken.ttf': answer('font/ttf', 'no font'),
    },
    formats: ['png'],
    check: async (seen) => {
      await drawnOtherwise(seen);
      expect(seen.report.softTimeouts).toEqual([]);
    },
  },
];

testCorpus(pages);
