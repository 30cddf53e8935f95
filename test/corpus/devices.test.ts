import { expect } from 'vitest';
import { devices } from '@webcapture/shared/api/devices.ts';
import { marked } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { html, type ShotOptions } from '../harness/engine.ts';

/** A phone whose pictures are smaller than those of real phones. */
const phone: ShotOptions = {
  viewport: { width: 400, height: 600, deviceScaleFactor: 2 },
  screen: { width: 400, height: 800 },
  isMobile: true,
};

const responsive = '<meta name="viewport" content="width=device-width, initial-scale=1">';

/** Green if a page detects that phone. */
const phonePage = html(
  `<style>html { background: #ff0000 } .phone { background: ${marked('#00aa00')} } .end { height: 900px } .end::after { content: ''; position: absolute; top: 800px; left: 0; width: 100px; height: 100px; background: #0000aa }</style>
   <div class="end"></div>
   <script>
     const fits = ['(pointer: coarse)', '(hover: none)', '(width: 400px)', '(device-height: 800px)', '(orientation: portrait)'];
     const isPhone = fits.every((query) => matchMedia(query).matches) && navigator.maxTouchPoints === 5 && 'ontouchstart' in window &&
       screen.width === 400 && screen.orientation.type === 'portrait-primary' && devicePixelRatio === 2 && innerHeight === 600;
     if (isPhone) document.documentElement.className = 'phone';
   </script>`,
  responsive,
);

/** A page without viewport tag, which is 980 px wide on a phone. 2450 px of the page are 1000 px on the phone. */
const oldPage = html(
  `<style>html { background: #ffff00 }</style><div style="width: 490px; height: 1225px; background: #00aa00"></div>
   <div style="height: 1225px; background: #0000aa"></div>`,
);

/** Content that is wider than the screen at the first scale, so that a phone zooms out. */
const wideContent = html(
  `<div style="width: 1600px; height: 300px; background: #00aa00"></div><div style="height: 900px; background: #0000aa"></div>`,
  responsive,
);

const pages: readonly HardPage[] = [
  {
    name: 'a page that detects a phone',
    site: { '/': phonePage },
    options: phone,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(800, 1200);
      seen.expectColor(600, 1100, '#00aa00');
    },
  },
  {
    name: 'a page that detects a phone, with antiBot',
    site: { '/': phonePage },
    options: { ...phone, antiBot: true, isFullPage: true },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(800, 1800);
      seen.expectColor(600, 1100, '#00aa00');
      seen.expectColor(100, 1700, '#0000aa');
    },
  },
  {
    name: 'a whole page on a phone',
    site: { '/': phonePage },
    options: { ...phone, isFullPage: true },
    formats: ['webp'],
    check: (seen) => {
      seen.expectSize(800, 1800);
      seen.expectColor(600, 1100, '#00aa00');
      seen.expectColor(100, 1700, '#0000aa');
    },
  },
  {
    name: 'a page on paper has the width of the phone, regardless of its viewport tag',
    site: { '/': phonePage.replace('width=device-width, initial-scale=1', 'width=2000') },
    options: { ...phone, isFullPage: true },
    formats: ['pdf'],
    check: (seen) => seen.expectSize(400, 900),
  },
  {
    name: 'a desktop page is as small on a phone as on a real one',
    site: { '/': oldPage },
    options: phone,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(800, 1200);
      seen.expectColumn(395, [
        [0, '#00aa00'],
        [995, '#00aa00'],
        [1005, '#0000aa'],
      ]);
      seen.expectColumn(405, [
        [0, '#ffff00'],
        [1005, '#0000aa'],
      ]);
    },
  },
  {
    name: 'a full desktop page',
    site: { '/': oldPage },
    options: { ...phone, isFullPage: true },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(800, 2000);
      seen.expectColumn(395, [
        [995, '#00aa00'],
        [1005, '#0000aa'],
        [1995, '#0000aa'],
      ]);
      expect(seen.report.strategy).toBe('grown');
    },
  },
  {
    name: 'a full page that overflows the width of the phone is not taller for that',
    isLong: true,
    site: { '/': wideContent },
    options: { ...phone, isFullPage: true },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(800, 2400);
      seen.expectColumn(795, [
        [595, '#00aa00'],
        [605, '#0000aa'],
        [2395, '#0000aa'],
      ]);
    },
  },
  ...[phonePage, oldPage].flatMap((page, index): HardPage[] => {
    const { viewport, screen, userAgent } = devices.get('Pixel 7') ?? {};
    const check: HardPage['check'] = ({ picture, rendering }) => {
      expect(picture.width).toBe(rendering.width);
      expect(picture.height).toBe(rendering.height);
      expect([1081, 1082]).toContain(picture.width);
    };
    const options = { viewport, screen, userAgent, isMobile: true } as ShotOptions;
    return [false, true].map((isFullPage) => ({
      name: `a phone with a fractional scale, ${index === 0 ? 'a page for phones' : 'a page for desktops'}, full page: ${isFullPage}`,
      site: { '/': page },
      options: { ...options, isFullPage },
      formats: ['png'],
      check,
    }));
  }),
  ...[1, 10_000].map((width): HardPage => ({
    name: `a page with a viewport tag of ${width} px`,
    site: {
      '/': html('<style>html { background: #00aa00 }</style>text', `<meta name="viewport" content="width=${width}">`),
    },
    options: { ...phone, isFullPage: true },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(800, 1200);
      seen.expectColor(700, 1100, '#00aa00');
    },
  })),
  {
    name: 'an element far down the page on the phone, with scripts disabled',
    isLong: true,
    site: {
      '/': html(
        `<style>body { margin: 0 }</style><div style="height: 1500px"></div><div id="part" style="width: 100px; height: 50px; background: #00aa00"></div>
         <script>document.body.textContent = ''</script>`,
        responsive,
      ),
    },
    options: { ...phone, selector: '#part', javaScript: false },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(200, 100);
      expect(seen.picture.share('#00aa00')).toBe(1);
    },
  },
  {
    name: 'the rectangle of a desktop page is in CSS pixels of the page',
    site: { '/': oldPage },
    options: { ...phone, clip: { x: 480, y: 0, width: 20, height: 20 } },
    formats: ['png'],
    // 20 px of 980 px, shown in a width of 800 px.
    check: (seen) => seen.expectSize(16, 16),
  },
  {
    name: 'a desktop page that redirects to a page for phones while it is being measured',
    isLong: true,
    site: { '/': html(`<script>setTimeout(() => location.replace('/phone'), 400)</script>`), '/phone': phonePage },
    options: { ...phone, isFullPage: true, delay: 800 },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(800, 1800);
      seen.expectColor(600, 1100, '#00aa00');
    },
  },
];

testCorpus(pages);
