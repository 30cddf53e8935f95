import { setImmediate } from 'node:timers/promises';
import type { Routes } from '../exchange.ts';

/** Pages with known pixels. */
export const picturePages: Routes = {
  /** One color on the whole page: c. */
  '/color': (exchange) => exchange.page(`<style>body{background:#${exchange.text('c', '00ff00')}}</style>`),

  /** Green until the test releases the visit, red from then on. */
  '/mood': async (exchange) => {
    const after = exchange.released.then(() => 'ff0000');
    const color = await Promise.race([after, setImmediate('00ff00')]);
    exchange.page(`<style>body{background:#${color}}</style>`);
  },

  /** Squares of 100 px from the top left: red, lime, blue, black, the rest white; with sharp edges. */
  '/quadrants': (exchange) =>
    exchange.page(
      [
        ['0', '0', '#ff0000'],
        ['100px', '0', '#00ff00'],
        ['0', '100px', '#0000ff'],
        ['100px', '100px', '#000000'],
      ]
        .map(
          ([left, top, color]) =>
            `<div style="position:absolute;left:${left};top:${top};width:100px;height:100px;background:${color}"></div>`,
        )
        .join('') + '<style>html{background:#fff}</style>',
    ),

  /** A picture with a large file: a thousand random boxes, always the same ones. */
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

  /** Near-black if the browser prefers dark, near-white if it prefers light, red if neither. */
  '/scheme': (exchange) =>
    exchange.page(
      `<style>html{background:#ff0000}
      @media (prefers-color-scheme: light){html{background:#fafafa}}
      @media (prefers-color-scheme: dark){html{background:#101010}}</style>`,
    ),
};
