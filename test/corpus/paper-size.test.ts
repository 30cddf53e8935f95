import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';

/** A quarter of the default memory of a page, enough to print tables of 12,500 cells. */
const config = { captureLimits: { pageBytes: 192 * 1024 ** 2 } };
const maxCells = 12_500;
const row = '<tr><th>x<td>x<td>x<td>x<td>x';
const table = (cells: number, style = '') => `<table style="${style}">${row.repeat(cells / 5)}</table>`;

const pages: readonly HardPage[] = [
  {
    name: 'tables that exceed the memory of the page are refused before printing',
    site: { '/': html(table(maxCells / 2) + table(maxCells / 2 + 5)) },
    formats: ['pdf'],
    fails: { code: 'PAGE_TOO_LARGE', message: /more than 12500 cells.*Split the document/ },
  },
  {
    name: 'cells without a box and other elements do not count',
    site: { '/': html(table(maxCells + 5, 'display:none') + '<p>text</p>'.repeat(20)) },
    formats: ['pdf'],
    check: ({ pdf }) => expect(pdf?.pages).toHaveLength(1),
  },
  {
    name: 'tables that fit into the memory of the page are printed',
    site: { '/': html(table(1000)) },
    formats: ['pdf'],
    check: ({ pdf }) => expect(pdf?.text.match(/x/g)).toHaveLength(1000),
  },
];

testCorpus(pages, config);
