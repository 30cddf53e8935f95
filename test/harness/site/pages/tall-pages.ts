import type { Exchange, Routes } from '../exchange.ts';

/** Height of a stripe of `/tall` in px. */
export const stripeHeight = 100;

/** The color of the nth stripe; neighbors, and the first 256, all differ. */
export function stripeColor(index: number): string {
  const channel = (step: number, offset: number) => ((index * step + offset) % 256).toString(16).padStart(2, '0');
  return `#${channel(37, 40)}${channel(91, 90)}${channel(151, 130)}`;
}

/** Pages taller than the window. */
export const tallPages: Routes = {
  /** Stripes of known colors, h px in total, w px wide. */
  '/tall': (exchange) => exchange.page(stripes(exchange.number('h', 3000), exchange.text('w', '100%'))),

  /** A red sticky or fixed header (mode) above stripes. */
  '/header': (exchange) =>
    exchange.page(
      `<div style="position:${exchange.text('mode', 'sticky')};top:0;left:0;width:100%;height:50px;background:#ff0000;z-index:9"></div>` +
        stripes(exchange.number('h', 3000)),
    ),

  /** n sections with the height of the window. */
  '/sections': (exchange) =>
    exchange.page(
      Array.from(
        { length: exchange.number('n', 3) },
        (_, index) => `<section style="height:100vh;background:${stripeColor(index)}"></section>`,
      ).join(''),
    ),

  /** The body does not scroll; a box in it does. */
  '/scroller': (exchange) =>
    exchange.page(
      `<div style="height:100vh;overflow-y:auto">${stripes(exchange.number('h', 3000))}</div><style>body{overflow:hidden;height:100vh}</style>`,
    ),

  /** Grows by 1000 px whenever the end is near, up to `max` times. */
  '/growing': (exchange) =>
    exchange.page(
      `<script>
      const colors = ${JSON.stringify(Array.from({ length: 256 }, (_, index) => stripeColor(index)))};
      let parts = 0;
      const grow = () => {
        if (parts >= ${exchange.number('max', 1_000_000)}) return;
        const part = document.createElement('div');
        part.style.cssText = 'height:1000px;background:' + colors[parts++ % 256];
        document.body.append(part);
      };
      grow();
      addEventListener('scroll', () => { if (scrollY + innerHeight > document.body.scrollHeight - 200) grow(); });
      </script>`,
    ),

  /** Boxes of 500 px that stay white until they have been in view. */
  '/reveal': (exchange) =>
    exchange.page(
      Array.from(
        { length: 8 },
        (_, index) => `<div class="box" style="height:500px" data-c="${stripeColor(index)}"></div>`,
      ).join('') +
        `<script>
        const seen = new IntersectionObserver((entries) => {
          for (const { isIntersecting, target } of entries) if (isIntersecting) target.style.background = target.dataset.c;
        });
        document.querySelectorAll('.box').forEach((box) => seen.observe(box));
        </script>`,
    ),

  /** Text on several sheets of paper: n numbered sections, each on a new page when printed. */
  '/document': (exchange) => exchange.page(sections(exchange)),
};

function stripes(height: number, width = '100%'): string {
  const count = Math.ceil(height / stripeHeight);
  const stripe = (index: number) => {
    const rest = Math.min(stripeHeight, height - index * stripeHeight);
    return `<div style="height:${rest}px;width:${width};background:${stripeColor(index)}"></div>`;
  };
  return Array.from({ length: count }, (_, index) => stripe(index)).join('');
}

function sections(exchange: Exchange): string {
  return Array.from(
    { length: exchange.number('n', 3) },
    (_, index) =>
      `<section style="break-after:page;font:20px sans-serif"><h1 style="margin:0">Section number ${index + 1}</h1><p>${'Words on paper. '.repeat(40)}</p></section>`,
  ).join('');
}
