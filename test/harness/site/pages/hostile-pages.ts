import type { Routes } from '../exchange.ts';

const green = '<style>body{background:#00ff00}</style>';

/** Pages that misuse the browser. */
export const hostilePages: Routes = {
  /** Blocks the main thread forever, before the page is parsed, or from its load event on (after=load). */
  '/busy': (exchange) =>
    exchange.text('after') === 'load'
      ? exchange.page(`${green}<script>addEventListener('load', () => { for (;;); });</script>`)
      : exchange.page(green, { head: '<script>for (;;);</script>' }),

  /** Allocates 40 MB of memory every 10 ms. */
  '/balloon': (exchange) =>
    exchange.page(
      `${green}<script>
      const held = [];
      setInterval(() => { const block = new Uint8Array(40_000_000); for (let i = 0; i < block.length; i += 4096) block[i] = i; held.push(block); }, 10);
      </script><img src="${exchange.link('/asset/hang')}" width="1" height="1">`,
    ),

  /** Opens every kind of dialog before it is shown. */
  '/dialogs': (exchange) =>
    exchange.page(
      `<script>alert('stop'); confirm('go on?'); prompt('why?'); addEventListener('beforeunload', (event) => event.preventDefault());</script>${green}`,
    ),

  '/closing': (exchange) => exchange.page(`${green}<script>window.close();</script>`),

  /** Opens other windows while it loads. */
  '/popups': (exchange) =>
    exchange.page(
      `${green}<script>for (let i = 0; i < 5; i++) window.open(${JSON.stringify(exchange.address('/color', { c: 'ff0000' }))});</script>`,
    ),

  /** Overwrites globals that a tool inside the page would use. */
  '/overriding': (exchange) =>
    exchange.page(
      `<script>
      const no = () => { throw new Error('no'); };
      window.scrollTo = window.scrollBy = window.setTimeout = window.requestAnimationFrame = no;
      Object.defineProperty(document, 'images', { get: no });
      document.querySelectorAll = document.querySelector = Array.prototype.map = JSON.stringify = no;
      Element.prototype.getBoundingClientRect = no;
      window.Promise = function () { no(); };
      </script>${green}`,
    ),

  /** A download, not a page. */
  '/download': ({ response }) => {
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="a.bin"',
    });
    response.end(Buffer.alloc(1000));
  },

  /** Accepts the request and closes the connection. */
  '/reset': ({ response }) => void response.destroy(),

  '/no-content': ({ response }) => void response.writeHead(204).end(),

  /** A body that is shorter than its Content-Length. */
  '/cut-off': ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': '10000' });
    response.write('<!doctype html><body style="background:#00ff00">');
    setTimeout(() => response.destroy(), 50);
  },
};
