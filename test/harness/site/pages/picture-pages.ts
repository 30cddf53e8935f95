import { setImmediate } from 'node:timers/promises';
import type { Routes } from '../exchange.ts';

/** Pages whose pixels are known. */
export const picturePages: Routes = {
  /** One colour all over: c. */
  '/colour': (exchange) => exchange.page(`<style>body{background:#${exchange.text('c', '00ff00')}}</style>`),

  /** Green until the test lets the visit go on, red from then on. */
  '/mood': async (exchange) => {
    const after = exchange.released.then(() => 'ff0000');
    const colour = await Promise.race([after, setImmediate('00ff00')]);
    exchange.page(`<style>body{background:#${colour}}</style>`);
  },

  /** Squares of 100 px from the top left: red, lime, blue, black, the rest white; each as sharp as can be. */
  '/quadrants': (exchange) =>
    exchange.page(
      [
        ['0', '0', '#ff0000'],
        ['100px', '0', '#00ff00'],
        ['0', '100px', '#0000ff'],
        ['100px', '100px', '#000000'],
      ]
        .map(
          ([left, top, colour]) =>
            `<div style="position:absolute;left:${left};top:${top};width:100px;height:100px;background:${colour}"></div>`,
        )
        .join('') + '<style>html{background:#fff}</style>',
    ),

  /** A picture that costs bytes: a thousand random boxes, the same each time. */
  '/busy-picture': (exchange) => {
    let seed = 1;
    const next = (limit: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % limit;
    };
    const boxes = Array.from(
      { length: 1000 },
      () =>
        `<i style="position:absolute;left:${next(780)}px;top:${next(580)}px;width:${next(60)}px;height:${next(60)}px;background:hsl(${next(360)} 80% ${next(100)}%);transform:rotate(${next(90)}deg)"></i>`,
    );
    exchange.page(`<div style="position:relative;width:800px;height:600px;overflow:hidden">${boxes.join('')}</div>`);
  },

  '/text': (exchange) =>
    exchange.page(`<p style="font:16px sans-serif;margin:50px">${exchange.text('text', 'some words')}</p>`),

  /** Near-black when the page is told that dark is preferred, near-white when light is, red when neither. */
  '/scheme': (exchange) =>
    exchange.page(
      `<style>html{background:#ff0000}
      @media (prefers-color-scheme: light){html{background:#fafafa}}
      @media (prefers-color-scheme: dark){html{background:#101010}}</style>`,
    ),
};
