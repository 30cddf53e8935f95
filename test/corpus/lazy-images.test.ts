import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, pngOf, withOther } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { whole } from './whole.ts';

const color = '#00aa00';
const green = await pngOf(color);
const lateGreen = await pngOf(color, { lateMs: 300 });
const count = 10;

/** Ten images of 100 px below each other. */
const images = (image: (id: number) => string) => Array.from({ length: count }, (_, id) => image(id)).join('');
/** Their pictures have more than one color, because the engine retakes pictures of a single color. */
const size = 'style="display:block;width:320px;height:100px;box-sizing:border-box;border-left:2px solid #000000"';

/** All ten are in the picture, and each was requested once. */
const allThere: NonNullable<HardPage['check']> = (seen) => {
  seen.expectSize(320, count * 100);
  seen.expectColumn(
    160,
    Array.from({ length: count }, (_, id) => [id * 100 + 50, color] as const),
  );
  expect(seen.report.images).toEqual({ loaded: count, failed: 0, pending: 0 });
  expect(seen.report.softTimeouts).toEqual([]);
  expect(seen.report.truncated).toBe(false);
};

const whenSeen = (show: string) => `<script>
  const seen = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => {
    if (!isIntersecting) return;
    seen.unobserve(target);
    ${show}
  }));
  document.querySelectorAll('.lazy').forEach((part) => seen.observe(part));
</script>`;

