import { answer, pngOf } from '../../corpus/answers.ts';
import { row, rowsOf } from '../../corpus/rows.ts';
import { html } from '../../harness/test-site.ts';
import { drawnCases, lateCases } from './late-cases.ts';
import type { PictureCase } from './quality-case.ts';

const [red, green, blue] = ['#ff0000', '#00aa00', '#0000ff'] as const;

/** The height of the viewport of all contenders. */
const screen = 720;
/** The middle of the viewport. */
const x = 640;

const image = await pngOf(green);
const lateImage = await pngOf(green, { lateMs: 300 });

/** Twelve boxes of 500 px below each other, which are green in the end. */
const boxes = (box: (attributes: string, id: number) => string) =>
  Array.from({ length: 12 }, (_, id) => box('style="display:block;width:100%;height:500px"', id)).join('');
const greenBoxes: PictureCase['check'] = (picture) => {
  picture.expectHeight(6000);
  picture.expectColumn(
    x,
    Array.from({ length: 12 }, (_, id) => [id * 500 + 250, green] as const),
  );
};

/** Runs `then` for each element of the class `lazy` whose visibility changes. */
const whenSeen = (then: string) => `<script>
  const seen = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => { ${then} }));
  document.querySelectorAll('.lazy').forEach((part) => seen.observe(part));
</script>`;

const plain: readonly PictureCase[] = [
  {
    name: 'a long page of rows',
    site: { '/': html(rowsOf(40)) },
    check: (picture) => {
      picture.expectHeight(4000);
      picture.expectColumn(x, [row(0), row(7), row(20), row(39)]);
    },
  },
  {
    name: 'images that the document contains',
    site: {
      '/': html(boxes((attributes, id) => `<img ${attributes} src="/image.png?${id}">`)),
      '/image.png': image,
    },
    check: greenBoxes,
  },
];

const lazy: readonly PictureCase[] = [
  {
    name: 'images with loading=lazy',
    site: {
      '/': html(boxes((attributes, id) => `<img loading="lazy" ${attributes} src="/image.png?${id}">`)),
      '/image.png': image,
    },
    check: greenBoxes,
  },
  {
    name: 'images that get their source when they come into view',
    site: {
      '/': html(
        boxes((attributes, id) => `<img class="lazy" ${attributes} data-src="/image.png?${id}">`) +
          whenSeen('if (isIntersecting) target.src = target.dataset.src;'),
      ),
      '/image.png': image,
    },
    check: greenBoxes,
  },
  {
    name: 'backgrounds that are set when they come into view, from a slow server',
    site: {
      '/': html(
        boxes((attributes, id) => `<div class="lazy" ${attributes} data-id="${id}"></div>`) +
          whenSeen("if (isIntersecting) target.style.backgroundImage = 'url(/image.png?' + target.dataset.id + ')';"),
      ),
      '/image.png': lateImage,
    },
    check: greenBoxes,
  },
  {
    name: 'boxes that fade in when they come into view',
    site: {
      '/': html(
        `<style>.lazy { background: ${green}; opacity: 0; transition: opacity .6s } .lazy.in { opacity: 1 }</style>` +
          boxes((attributes) => `<div class="lazy" ${attributes}></div>`) +
          whenSeen("if (isIntersecting) target.classList.add('in');"),
      ),
    },
    check: greenBoxes,
  },
  {
    name: 'boxes that fade in when they come into view, and out again',
    site: {
      '/': html(
        `<style>.lazy { background: ${green}; opacity: 0; transition: opacity .6s } .lazy.in { opacity: 1 }</style>` +
          boxes((attributes) => `<div class="lazy" ${attributes}></div>`) +
          whenSeen("target.classList.toggle('in', isIntersecting);"),
      ),
    },
    check: greenBoxes,
  },
  {
    name: 'a list that loads more three times, and then ends',
    site: {
      '/': html(
        `${rowsOf(10)}<div id="end" style="height:1px"></div><script>
          let times = 0;
          new IntersectionObserver(async ([entry]) => {
            if (!entry.isIntersecting || times >= 3) return;
            times += 1;
            await (await fetch('/more')).text();
            end.insertAdjacentHTML('beforebegin', '<div style="height:1000px;background:${green}"></div>');
          }).observe(end);
        </script>`,
      ),
      '/more': answer('text/plain', '', { afterMs: 150 }),
    },
    check: (picture) => {
      picture.expectHeight(4001);
      picture.expectColumn(x, [row(0), row(9), [1050, green], [3950, green]]);
    },
  },
  {
    name: 'content that is laid out only in view, taller than its placeholder',
    site: {
      '/': html(
        boxes(
          (attributes) =>
            `<div style="content-visibility:auto;contain-intrinsic-size:auto 50px"><img ${attributes} src="/image.png"></div>`,
        ),
      ),
      '/image.png': image,
    },
    check: greenBoxes,
  },
];

