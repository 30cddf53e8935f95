import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';

/** Fills the box at the end of the page once it is in sight. */
const look = `const look = () => {
  const { top } = box.getBoundingClientRect();
  if (top < innerHeight) box.textContent = 'shown';
};`;

/** How scripts find out that a page has been scrolled, or grown until all of it is in sight. */
const ways: readonly (readonly [way: string, script: string, attributes?: string])[] = [
  ['the event of the window', `addEventListener('scroll', look)`],
  ['the event of the document, by a frame', `document.addEventListener('scroll', () => requestAnimationFrame(look))`],
  ['its handler', 'onscroll = look'],
  ['an attribute', '', 'onscroll="look()"'],
  ['an observer of what is in sight', 'new IntersectionObserver(look).observe(box)'],
  ['another size', `addEventListener('resize', look)`],
  ['an observer of sizes', 'new ResizeObserver(look).observe(frame)'],
  ['timers', 'setInterval(look, 10)'],
  ['timers that begin after another one', 'setTimeout(() => setTimeout(() => setInterval(look, 10), 5), 5)'],
  ['frames', 'const draw = () => { look(); requestAnimationFrame(draw); }; draw()'],
  ['idle time', 'const idle = () => { look(); requestIdleCallback(idle, { timeout: 20 }); }; idle()'],
  ['a worker', `new Worker(URL.createObjectURL(new Blob(['setInterval(() => postMessage(0), 10)']))).onmessage = look`],
  [
    'the media that it is shown on',
    `matchMedia('print').onchange = () => setTimeout(() => (box.textContent = 'shown'))`,
  ],
];

testCorpus(
  ways.map(([way, script, attributes = '']): HardPage => ({
    name: `${way}: what comes into sight is on paper`,
    site: {
      '/': html(
        `<body ${attributes}><p>beginning</p><i id="frame" style="position:absolute;height:100vh"></i><div style="height:2500px"></div><p id="box" style="height:40px"></p><script>${look}${script}</script>`,
      ),
    },
    formats: ['pdf'],
    check: ({ pdf }) => expect(pdf?.pages.map(({ text }) => text).join(' ')).toMatch(/beginning\s+shown/),
  })),
);