const pages: readonly HardPage[] = [
  {
    name: 'images with loading=lazy',
    site: { '/': html(images((id) => `<img loading="lazy" ${size} src="/a.png?${id}">`)), '/a.png': green },
    options: whole,
    check: (seen) => {
      void allThere(seen);
      expect(seen.asked('/a.png')).toBe(count);
    },
  },
  {
    name: 'images that get their source from a script when they come into view',
    site: {
      '/': html(
        images((id) => `<img class="lazy" ${size} data-src="/a.png?${id}">`) +
          whenSeen('target.src = target.dataset.src;'),
      ),
      '/a.png': green,
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'images that get their source some time after they come into view, from a slow server',
    isLong: true,
    site: {
      '/': html(
        images((id) => `<img class="lazy" ${size} data-src="/a.png?${id}">`) +
          whenSeen('setTimeout(() => { target.src = target.dataset.src; }, 300);'),
      ),
      '/a.png': lateGreen,
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'images that a scroll listener loads when scrolling has stopped',
    isLong: true,
    site: {
      '/': html(
        images((id) => `<img ${size} data-src="/a.png?${id}">`) +
          `<script>
            let timer;
            const look = () => document.querySelectorAll('img:not([src])').forEach((image) => {
              const { top, bottom } = image.getBoundingClientRect();
              if (top < innerHeight && bottom > 0) image.src = image.dataset.src;
            });
            addEventListener('scroll', () => { clearTimeout(timer); timer = setTimeout(look, 200); });
            look();
          </script>`,
      ),
      '/a.png': green,
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'images with a placeholder until a script replaces it',
    isLong: true,
    site: {
      '/': html(
        images(
          (id) =>
            `<img class="lazy" ${size} src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" data-src="/a.png?${id}">`,
        ) + whenSeen('setTimeout(() => { target.src = target.dataset.src; }, 200);'),
      ),
      '/a.png': green,
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'backgrounds that are set when they come into view',
    site: {
      '/': html(
        images((id) => `<div class="lazy" ${size} data-id="${id}"></div>`) +
          whenSeen('target.style.backgroundImage = `url(/a.png?${target.dataset.id})`;'),
      ),
      '/a.png': lateGreen,
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'pictures with lazy sources',
    isLong: true,
    site: {
      '/': html(
        images(
          (id) => `<picture><source media="(min-width: 300px)" data-srcset="/a.png?${id} 1x, /a.png?${id}&2x 2x">
            <img class="lazy" ${size}></picture>`,
        ) + whenSeen('const source = target.previousElementSibling; source.srcset = source.dataset.srcset;'),
      ),
      '/a.png': green,
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'a picture larger than the viewport changes no media query, so that sources keep their images',
    isLong: true,
    site: {
      '/': html(`<script>
          const narrow = matchMedia('(max-width: 300px)');
          narrow.onchange = () => navigator.sendBeacon('/changed');
        </script>
        <div style="height:5000px"></div>
        <picture><source media="(max-width: 300px)" srcset="/a.png?narrow"><img ${size} src="/a.png?wide"></picture>`),
      '/a.png': green,
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectColumn(160, [[5050, color]]);
      expect(seen.requests).toEqual(['/', '/a.png?wide']);
    },
  },
  {
    name: 'lazy images in a shadow tree',
    site: {
      '/': html(
        `<div id="host"></div><script>
          host.attachShadow({ mode: 'open' }).innerHTML = ${JSON.stringify(images((id) => `<img loading="lazy" ${size} src="/a.png?${id}">`))};
        </script>`,
      ),
      '/a.png': green,
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'the report counts failed images',
    site: {
      '/': html(images((id) => `<img loading="lazy" ${size} src="/${id % 2 === 0 ? 'a' : 'none'}.png?${id}">`)),
      '/a.png': green,
    },
    options: whole,
    check: (seen) => {
      expect(seen.report.images).toEqual({ loaded: count / 2, failed: count / 2, pending: 0 });
      seen.expectColumn(160, [[850, color]]);
    },
  },
  {
    name: 'an image of a srcset that never arrives is reported as pending',
    isLong: true,
    site: {
      '/': html(images((id) => `<img ${size} srcset="/${id === 9 ? 'never' : 'a'}.png?${id} 1x">`)),
      '/a.png': green,
      '/never.png': () => undefined,
    },
    options: { ...whole, imageTimeout: 500, waitUntil: 'domcontentloaded' },
    check: (seen) => {
      expect(seen.report.images).toEqual({ loaded: count - 1, failed: 0, pending: 1 });
      seen.expectColumn(160, [[850, color]]);
    },
  },
  {
    name: 'an image that never arrives is reported as pending, and the others are visible',
    site: {
      '/': html(images((id) => `<img loading="lazy" ${size} src="/${id === 9 ? 'never' : 'a'}.png?${id}">`)),
      '/a.png': green,
      '/never.png': () => undefined,
    },
    options: { ...whole, imageTimeout: 1500, waitUntil: 'domcontentloaded' },
    check: (seen) => {
      expect(seen.report.images).toEqual({ loaded: count - 1, failed: 0, pending: 1 });
      expect(seen.report.softTimeouts).toEqual(['images']);
      seen.expectColumn(160, [[850, color]]);
    },
  },
  {
    name: 'a lazy frame of another site, with late images in it',
    site: {
      '/': withOther(
        html(`<div style="height:900px"></div>
          <iframe loading="lazy" style="display:block;border:0;width:100%;height:300px" src="{other}/frame"></iframe>`),
      ),
      '/frame': html(`<div style="height:200px;background:#0000ff"></div><img loading="lazy" ${size} src="/a.png">`),
      '/a.png': lateGreen,
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1200);
      seen.expectColumn(160, [
        [1000, '#0000ff'],
        [1150, color],
      ]);
    },
  },
  {
    name: 'content that is laid out only in view, taller than its placeholder',
    site: {
      '/': html(
        images(
          () =>
            `<div style="content-visibility:auto;contain-intrinsic-size:auto 20px"><img ${size} src="/a.png"></div>`,
        ),
      ),
      '/a.png': green,
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, count * 100);
      expect(seen.picture.share(color, seen.exact ? 0 : 10)).toBeGreaterThan(0.99);
    },
  },
  {
    name: 'a script that loads when its position is scrolled to, and adds an image',
    isLong: true,
    site: {
      '/': html(
        `<div style="height:900px"></div><div class="lazy" style="height:100px"></div>` +
          whenSeen(
            `const script = document.createElement('script'); script.src = '/late.js'; document.body.append(script);`,
          ),
      ),
      '/late.js': (request, response) =>
        void setTimeout(
          () =>
            answer(
              'text/javascript',
              `document.querySelector('.lazy').innerHTML = '<img style="display:block;width:320px;height:100px" src="/a.png">'`,
            )(request, response),
          200,
        ),
      '/a.png': lateGreen,
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(160, [[950, color]]);
      expect(seen.report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
    },
  },
];

testCorpus(pages);
