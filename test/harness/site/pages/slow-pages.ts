import { pageOf, type Routes } from '../exchange.ts';

/** Pages that are slow, or never finish. */
export const slowPages: Routes = {
  /** Never responds. */
  '/hang': () => undefined,

  /** Responds after `delay` ms. */
  '/slow': async (exchange) => {
    await exchange.wait(exchange.number('delay', 1000));
    exchange.page('<style>body{background:#00ff00}</style>');
  },

  /** Responds immediately, then sends parts of the page forever. */
  '/drip': async (exchange) => {
    const { response } = exchange;
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.write('<!doctype html><title>drip</title><body style="margin:0;background:#00ff00">');
    while (!response.destroyed) {
      response.write('<p>drop</p>');
      await exchange.wait(200);
    }
  },

  /** Sends a green first half immediately, and the second half, which makes the page blue, after `delay` ms. */
  '/two-halves': async (exchange) => {
    const { response } = exchange;
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    const [start = '', end = ''] = pageOf('|<style>body{background:#0000ff}</style>').split('|');
    response.write(`${start}<style>body{background:#00ff00}</style>`);
    await exchange.wait(exchange.number('delay', 1500));
    response.end(end);
  },

  /** A green page whose load event waits for one picture: `delay` ms, or forever without it. */
  '/late-load': (exchange) => {
    const delay = exchange.query.get('delay');
    const source =
      delay === null ? exchange.link('/asset/hang') : exchange.link('/asset/image', { delay, c: '00ff00' });
    exchange.page(`<style>body{background:#00ff00}</style><img src="${source}" width="1" height="1">`);
  },

  /** A page with one slow part: a picture, style or script; its title shows when it arrived. */
  '/slow-part': (exchange) => {
    const path = exchange.text('path');
    const source = exchange.link(path, { delay: exchange.number('delay') });
    const came = `onload="document.title='it came'"`;
    const tags: Record<string, string> = {
      '/asset/image': `<img src="${source}" ${came}>`,
      '/asset/style': `<link rel="stylesheet" href="${source}" ${came}>`,
      '/asset/script': `<script src="${source}" ${came}></script>`,
    };
    exchange.page(tags[path] ?? '');
  },

  /** A page whose title shows when the slow response to a request of its script arrived. */
  '/slow-answer': (exchange) =>
    exchange.page(
      `<script>fetch(${JSON.stringify(exchange.address('/asset/json', { delay: exchange.number('delay') }))}).then((response) => response.json()).then(() => { document.title = 'it came'; });</script>`,
    ),

  /** A green page whose load event waits for `/asset/held`. */
  '/held': (exchange) =>
    exchange.page(
      `<style>body{background:#00ff00}</style><img src="${exchange.link('/asset/held', { c: '00ff00' })}" width="1" height="1">`,
    ),

  /** Red; turns green `delay` ms after the load event. */
  '/changing': (exchange) =>
    exchange.page(
      `<style>body{background:#ff0000}</style><script>addEventListener('load', () => setTimeout(() => { document.body.style.background = '#00ff00'; }, ${exchange.number('delay', 1000)}));</script>`,
    ),

  /**
   * Sends a request every 100 ms, `times` times or forever, and then turns green. With `read=no` the page never reads the responses, like
   * scripts that only send reports.
   */
  '/polling': (exchange) =>
    exchange.page(
      `<style>body{background:#ff0000}</style><script>
      let left = ${exchange.number('times', 1_000_000)};
      const ask = () => {
        if (left-- <= 0) { document.body.style.background = '#00ff00'; return; }
        fetch(${JSON.stringify(exchange.address('/asset/json'))})
          .then((response) => ${exchange.text('read') === 'no' ? 'undefined' : 'response.text()'})
          .finally(() => setTimeout(ask, 100));
      };
      ask();
      </script>`,
    ),

  /** Text in a font that never arrives. */
  '/font-hang': (exchange) =>
    exchange.page('<p style="font:40px never,sans-serif;margin:20px;color:#000">Readable words</p>', {
      head: `<style>html{background:#fff}@font-face{font-family:never;src:url("${exchange.address('/asset/hang')}")}</style>`,
    }),

  /** A green page with a stylesheet that never arrives. */
  '/style-hang': (exchange) =>
    exchange.page('<div style="height:100px;background:#00ff00"></div>', {
      head: `<link rel="stylesheet" href="${exchange.link('/asset/hang')}">`,
    }),

  /** A script in the head that never arrives: nothing below it is parsed. */
  '/script-hang': (exchange) =>
    exchange.page('<style>body{background:#00ff00}</style>', {
      head: `<script src="${exchange.link('/asset/hang')}"></script>`,
    }),
};
