import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { marked } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { whole } from './whole.ts';

const color = '#00aa00';
const count = 8;

/** Boxes of 150 px, all of which must be visible in the end. */
const boxes = (attributes = '', length = count) =>
  Array.from(
    { length },
    () => `<div class="box" style="height:150px;background:${marked(color)}" ${attributes}></div>`,
  ).join('');

const allThere: NonNullable<HardPage['check']> = (seen) => {
  seen.expectSize(320, count * 150);
  seen.expectColumn(
    160,
    Array.from({ length: count }, (_, id) => [id * 150 + 75, color] as const),
  );
};

const whenSeen = (then: string, options = '{}') => `<script>
  const seen = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => {
    ${then}
  }), ${options});
  document.querySelectorAll('.box').forEach((box) => seen.observe(box));
</script>`;

const pages: readonly HardPage[] = [
  {
    name: 'boxes that slide and fade in when they are scrolled to',
    site: {
      '/': html(
        `<style>.box { opacity: 0; transform: translateX(100%); transition: all 2s .5s }
           .box.in { opacity: 1; transform: none } body { overflow-x: hidden }</style>${boxes()}` +
          whenSeen(`if (isIntersecting) target.classList.add('in');`, '{ threshold: 0.1 }'),
      ),
    },
    options: whole,
    // An element before its slide-in is out of view, and does not intersect.
    formats: ['png'],
    check: (seen) => seen.expectSize(320, count * 150),
  },
  {
    name: 'boxes that fade in when they are scrolled to, and out again',
    isLong: true,
    site: {
      '/': html(
        `<style>.box { opacity: 0; translate: 0 40px; transition: all 1s } .box.in { opacity: 1; translate: 0 0 }</style>${boxes()}` +
          whenSeen(`target.classList.toggle('in', isIntersecting);`, '{ threshold: 0.3 }'),
      ),
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'boxes shown by an observer that reads only its first entry',
    site: {
      '/': html(
        `<style>.box { opacity: 0; transition: opacity .6s } .box.in { opacity: 1 }</style><div style="height:200px"></div>${boxes('', 6).replaceAll('></div>', '>box</div>')}
         <script>const seen = new IntersectionObserver(([entry]) => { if (entry.isIntersecting) entry.target.classList.add('in') }, { threshold: 0.1 });
           document.querySelectorAll('.box').forEach((box) => seen.observe(box))</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1100);
      seen.expectColumn(
        160,
        Array.from({ length: 6 }, (_, id) => [200 + id * 150 + 75, color] as const),
      );
    },
  },
  {
    name: 'boxes that appear by an animation with a delay',
    site: {
      '/': html(
        `<style>@keyframes in { from { opacity: 0 } } .box { visibility: hidden }
          .box.in { visibility: visible; animation: in 3s 1s both }</style>${boxes()}` +
          whenSeen(`if (isIntersecting) target.classList.add('in');`),
      ),
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'parts that unfold while they are in view',
    isLong: true,
    site: {
      '/': html(
        `<style>.box { max-height: 40px; margin-bottom: 110px; transition: all .5s } .box.in { max-height: 500px; margin-bottom: 0 }</style>${boxes()}` +
          whenSeen(`target.classList.toggle('in', isIntersecting);`),
      ),
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'parts that unfold repeatedly',
    isLong: true,
    site: {
      '/': html(
        `<style>.box { max-height: 40px; margin-bottom: 110px } .box.in { max-height: 500px; margin-bottom: 0; transition: all 30s }</style>
         ${boxes()}<div style="height:1px;overflow:hidden">${'<i></i> '.repeat(3000)}</div><script>
           addEventListener('scroll', () => {
             const timer = setInterval(() => {
               const boxes = [...document.querySelectorAll('.box')];
               for (const box of boxes) box.classList.remove('in');
               document.body.offsetHeight;
               for (const box of boxes) box.classList.add('in');
               if (document.documentElement.clientHeight > 1000) clearInterval(timer);
             }, 1);
           }, { once: true });
         </script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, count * 150 + 1);
      seen.expectColumn(160, [
        [75, color],
        [count * 150 - 75, color],
      ]);
    },
  },
  {
    name: 'boxes that a script fades in frame by frame',
    isLong: true,
    site: {
      '/': html(
        `<style>.box { opacity: 0 }</style>${boxes()}` +
          whenSeen(`if (!isIntersecting || target.started) return;
            target.started = performance.now();
            const step = () => {
              const share = Math.min(1, (performance.now() - target.started) / 600);
              target.style.opacity = share;
              if (share < 1) requestAnimationFrame(step);
            };
            step();`),
      ),
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'a number that a script counts up when it comes into view',
    isLong: true,
    site: {
      '/': html(
        `<div style="height:800px"></div><div class="box" style="height:100px;width:0;background:${color}"></div>` +
          whenSeen(`if (!isIntersecting || target.started) return;
            target.started = performance.now();
            const timer = setInterval(() => {
              const share = Math.min(1, (performance.now() - target.started) / 500);
              target.style.width = share * 320 + 'px';
              if (share === 1) clearInterval(timer);
            }, 30);`),
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 900);
      seen.expectColor(310, 850, color);
    },
  },
  {
    name: 'boxes that fade in as they enter the view, by CSS alone',
    site: {
      '/': html(
        `<style>@keyframes in { from { opacity: 0; scale: .2 } }
          .box { animation: in linear both; animation-timeline: view(); animation-range: entry 0% cover 40% }</style>${boxes()}`,
      ),
    },
    options: whole,
    check: allThere,
  },
  {
    name: 'boxes that fade in and out again as they pass through the view, by CSS alone',
    isLong: true,
    site: {
      '/': html(
        `<style>@keyframes pass { 0%, 100% { opacity: 0 } 30%, 70% { opacity: 1 } }
          .box { animation: pass linear both; animation-timeline: view() }</style>
         <div style="height:300px"></div>${boxes()}<div style="height:300px"></div>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 600 + count * 150);
      seen.expectColumn(
        160,
        Array.from({ length: count }, (_, id) => [300 + id * 150 + 75, color] as const),
      );
    },
  },
  {
    name: 'boxes that a script fades in with separate tweens, and out again when they leave the view',
    isLong: true,
    site: {
      '/': html(
        `<style>.box { opacity: 0 }</style><div style="height:400px"></div>${boxes('', 4)}
         <script>const shares = new Map(); let last = 0; const step = (now) => { const by = (now - last) / 400; last = now; for (const box of document.querySelectorAll('.box')) {
             const isIn = box.getBoundingClientRect().top < innerHeight * .8; const share = Math.max(0, Math.min(1, (shares.get(box) ?? 0) + (isIn ? by : -by)));
             shares.set(box, share); if (box.style.opacity !== String(share)) box.style.opacity = share; } requestAnimationFrame(step); }; requestAnimationFrame(step);
           addEventListener('resize', () => document.body.remove())</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(160, [
        [475, color],
        [625, color],
        [775, color],
        [925, color],
      ]);
    },
  },
  {
    name: 'elements that a script pins to the viewport during scrolling keep their first position, and look as in the middle of the scroll',
    site: {
      '/': html(
        `<div style="height:300px"></div><main style="height:720px"><section style="height:240px;width:100%;background:#ff0000"><p style="height:200px;margin:0">pinned</p></section></main>${boxes()}
         <script>const [pin, text] = [document.querySelector('section'), document.querySelector('p')];
           const show = () => { const way = scrollY - 300; pin.style.position = way > 0 && way < 480 ? 'fixed' : 'relative'; pin.style.top = '0px';
             pin.style.transform = way >= 480 ? 'translateY(480px)' : 'none'; text.style.backgroundColor = way > 120 && way < 360 ? '${color}' : '#0000ff'; };
           addEventListener('scroll', show); show();</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1020 + count * 150);
      seen.expectColumn(160, [
        [310, color],
        [490, color],
        [530, '#ff0000'],
        [545, '#ffffff'],
        [1015, '#ffffff'],
        [1025, color],
      ]);
    },
  },
  {
    name: 'fixed pictures that a script moves behind openings in the page are in their openings',
    site: {
      '/': html(
        `<style>.window { position: relative; height: 150px; margin: 0 0 250px } .window div { position: absolute; inset: 0; clip-path: inset(0) } .window img { position: fixed; top: 0; left: 0; width: 100%; height: 200px; background: ${color}; border-bottom: 60px solid #ff0000; box-sizing: border-box }</style>
         <h1 style="height:300px;margin:0">Title</h1>${'<div class="window"><div><img alt=""></div></div>'.repeat(3)}
         <script>const move = () => document.querySelectorAll('.window').forEach((one) => { const { top, bottom } = one.getBoundingClientRect();
             if (bottom < 0 || top > 240) return; one.querySelector('img').style.transform = 'translateY(' + (top * .9 - 5) + 'px)'; });
           addEventListener('scroll', move); move();</script>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1500);
      expect(seen.report.strategy).toBe('grown');
      for (const top of [300, 700, 1100]) {
        seen.expectColumn(160, [
          [top - 5, '#ffffff'],
          [top + 5, color],
          [top + 115, color],
          [top + 145, '#ff0000'],
          [top + 155, '#ffffff'],
        ]);
      }
    },
  },
  {
    name: 'a reading progress bar that follows the scroll position is at its start',
    site: {
      '/': html(
        `<style>@keyframes read { from { width: 0 } to { width: 100% } } #bar { position: fixed; top: 0; height: 30px; background: #ff0000;
          animation: read linear; animation-timeline: scroll() }</style><div id="bar"></div>${boxes()}`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, count * 150);
      seen.expectColor(5, 15, color);
    },
  },
  {
    name: 'a header that shrinks on scrolling looks as at the top',
    site: {
      '/': html(
        `<style>@keyframes shrink { from { height: 80px } to { height: 20px } } header { position: sticky; top: 0; height: 80px; background: #ff0000;
          animation: shrink linear both; animation-timeline: scroll(); animation-range: 0 200px }</style><header></header>${boxes()}`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 80 + count * 150);
      seen.expectColumn(160, [
        [75, '#ff0000'],
        [85, color],
      ]);
    },
  },
  {
    name: 'a drawing that a script makes two frames after the end of an animation is in the picture',
    site: {
      '/': html(
        `<style>@keyframes in { from { opacity: 0.5 } } #box { height: 150px; background: #cc0000; animation: in 60s }</style><div id="box"></div>
         <script>box.onanimationend = () => requestAnimationFrame(() => requestAnimationFrame(() => { box.style.background = '${color}' }));</script>`,
      ),
    },
    options: { viewport: whole.viewport },
    formats: ['png', 'pdf'],
    check: (seen) => seen.expectColor(160, 75, color),
  },
  ...[{ viewport: whole.viewport }, whole, { ...whole, isMobile: true as const }].map((options): HardPage => ({
    name: `endless animations from nothing are visible, and alternating words show one at each moment${'isFullPage' in options ? ', full page' : ''}${'isMobile' in options ? ' on a phone' : ''}`,
    site: {
      '/': html(
        `<style>
           @keyframes pulse { from { opacity: 0 } to { opacity: 1 } }
           @keyframes turn { 0%, 40%, to { opacity: 0 } 5%, 30% { opacity: 1 } }
           @keyframes blink { 0%, 92% { opacity: 0 } 93%, to { opacity: 1 } }
           @keyframes glow { from { opacity: 0 } to { opacity: 1 } }
           @keyframes dim { from { opacity: 0.3 } to { opacity: 0.5 } }
           div { height: 30px }
           .turns { position: relative }
           b { position: absolute; inset: 0; opacity: 0; animation: turn 900s infinite; background: ${color} }
           b + b { animation-delay: 300s; background: #cc0000 }
         </style>
         <div style="animation:pulse 600s infinite alternate;background:${color}">x</div>
         <div class="turns"><b>x</b><b>y</b></div>
         <div class="turns"><b style="animation-delay:-100s">x</b></div>
         <div style="animation:blink 2s infinite;background:${color}">x</div>
         <div style="animation:pulse 600s infinite"><svg width="320" height="30"><rect width="320" height="30" fill="${color}"/></svg></div>
         <div style="animation:glow 600s infinite alternate;background:#cc0000"></div>
         <div style="animation:dim 600s infinite alternate;background:#000000">x</div>
         <div style="height:400px"></div>`,
        '<meta name="viewport" content="width=device-width">',
      ),
    },
    options,
    formats: ['png'],
    check: (seen) => {
      seen.expectColumn(
        160,
        [15, 45, 75, 105, 135].map((y) => [y, color]),
      );
      // A decoration keeps its position in its cycle, and so does an element with more than half of its final opacity.
      expect(seen.picture.difference(160, 165, '#ffffff')).toBeLessThan(40);
      expect(seen.picture.difference(160, 195, '#b3b3b3')).toBeLessThan(10);
    },
  })),
  {
    name: 'endless animations continue, and do not delay the capture',
    isLong: true,
    site: {
      '/': html(
        `<style>@keyframes turn { to { rotate: 360deg } } i { display: block; width: 20px; height: 20px; background: #ff0000; animation: turn 1s infinite }</style>
         ${boxes()}<i></i><div id="tick" style="height:80px;background:${color}"></div>
         <script>(function tick() { document.getElementById('tick').style.paddingLeft = (performance.now() / 10) % 50 + 'px'; requestAnimationFrame(tick); })()</script>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, count * 150 + 100);
      seen.expectColumn(160, [
        [75, color],
        [count * 150 + 60, color],
      ]);
      // On a busy machine the motion may seem to pause; the report then says that the picture was still changing.
      expect(seen.report.softTimeouts.filter((each) => each !== 'animations')).toEqual([]);
      expect(seen.report.timings.settleMs).toBeLessThan(6000);
    },
  },
];

testCorpus(pages);
