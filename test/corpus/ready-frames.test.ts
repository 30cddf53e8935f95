import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { withOther } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const style = '<style>iframe { display: block; width: 100%; height: 100px; border: 0 }</style>';
const red = '<body style="background:#cc0000">';
const framed = (head = '') =>
  withOther(html('<iframe src="/inner"></iframe><iframe src="{other}/inner"></iframe>', style + head));

const areGreen: HardPage['check'] = (seen) => {
  seen.expectColumn(300, [
    [50, green],
    [150, green],
  ]);
  expect(seen.report.softTimeouts).toEqual([]);
};

const inner = {
  'a timer of 1.5 s': `${red}<script>setTimeout(() => { document.body.style.background = '${green}' }, 1500)</script>`,
  'a fade-in by frame callbacks': `<style>html { background: #cc0000 } body { position: absolute; inset: 0; background: ${green} }</style>
    <body style="opacity:0"><script>const begin = performance.now();
      (function step() {
        const share = Math.min(1, (performance.now() - begin) / 1000);
        document.body.style.opacity = share;
        if (share < 1) requestAnimationFrame(step);
      })()</script>`,
  'an animation with an end': `<style>@keyframes in { from { background: #cc0000 } } body { background: ${green}; animation: in 60s }</style>`,
};

const pages: readonly HardPage[] = [
  ...Object.entries(inner).map(([what, document], index): HardPage => ({
    name: `the capture waits for frames of the same and of another site: ${what}`,
    site: { '/': framed(), '/inner': html(document) },
    formats: ['png'],
    isLong: index > 0,
    check: areGreen,
  })),
  // Full Chromium runs frames of other sites in separate processes. Without the watch script, a timer cannot be detected.
  ...Object.entries(inner)
    .slice(1)
    .map(([what, document]): HardPage => ({
      name: `the capture waits for frames of the same and of another site with antiBot: ${what}`,
      site: { '/': framed(), '/inner': html(document) },
      options: { antiBot: true },
      formats: ['png'],
      isLong: true,
      check: areGreen,
    })),
  ...(['a whole page', 'a phone'] as const).map((what): HardPage => ({
    name: `the capture waits for frames of the same and of another site: a timer of 1.5 s, on ${what}`,
    site: {
      '/': framed('<meta name="viewport" content="width=device-width">'),
      '/inner': html(inner['a timer of 1.5 s']),
    },
    options: what === 'a phone' ? { isMobile: true, viewport: { width: 375 } } : { isFullPage: true },
    formats: ['png'],
    isLong: true,
    check: areGreen,
  })),
  {
    name: 'the capture waits for frames of a page that is slow to draw',
    site: {
      '/': framed(`<style>
        @keyframes slow { from { left: 0 } to { left: 50px } }
        i { position: absolute; top: 500px; width: 1000px; height: 400px; background: linear-gradient(blue, red);
          filter: blur(60px); animation: slow 1.3s linear }
      </style>${'<i></i>'.repeat(60)}`),
      '/inner': html(inner['a timer of 1.5 s']),
    },
    formats: ['png'],
    isLong: true,
    check: areGreen,
  },
  {
    name: 'the capture does not wait for hidden frames and frames out of view',
    site: {
      '/': withOther(
        html(
          `<iframe style="display:none" src="{other}/inner"></iframe><div style="height:3000px"></div><iframe src="/inner"></iframe><iframe src="{other}/inner"></iframe>`,
          style,
        ),
      ),
      '/inner': html(`${red}<script>setInterval(() => { document.body.append('x') }, 50)</script>`),
    },
    isLong: true,
    isAlone: true,
    check: ({ report }) => {
      expect(report.softTimeouts).toEqual([]);
      expect(report.timings.settleMs).toBeLessThan(2000);
    },
  },
  {
    name: 'a frame that adds text endlessly is captured at the timeout, and named',
    site: {
      '/': framed(),
      '/inner': html(`${red}<script>setInterval(() => { document.body.append('x') }, 50)</script>`),
    },
    formats: ['png'],
    isLong: true,
    check: ({ report }) => expect(report.softTimeouts).toEqual(['content']),
  },
];

testCorpus(pages);