const fixed: readonly PictureCase[] = [
  {
    name: 'a sticky header and a fixed header appear once, at the top',
    site: {
      '/': html(
        `<style>header { position: sticky; top: 0; height: 40px; background: ${red} } nav { position: fixed; top: 0; right: 0; width: 100px; height: 80px; background: ${blue} }</style>
         <header></header><nav></nav>${rowsOf(20)}`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(2040);
      picture.expectColumn(x, [[20, red], row(0, 40), row(6, 40), row(7, 40), row(14, 40), row(19, 40)]);
      picture.expectColumn(1230, [[60, blue], row(1, 40), row(7, 40), row(14, 40)]);
    },
  },
  {
    name: 'a bar at the lower edge does not cover the text in the middle of the page',
    site: {
      '/': html(
        `${rowsOf(20)}<div style="position:fixed;bottom:0;left:0;right:0;height:80px;background:${red}"></div>`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(2000);
      picture.expectColumn(x, [row(5), row(6), row(7), row(13), row(14), row(18)]);
    },
  },
  {
    name: 'a header that hides on scrolling down looks as at the top',
    site: {
      '/': html(
        `<style>#bar { position: fixed; top: 0; left: 0; right: 0; height: 60px; background: ${red}; transition: all .3s }
          #bar.small { height: 20px } #bar.gone { transform: translateY(-100%) }</style><div id="bar"></div>${rowsOf(20)}
         <script>let last = 0; addEventListener('scroll', () => {
           bar.classList.toggle('gone', scrollY > last); bar.classList.toggle('small', scrollY > 10); last = scrollY;
         })</script>`,
      ),
    },
    check: (picture) => picture.expectColumn(x, [[5, red], [55, red], [65, row(0)[1]], row(2), row(19)]),
  },
  {
    name: 'sticky headings are at their natural positions',
    site: {
      '/': html(
        `<style>h2 { position: sticky; top: 0; margin: 0; height: 50px; background: ${red} }</style>
         <section><h2></h2>${rowsOf(12)}</section><section><h2></h2>${rowsOf(12)}</section>`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(2500);
      picture.expectColumn(x, [[25, red], row(0, 50), row(11, 50), [1275, red], row(0, 1300), row(11, 1300)]);
    },
  },
  {
    name: 'a fixed background as tall as the viewport covers all of the page',
    site: {
      '/': html(
        `<div style="position:fixed;top:0;width:100%;height:100vh;z-index:-1;background:${green}"></div><div style="height:2500px"></div>`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(2500);
      picture.expectShare(green, 0.99);
    },
  },
];

const hero =
  (height: number): PictureCase['check'] =>
  (picture) => {
    picture.expectHeight(height + 2000);
    picture.expectColumn(x, [[5, red], [height - 5, red], row(0, height), row(19, height)]);
  };

const heights: readonly PictureCase[] = [
  {
    name: 'a first part of 100vh',
    site: { '/': html(`<div style="height:100vh;background:${red}"></div>${rowsOf(20)}`) },
    check: hero(screen),
  },
  {
    name: 'a first part that a script makes as tall as the window',
    site: {
      '/': html(
        `<div id="hero" style="background:${red}"></div>${rowsOf(20)}<script>
          const fit = () => { hero.style.height = innerHeight + 'px' }; addEventListener('resize', fit); fit();</script>`,
      ),
    },
    check: hero(screen),
  },
  {
    name: 'three parts of 100vh, and one of 50vh',
    site: {
      '/': html(
        [red, green, blue, red]
          .map((color, index) => `<div style="height:${index === 3 ? 50 : 100}vh;background:${color}"></div>`)
          .join(''),
      ),
    },
    check: (picture) => {
      picture.expectHeight(3.5 * screen);
      picture.expectColumn(x, [
        [10, red],
        [screen + 10, green],
        [2 * screen + 10, blue],
        [3 * screen + 10, red],
      ]);
    },
  },
  {
    name: 'media queries of the height and the aspect ratio of the viewport',
    site: {
      '/': html(
        `<style>body { background: ${green} } @media (orientation: portrait) { body { background: ${red} } }
          @media (min-height: 1000px) { body { background: ${blue} } }</style><div style="height:3000px"></div>`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(3000);
      picture.expectShare(green, 1);
    },
  },
];

const scrollers: readonly PictureCase[] = [
  {
    name: 'an app shell whose middle scrolls',
    site: {
      '/': html(
        `<style>html, body { height: 100%; overflow: hidden } .shell { display: flex; flex-direction: column; height: 100vh } header { height: 40px; background: ${red} } main { flex: 1; overflow: auto }</style>
         <div class="shell"><header></header><main>${rowsOf(20)}</main></div>`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(2040);
      picture.expectColumn(x, [[20, red], row(0, 40), row(9, 40), row(19, 40)]);
    },
  },
  {
    name: 'a body that scrolls instead of the document',
    site: {
      '/': html(
        `<style>html { overflow: hidden; height: 100% } body { height: 100%; overflow: auto }</style>${rowsOf(20)}`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(2000);
      picture.expectColumn(x, [row(0), row(9), row(19)]);
    },
  },
  {
    name: 'a scroller that is fixed to the edges of the viewport',
    site: {
      '/': html(
        `<style>header { position: fixed; top: 0; left: 0; right: 0; height: 40px; background: ${red} } main { position: fixed; inset: 40px 0 0; overflow: auto }</style>
         <header></header><main>${rowsOf(20)}</main>`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(2040);
      picture.expectColumn(x, [[20, red], row(0, 40), row(9, 40), row(19, 40)]);
    },
  },
  {
    name: 'a frame that fills the viewport',
    site: {
      '/': html(
        '<style>html, body { height: 100%; overflow: hidden } iframe { display: block; border: 0; width: 100%; height: 100% }</style><iframe src="/inner"></iframe>',
      ),
      '/inner': html(rowsOf(20)),
    },
    check: (picture) => {
      picture.expectHeight(2000);
      picture.expectColumn(x, [row(0), row(9), row(19)]);
    },
  },
];

export const pictureCases: Readonly<Record<string, readonly PictureCase[]>> = {
  'simple pages': plain,
  'content that loads or appears on scrolling': lazy,
  'fixed and sticky elements': fixed,
  'heights of the viewport': heights,
  'scrolling areas': scrollers,
  'late content': lateCases,
  'animations and canvases': drawnCases,
};
