import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';
import { whole } from './whole.ts';

const color = '#00aa00';
const more = `'<div style="height:600px;background:${color}"></div>'`;

/** Checks that the picture is limited in height, is reported as truncated, and is filled with the loaded content. */
const bounded: NonNullable<HardPage['check']> = (seen) => {
  expect(seen.report).toMatchObject({ truncated: true });
  expect(seen.picture.width).toBe(320);
  expect(seen.picture.height).toBeGreaterThan(1000);
  expect(seen.picture.height).toBeLessThan(25_000);
  // A PDF has space left for content that arrives during printing.
  seen.expectColumn(160, [row(0), row(3), [seen.picture.height - (seen.pdf ? 200 : 10), color]]);
};

const pages: readonly HardPage[] = [
  {
    name: 'a list that loads more three times, and then ends',
    isLong: true,
    site: {
      '/': html(
        `${rowsOf(4)}<div id="end" style="height:1px"></div><script>
          let times = 0;
          new IntersectionObserver(async ([entry]) => {
            if (!entry.isIntersecting || times >= 3) return;
            times += 1;
            await fetch('/more');
            end.insertAdjacentHTML('beforebegin', ${more});
          }).observe(end);
        </script>`,
      ),
      '/more': (_, response) => void setTimeout(() => response.end(), 150),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 400 + 1800 + 1);
      seen.expectColumn(160, [row(0), row(3), [450, color], [2190, color]]);
      expect(seen.report).toMatchObject({ truncated: false });
    },
  },
  {
    name: 'a list that never ends',
    site: {
      '/': html(
        `<div id="list">${rowsOf(4)}</div><script>addEventListener('scroll', () => {
          if (scrollY + innerHeight > document.body.scrollHeight - 50) list.insertAdjacentHTML('beforeend', ${more});
        })</script>`,
      ),
    },
    options: whole,
    check: bounded,
  },
  {
    name: 'a list that never ends, in a scroller, from a server',
    site: {
      '/': html(
        `<style>main { height: 100vh; overflow: auto }</style><main>${rowsOf(4)}<div id="end" style="height:1px"></div></main><script>
          const seen = new IntersectionObserver(async ([entry]) => {
            if (!entry.isIntersecting) return;
            await fetch('/more');
            end.insertAdjacentHTML('beforebegin', ${more});
            seen.unobserve(end); seen.observe(end);
          });
          seen.observe(end);
        </script>`,
      ),
      '/more': answer('text/plain', ''),
    },
    options: whole,
    check: (seen) => {
      expect(seen.report).toMatchObject({ truncated: true });
      expect(seen.picture.height).toBeLessThan(25_000);
      seen.expectColumn(100, [row(0), row(3), [600, color]]);
    },
  },
  {
    name: 'a page that grows endlessly on a timer',
    isLong: true,
    site: {
      '/': html(
        `<div id="list">${rowsOf(4)}</div><script>setInterval(() => list.insertAdjacentHTML('beforeend', ${more.replace('600', '60')}), 20)</script>`,
      ),
    },
    options: whole,
    check: bounded,
  },
];

testCorpus(pages);
