import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';
import { whole } from './whole.ts';

const [red, green, blue] = ['#ff0000', '#00aa00', '#0000ff'] as const;

/** Pages that look different in a viewport with the height of the page than in the visitor's viewport of 320 × 240 px. */
const pages: readonly HardPage[] = [
  {
    name: 'a script that always copies the height of the window does not make the page endless',
    site: {
      '/': html(
        `<style>section { background: ${red} } section + section { background: ${green} }</style><section></section><section></section>${rowsOf(6)}
         <script>const fit = () => { for (const one of document.querySelectorAll('section')) one.style.setProperty('height', innerHeight + 'px', 'important');
           requestAnimationFrame(fit); }; fit();</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1080);
      seen.expectColumn(160, [[5, red], [235, red], [245, green], [475, green], row(0, 480), row(5, 480)]);
      expect(seen.report).toMatchObject({ strategy: 'grown', truncated: false, softTimeouts: [] });
    },
  },
  {
    name: 'bars appear once, also if a script always copies the height of the window',
    isLong: true,
    site: {
      '/': html(
        `<style>header, footer { position: fixed; left: 0; width: 100%; height: 30px; background: ${red} } header { top: 0 } footer { bottom: 0; background: ${blue} }
          #back { position: fixed; inset: 0; z-index: -1; background: ${green} } h2 { position: sticky; top: 30px; height: 20px; margin: 0; background: #000000 }
          main { width: 200px } section { height: 240px }</style><div id="back"></div><header></header><footer></footer><section></section>
         <main><h2></h2>${rowsOf(6)}</main>
         <script>const fit = () => { document.querySelector('section').style.setProperty('height', innerHeight + 'px', 'important');
           requestAnimationFrame(fit); }; fit();</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 860);
      expect(seen.report.strategy).toBe('grown');
      seen.expectColumn(160, [[15, red], [100, green], [250, '#000000'], row(0, 260), row(1, 260), row(5, 260)]);
      seen.expectColumn(260, [
        [225, green],
        [485, green],
        [725, green],
        [500, green],
        [845, blue],
        [815, green],
      ]);
    },
  },
  {
    name: 'scenes that are fixed to the viewport, and change with the scroll position, are shown at their positions, the last one completely',
    site: {
      '/': html(
        `<style>body { height: 1100px } div { position: fixed; inset: 0; display: none; border-top: 10px solid #ffff00 } header { position: fixed; z-index: 1; top: 10px; left: 0; width: 100%; height: 20px; background: #000000 }</style>
         <header></header>${[red, green, blue, '#00ffff'].map((color) => `<div style="background:${color}">scene</div>`).join('')}
         <script>const show = () => document.querySelectorAll('div').forEach((scene, index) => { scene.style.display = index === Math.round(scrollY / 287) ? 'block' : 'none' });
           addEventListener('scroll', show); show();</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1100);
      expect(seen.report).toMatchObject({ strategy: 'tiles', truncated: false, softTimeouts: [] });
      seen.expectColumn(160, [
        [5, '#ffff00'],
        [20, '#000000'],
        [200, red],
        [245, '#ffff00'],
        [260, green],
        [470, green],
        [500, blue],
        [715, blue],
        [725, '#ffff00'],
        [850, '#00ffff'],
        [865, '#ffff00'],
        [880, '#00ffff'],
        [1095, '#00ffff'],
      ]);
    },
  },
  {
    name: 'a sticky box stays in its place, although a script changes its distance during scrolling',
    site: {
      '/': html(
        `<style>section { height: 240px } main { height: 760px } h2 { position: sticky; top: 0; height: 200px; margin: 160px 0 0; background: ${blue} }</style><section></section><main><h2>sticky</h2></main>
         <script>const fit = () => { document.querySelector('section').style.setProperty('height', innerHeight + 'px', 'important'); requestAnimationFrame(fit); }; fit();
           addEventListener('scroll', () => { if (scrollY >= 480) document.querySelector('h2').style.top = '-120px'; });</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1160);
      expect(seen.report.strategy).toBe('grown');
      seen.expectColumn(160, [
        [390, '#ffffff'],
        [410, blue],
        [470, blue],
        [490, blue],
        [590, blue],
        [610, '#ffffff'],
      ]);
    },
  },
  {
    name: 'slides that are fixed behind the text, and advance automatically, are not scenes',
    site: {
      '/': html(
        `<style>.slide { position: fixed; inset: 0; z-index: -1 } main { width: 200px }</style>${[red, blue].map((color) => `<div class="slide" style="background:${color}"></div>`).join('')}<main>${rowsOf(10)}</main>
         <script>let shown = 0; setInterval(() => { shown = 1 - shown; document.querySelectorAll('.slide').forEach((slide, index) => { slide.style.opacity = index === shown ? 1 : 0 }) }, 120)</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    isLong: true,
    check: (seen) => {
      seen.expectSize(320, 1000);
      expect(seen.report).toMatchObject({ strategy: 'grown', truncated: false });
      seen.expectColumn(160, [row(0), row(9)]);
    },
  },
  {
    name: 'a slow row of boxes that appear sequentially is complete',
    isLong: true,
    site: {
      '/': html(
        `<style>.box { height: 100px; background: ${green}; opacity: 0 } .box.in { opacity: 1 }</style><div style="height:600px"></div><div id="row">${'<div class="box">box</div>'.repeat(4)}</div>
         <script>new IntersectionObserver(([entry], observer) => { if (!entry.isIntersecting) return; observer.disconnect();
           document.querySelectorAll('.box').forEach((box, index) => setTimeout(() => box.classList.add('in'), 1200 + index * 300)); }).observe(row);</script>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(200, [
        [650, green],
        [750, green],
        [850, green],
        [950, green],
      ]);
    },
  },
  {
    name: 'content that scripts show only near the middle of the viewport is visible, at its position',
    isLong: true,
    site: {
      '/': html(
        `<style>p { position: relative; height: 60px; margin: 0 0 300px; background: ${green} }</style><div style="height:500px"></div><p>a</p><p>b</p><p>c</p>
         <script>const show = () => { for (const one of document.querySelectorAll('p')) { const { top } = one.getBoundingClientRect();
             const far = Math.abs(one.offsetTop - scrollY - innerHeight / 2 + 30); one.style.opacity = far < 90 ? 1 : 0; one.style.transform = 'translateX(' + (far < 90 ? 0 : 200) + 'px)'; } };
           addEventListener('scroll', show); show();</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1580);
      seen.expectColumn(100, [
        [530, green],
        [890, green],
        [1250, green],
        [700, '#ffffff'],
      ]);
    },
  },
  {
    name: 'a page that cannot scroll shows one viewport',
    site: {
      '/': html(
        `<style>html { overflow: hidden } section { height: 240px }</style><section style="background:${red}"></section><section style="background:${blue}"></section>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 240);
      expect(seen.picture.share(red, seen.exact ? 0 : 10)).toBeGreaterThan(0.98);
      expect(seen.report).toMatchObject({ strategy: 'single', truncated: false });
      if (seen.pdf) expect(seen.pdf.pages).toHaveLength(1);
    },
  },
  {
    name: 'a page that is locked by its loader is complete after it is unlocked',
    site: {
      '/': html(
        `<style>body { overflow: hidden }</style>${rowsOf(6)}<script>setTimeout(() => { document.body.style.overflow = 'auto' }, 300)</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => seen.expectSize(320, 600),
  },
  {
    name: 'a fixed sidebar extends to the end, and its centered content stays in place',
    site: {
      '/': html(
        `<style>nav { position: fixed; top: 0; left: 0; width: 80px; height: 100vh; display: flex; flex-direction: column; justify-content: center; background: ${blue} }
          nav a { height: 40px; background: ${red} } main { margin-left: 80px }</style><nav><a>menu</a></nav><main>${rowsOf(10)}</main>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(70, [
        [10, blue],
        [120, red],
        [200, blue],
        [500, blue],
        [990, blue],
      ]);
    },
  },
  {
    name: 'a fixed sidebar extends to the end, also if its background belongs to a box inside, and its footer stays in place',
    site: {
      '/': html(
        `<style>#side { position: fixed; top: 0; left: 0; width: 80px; height: 100vh } nav { height: 100%; display: flex; flex-direction: column; background: ${blue} }
          nav div { flex-grow: 1 } nav footer { height: 40px; background: ${red} } main { margin-left: 80px }</style>
         <div id="side"><nav><div>menu</div><footer>foot</footer></nav></div><main>${rowsOf(10)}</main>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(70, [
        [10, blue],
        [230, red],
        [260, blue],
        [990, blue],
      ]);
    },
  },
  {
    name: 'a dialog in the middle of the viewport stays in the first screen',
    site: {
      '/': html(
        `<div style="position:fixed;top:50%;left:100px;width:100px;height:40px;margin-top:-20px;background:${red}">Hello</div>${rowsOf(10)}`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => seen.expectColumn(190, [row(0), [120, red], row(5), row(4)]),
  },
  {
    name: 'a pane that the page has scrolled to its end stays there',
    site: {
      '/': html(
        `<div id="log" style="height:50vh;overflow:auto">${rowsOf(9)}</div>${rowsOf(6)}<script>log.scrollTop = log.scrollHeight</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 720);
      seen.expectColumn(100, [[70, row(8)[1]], row(0, 120), row(5, 120)]);
    },
  },
  {
    name: 'an app that is empty at first and adds items one by one is not captured blank',
    isLong: true,
    site: {
      '/': html(
        `<main></main><script>let count = 0; const add = () => { document.querySelector('main').insertAdjacentHTML('beforeend', '<p style="height:60px;margin:0;background:${green}">item</p>');
           count += 1; if (count < 4) setTimeout(add, 300); }; setTimeout(add, 300);</script>`,
      ),
    },
    formats: ['png'],
    options: { viewport: whole.viewport },
    check: (seen) => {
      expect(seen.report.blank).toBe(false);
      seen.expectColumn(200, [
        [30, green],
        [90, green],
        [150, green],
        [210, green],
      ]);
    },
  },
  {
    name: 'content that a script closes on resize stays open, because visitors do not resize',
    site: {
      '/': html(
        `<div id="menu" style="height:200px;background:${red}">menu</div>${rowsOf(6)}<script>addEventListener('resize', () => menu.remove())</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 800);
      seen.expectColumn(200, [[100, red], row(0, 200), row(5, 200)]);
    },
  },
  {
    name: 'a page that grows much, once, and is shown to its end is not truncated',
    isLong: true,
    site: {
      '/': html(
        `${rowsOf(6)}<main></main><script>addEventListener('scroll', () => { document.querySelector('main').innerHTML = \`${rowsOf(230)}\`; }, { once: true })</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 23_600);
      seen.expectColumn(200, [row(5), row(229, 600)]);
      expect(seen.report).toMatchObject({ truncated: false, softTimeouts: [] });
    },
  },
  {
    name: 'an app that paints its first screen late, over an existing background, is not captured blank',
    isLong: true,
    site: {
      '/': html(
        `<main style="height:120px;background:#ffffff"></main><script>setTimeout(() => { document.querySelector('main').style.background = '${green}' }, 900)</script>`,
      ),
    },
    formats: ['png'],
    options: { viewport: whole.viewport },
    check: (seen) => {
      expect(seen.report.blank).toBe(false);
      seen.expectColor(200, 100, green);
    },
  },
  {
    name: 'a tall page that is shown to its end is not truncated, and a canvas that always changes is waited for once',
    isLong: true,
    site: {
      '/': html(
        `<canvas id="noise" width="100" height="100"></canvas>${rowsOf(300)}<script>const context = noise.getContext('2d'); (function draw() {
           context.fillStyle = 'hsl(' + performance.now() + ' 90% 50%)'; context.fillRect(0, 0, 100, 100); requestAnimationFrame(draw); })()</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectColumn(200, [row(0, 104), row(299, 104)]);
      expect(seen.report).toMatchObject({ strategy: 'grown', truncated: false, softTimeouts: [] });
    },
  },
];

testCorpus(pages);
