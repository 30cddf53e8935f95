import type { Exchange, Routes } from '../exchange.ts';

/** Pages with pictures. */
export const imagePages: Routes = {
  /**
   * Pictures whose behavior `list` defines, e.g. `ok,slow:800,missing,hang,held`. By default the pictures are part of the page, so its load
   * event waits for them. With `after=load`, a script adds them after the load event.
   */
  '/images': (exchange) => {
    const tags = exchange
      .text('list')
      .split(',')
      .map((what) => `<img src="${source(exchange, what)}" width="100" height="100" style="display:block">`)
      .join('');
    if (exchange.text('after') !== 'load') return exchange.page(tags);
    exchange.page(
      `<div id="pictures"></div><script>addEventListener('load', () => { document.getElementById('pictures').innerHTML = ${JSON.stringify(tags)}; });</script>`,
    );
  },

  /** n lazy pictures, each 300 px high, below each other with a gap of 200 px. */
  '/lazy': (exchange) =>
    exchange.page(
      Array.from(
        { length: exchange.number('n', 20) },
        (_, index) =>
          `<img loading="lazy" src="${exchange.link('/asset/image', { c: '0000ff', w: 10, h: 10, n: index })}" style="display:block;width:100%;height:300px;margin-bottom:200px">`,
      ).join(''),
    ),
};

function source(exchange: Exchange, what: string): string {
  const [kind, delay = '0'] = what.split(':');
  switch (kind) {
    case 'missing':
      return exchange.link('/asset/missing');
    case 'hang':
      return exchange.link('/asset/hang');
    case 'held':
      return exchange.link('/asset/held', { c: '0000ff' });
    default:
      return exchange.link('/asset/image', { c: '0000ff', delay });
  }
}
