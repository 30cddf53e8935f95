import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';

/** Fills the box at the end of the page once it is in view. */
const look = `const look = () => {
  const { top } = box.getBoundingClientRect();
  if (top < innerHeight) box.textContent = 'shown';
};`;

/** The ways that most pages use. All other ways are in the long tier. */
const common = new Set([
  'a scroll event of the window',
  'an IntersectionObserver',
  'timers',
  'a media query for print',
]);

/** Ways for scripts to detect that a page has scrolled, or grown until all of it is in view. */
const ways: readonly (readonly [way: string, script: string, attributes?: string])[] = [
  ['a scroll event of the window', `addEventListener('scroll', look)`],
  [
    'a scroll event of the document, with an animation frame',
    `document.addEventListener('scroll', () => requestAnimationFrame(look))`,
  ],
  ['a scroll handler', 'onscroll = look'],
  ['a scroll handler attribute', '', 'onscroll="look()"'],
  ['an IntersectionObserver', 'new IntersectionObserver(look).observe(box)'],
  ['a resize event', `addEventListener('resize', look)`],
  ['a ResizeObserver', 'new ResizeObserver(look).observe(frame)'],
  ['timers', 'setInterval(look, 10)'],
  ['timers that start in another timer', 'setTimeout(() => setTimeout(() => setInterval(look, 10), 5), 5)'],
  ['animation frames', 'const draw = () => { look(); requestAnimationFrame(draw); }; draw()'],
  ['idle callbacks', 'const idle = () => { look(); requestIdleCallback(idle, { timeout: 20 }); }; idle()'],
  ['a worker', `new Worker(URL.createObjectURL(new Blob(['setInterval(() => postMessage(0), 10)']))).onmessage = look`],
  ['a media query for print', `matchMedia('print').onchange = () => setTimeout(() => (box.textContent = 'shown'))`],
];

testCorpus(
  ways.map(([way, script, attributes = '']): HardPage => ({
    name: `${way}: content that comes into view is on paper`,
    site: {
      '/': html(
        `<body ${attributes}><p>beginning</p><i id="frame" style="position:absolute;height:100vh"></i><div style="height:2500px"></div><p id="box" style="height:40px"></p><script>${look}${script}</script>`,
      ),
    },
    formats: ['pdf'],
    isLong: !common.has(way),
    check: ({ pdf }) => expect(pdf?.pages.map(({ text }) => text).join(' ')).toMatch(/beginning\s+shown/),
  })),
);
