import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';

const pages: readonly HardPage[] = [
  {
    name: 'a page of 3,000 px is there from its first row to its last',
    site: { '/': html(rowsOf(30)) },
    options: { isFullPage: true },
    check: (seen) => {
      seen.expectSize(640, 3000);
      seen.expectColumn(320, [row(0), row(1), row(14), row(29)]);
    },
  },
  {
    name: 'a sticky header stands once, at its place',
    site: {
      '/': html(`<div style="position:sticky;top:0;height:100px;background:#ff0000"></div>${rowsOf(29)}`),
    },
    options: { isFullPage: true },
    check: (seen) => {
      seen.expectSize(640, 3000);
      seen.expectColumn(320, [[50, '#ff0000'], row(0, 100), row(10, 100), row(28, 100)]);
    },
  },
];

testCorpus(pages);
