import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, pngOf } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';
import { whole } from './whole.ts';

const [red, green, blue] = ['#ff0000', '#00aa00', '#0000ff'] as const;
/** A layout with a fixed width is scaled down on narrower paper. */
const formats = ['png'] as const;

const tenRows: NonNullable<HardPage['check']> = (seen) => {
  seen.expectSize(320, 1000);
  seen.expectColumn(160, [row(0), row(1), row(5), row(9)]);
  expect(seen.report).toMatchObject({ truncated: false, blank: false, softTimeouts: [] });
};

const pages: readonly HardPage[] = [
  {
    name: 'ten rows',
    site: { '/': html(rowsOf(10)) },
    options: whole,
    formats: ['png', 'jpeg', 'webp', 'pdf'],
    check: tenRows,
  },
  {
    name: 'ten rows at twice the scale',
    site: { '/': html(rowsOf(10)) },
    options: { ...whole, viewport: { ...whole.viewport, deviceScaleFactor: 2 } },
    // A PDF has no pixels.
    formats,
    check: (seen) => {
      seen.expectSize(640, 2000);
      seen.expectColumn(320, [
        [100, row(0)[1]],
        [1900, row(9)[1]],
      ]);
    },
  },
  {
    name: 'content wider than the viewport is cut off at its width, and nothing moves',
    site: { '/': html(`<div style="width:900px;height:50px;background:${red}"></div>${rowsOf(5)}`) },
    options: whole,
    formats,
    check: (seen) => {
      seen.expectSize(320, 550);
      seen.expectColumn(5, [[25, red], row(0, 50), row(4, 50)]);
      seen.expectColumn(315, [[25, red], row(0, 50), row(4, 50)]);
    },
  },
  {
    name: 'overflow to the left and the top of the page is cut off',
    site: {
      '/': html(
        `<div style="margin:-50px 0 0 -50px;width:100px;height:100px;background:${red}"></div><div style="width:150vw;margin-left:-25vw;height:100px;background:${green}"></div>${rowsOf(5)}`,
      ),
    },
    options: whole,
    formats,
    check: (seen) => {
      seen.expectSize(320, 650);
      seen.expectColumn(10, [[25, red], [100, green], row(0, 150), row(4, 150)]);
    },
  },
  {
    name: 'a document from right to left with overflow to the left starts at its right',
    site: {
      '/': html(
        `<div style="width:600px;height:50px;background:linear-gradient(to left, ${red} 200px, ${blue} 0)"></div>${rowsOf(5)}`,
      ).replace('<html>', '<html dir="rtl">'),
    },
    options: whole,
    formats,
    check: (seen) => {
      seen.expectSize(320, 550);
      seen.expectColor(310, 25, red);
      seen.expectColor(130, 25, red);
      seen.expectColor(100, 25, blue);
      seen.expectColumn(300, [row(0, 50), row(4, 50)]);
    },
  },
  {
    name: 'a document with vertical text from right to left starts at its right',
    site: {
      '/': html(
        `<div style="width:200px;height:100px;background:${red}"></div><div style="width:400px;height:100px;background:${blue}"></div>`,
      ).replace('<html>', '<html style="writing-mode:vertical-rl">'),
    },
    options: whole,
    formats,
    check: (seen) => {
      seen.expectSize(320, 240);
      seen.expectColor(310, 50, red);
      seen.expectColor(130, 50, red);
      seen.expectColor(100, 50, blue);
    },
  },
  {
    name: 'a body with margins, and a margin at the end',
    site: {
      '/': `<!doctype html><style>body { margin: 30px; background: ${green} }</style>${rowsOf(5)}<p style="margin:0 0 70px;height:1px"></p>`,
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 30 + 500 + 1 + 70);
      seen.expectColumn(5, [
        [15, green],
        [300, green],
        [590, green],
      ]);
      seen.expectColumn(160, [[15, green], row(0, 30), row(4, 30), [580, green]]);
    },
  },
  {
    name: 'content placed below the end of the normal flow belongs to the page',
    site: {
      '/': html(
        `${rowsOf(3)}<div style="position:absolute;top:700px;left:0;width:100%;height:100px;background:${red}"></div>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 800);
      seen.expectColumn(160, [row(0), row(2), [750, red]]);
    },
  },
  {
    name: 'a zoomed root',
    site: { '/': html(`<style>html { zoom: 1.5 }</style>${rowsOf(4)}`) },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 600);
      seen.expectColumn(160, [
        [75, row(0)[1]],
        [525, row(3)[1]],
      ]);
    },
  },
  {
    name: 'a document in quirks mode',
    site: { '/': `<style>body{margin:0}</style>${rowsOf(10)}` },
    options: whole,
    check: tenRows,
  },
  {
    name: 'an XHTML document',
    site: {
      '/': answer(
        'application/xhtml+xml',
        `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>Test</title><style>body{margin:0}</style></head><body>${rowsOf(10)}</body></html>`,
      ),
    },
    options: whole,
    check: tenRows,
  },
  {
    name: 'a frameset is as tall as the viewport',
    site: {
      '/': `<html><frameset cols="50%,50%" border="0"><frame src="/left"><frame src="/right"></frameset></html>`,
      '/left': html(`<body style="background:${red}">`),
      '/right': html(`<body style="background:${blue}">`),
    },
    options: whole,
    formats,
    check: (seen) => {
      seen.expectSize(320, 240);
      seen.expectColor(80, 120, red);
      seen.expectColor(240, 120, blue);
    },
  },
  {
    name: 'an SVG document taller than the viewport',
    site: {
      '/': answer(
        'image/svg+xml',
        `<svg xmlns="http://www.w3.org/2000/svg" width="320" height="700"><rect width="320" height="350" fill="${red}"/><rect y="350" width="320" height="350" fill="${blue}"/></svg>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectColor(160, 100, red);
      seen.expectColor(160, 690, blue);
    },
  },
  {
    name: 'an image as the page',
    site: { '/': await pngOf(green, { width: 320, height: 200 }) },
    options: whole,
    formats,
    check: (seen) => {
      seen.expectSize(320, 240);
      seen.expectColor(160, 120, green);
    },
  },
  {
    name: 'plain text as the page, to its last line',
    site: { '/': answer('text/plain', Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n')) },
    options: whole,
    check: (seen) => {
      expect(seen.picture.height).toBeGreaterThan(1000);
      expect(seen.picture.height).toBeLessThan(2500);
      const end = seen.picture.height - 60;
      const drawn = Array.from({ length: 50 }, (_, y) => seen.picture.colorsInRow(end + y)).filter((n) => n > 1);
      expect(drawn.length).toBeGreaterThan(3);
      expect(seen.report.blank).toBe(false);
    },
  },
  {
    name: 'an empty page is reported as blank',
    site: { '/': html('<div style="height:1000px"></div>') },
    options: whole,
    formats,
    check: (seen) => {
      seen.expectSize(320, 1000);
      expect(seen.report.blank).toBe(true);
    },
  },
];

testCorpus(pages);
