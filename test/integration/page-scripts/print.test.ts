// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { scriptsHaveEnded } from '../../../services/renderer/page/scripts/activity.ts';
import { fixedHelpers } from '../../../services/renderer/page/scripts/fixed.ts';
import {
  isInert,
  keepDarkScheme,
  keepDrawings,
  readHeadings,
  usePaperAskedFor,
} from '../../../services/renderer/page/scripts/print.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import { everyElement } from '../../../services/renderer/page/scripts/tree.ts';
import { pinViewport } from '../../../services/renderer/page/scripts/viewport-units.ts';
import { foreign, type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

describe('isInert', () => {
  const isInertWith = async (body: string) => {
    await page.show(body);
    return page.call(isInert, [], [scriptsHaveEnded, cssMayUse]);
  };
  /** A listener keeps the scripts of the page from having ended. */
  const listen = "addEventListener('scroll', () => {})";

  test.each([
    ['a text', '<p>text</p>', true],
    ['a canvas without scripts that run', '<canvas></canvas>', true],
    ['a script that has ended', '<script>1</script>', true],
    ['a script that listens', `<script>${listen}</script>`, false],
    ['a canvas with a listener', `<canvas></canvas><script>${listen}; document.currentScript.remove()</script>`, false],
    ['a listener whose script is gone', `<script>${listen}; document.currentScript.remove()</script>`, true],
    [
      'a loaded script that is gone',
      `<script src="/gone.js"></script><script>${listen};
       for (const script of [...document.scripts]) script.remove()</script>`,
      false,
    ],
    [
      'an image of a listener',
      `<img src="/gone.png"><script>${listen}; document.currentScript.remove()</script>`,
      true,
    ],
    ['a handler', '<p onclick="1">text</p>', false],
    ['a style that moves', '<style>p { transition: color 1s }</style>', false],
    ['a style that is rendered in view', '<style>p { content-visibility: auto }</style>', false],
    ['a style that depends on the size', '<style>@container (width > 1px) { p { color: red } }</style>', false],
    ['an animated style', '<style>p { animation: x 1s }</style>', false],
    ['details', '<details></details>', false],
    ...['iframe', 'object', 'embed', 'picture', 'img srcset', 'img sizes', 'video', 'audio'].map(
      (tag) => [`<${tag}>`, `<${tag}></${tag}>`, false] as const,
    ),
    ['an animation in SVG', '<svg><animate></animate></svg>', false],
    ['a step in SVG', '<svg><set></set></svg>', false],
  ] as const)('with %s', async (_, body, is) => {
    expect(await isInertWith(body)).toBe(is);
  });
});

test('usePaperAskedFor sets margins, size and breaks', async () => {
  const rulesOf = async (...args: Parameters<typeof usePaperAskedFor>) => {
    await page.show('<p>text</p>');
    await page.call(usePaperAskedFor, args);
    return page.read(() =>
      document.adoptedStyleSheets.map((sheet) => [...sheet.cssRules].map(({ cssText }) => cssText)),
    );
  };
  const margin = { top: 1, right: 2, bottom: 3, left: 4 };
  const breaks =
    '*, ::before, ::after { break-before: auto !important; break-after: auto !important; page: auto !important; }';
  expect(await rulesOf(null, false, true)).toEqual([['@page { }']]);
  expect(await rulesOf(null, false, false)).toEqual([['@page { size: auto !important; }']]);
  expect(await rulesOf(margin, false, true)).toEqual([['@page { margin: 1mm 2mm 3mm 4mm !important; }']]);
  expect(await rulesOf(margin, true, false)).toEqual([
    ['@page { size: auto !important; margin: 1mm 2mm 3mm 4mm !important; }', breaks],
  ]);
});

test('keepDarkScheme applies to pages that support it', async () => {
  const rulesWith = async (head: string) => {
    await page.show('<p>text</p>', head);
    await page.call(keepDarkScheme, []);
    return page.read(() => document.adoptedStyleSheets.map((sheet) => sheet.cssRules[0]?.cssText));
  };
  const dark = [':root { color-scheme: dark !important; }'];
  expect(await rulesWith('')).toEqual([]);
  expect(await rulesWith('<meta name="color-scheme" content="light">')).toEqual([]);
  expect(await rulesWith('<meta name="Color-Scheme" content="light dark">')).toEqual(dark);
  expect(await rulesWith('<style>:root { color-scheme: light dark }</style>')).toEqual(dark);
  expect(await rulesWith('<meta name="theme" content="dark">')).toEqual([]);
});

test('readHeadings reads the texts of headings in their order', async () => {
  await page.show(
    `<h1> One  <b>two</b>\n</h1><p>text</p><div role="heading">three</div><h6></h6>
     <div><template shadowrootmode="open"><h2>four</h2></template></div>${[3, 4, 5].map((n) => `<h${n}>${n}</h${n}>`).join('')}
     <svg><g role="heading">x</g></svg>`,
  );
  expect(await page.call(readHeadings, [], [everyElement])).toEqual([
    'One two',
    'three',
    '',
    'four',
    '3',
    '4',
    '5',
    '',
  ]);
});

test('keepDrawings makes only canvases of WebGL keep their drawing', async () => {
  await page.show('<canvas></canvas>');
  await page.page.evaluate(keepDrawings);
  const kept = await page.page.evaluate(() => {
    const gl = document.createElement('canvas').getContext('webgl', { antialias: false });
    const off = new OffscreenCanvas(1, 1).getContext('webgl');
    const flat = document.createElement('canvas').getContext('2d', { alpha: false });
    return [
      ...[gl, off].map((context) => context?.getContextAttributes()?.preserveDrawingBuffer ?? 'no WebGL'),
      gl?.getContextAttributes()?.antialias,
      flat?.getContextAttributes().alpha,
    ];
  });
  expect(kept).toEqual([true, true, false, false]);
});

describe('pinViewport', () => {
  const helpers = [everyElement, ...fixedHelpers, cssMayUse];
  const pin = async (body: string, head = '') => {
    await page.show(body, head);
    await page.call(pinViewport, [], helpers);
  };

  test('replaces units of the height in rules and styles, and nothing else', async () => {
    await pin(
      `<p id="inline" style="height: 50vh; width: 10vw">text</p><p id="plain" style="height: 5px"></p>
       <div id="host"><template shadowrootmode="open"><style>i { height: 10vh }</style></template></div>`,
      `<style>
         a { height: 50vh; width: 50vmin } b { margin-top: -1.5dvh } i { height: calc(10svb + 10lvmax) } u { content: "10vh" '10vh'; height: 10VH }
         s { background: url(/10vh.png); height: .5vh } em { height: 100vhx; color: red } q { width: 10vw }
         @media screen { b { width: 10vh } } @keyframes x { from { height: 10vh } to { height: 20vh } }
         @media (min-height: 400px) { h1 { color: red } } @media (min-height: 500px) { h2 { color: red } }
         @media (orientation: portrait) { h3 { color: red } } @media (min-width: 1px) { h4 { color: red } }
         @media (min-aspect-ratio: 1/1) { h5 { color: red } }
       </style>
       <style media="(max-height: 100px)">p { color: red }</style>
       <style>@import url("data:text/css,p{margin-top:10vh}") (min-height: 1px);</style>
       <link rel="stylesheet" href="${foreign.sheet}">
       <script>const sheet = new CSSStyleSheet(); sheet.replaceSync('p { top: 10vh }'); document.adoptedStyleSheets = [sheet]</script>`,
    );
    const { text, media, imported, shadow, adopted, inline, plain } = await page.read(() => {
      const [own, small, importing] = [...document.styleSheets].filter(({ href }) => href === null).slice(1);
      const rule = importing?.cssRules[0] as CSSImportRule;
      return {
        text: [...(own?.cssRules ?? [])].map(({ cssText }) => cssText.replaceAll(/\s+/g, ' ')),
        media: small?.media.mediaText,
        imported: [rule.media.mediaText, rule.styleSheet === null ? '' : 'sheet'],
        shadow: document.querySelector('#host')?.shadowRoot?.styleSheets[0]?.cssRules[0]?.cssText,
        adopted: document.adoptedStyleSheets[0]?.cssRules[0]?.cssText,
        inline: document.querySelector('#inline')?.getAttribute('style'),
        plain: document.querySelector('#plain')?.getAttribute('style'),
      };
    });
    expect(text).toEqual([
      'a { height: 240px; width: 240px; }',
      'b { margin-top: -7.2px; }',
      'i { height: calc(112px); }',
      `u { content: "10vh" "10vh"; height: 48px; }`,
      's { background: url("/10vh.png"); height: 2.4px; }',
      'em { color: red; }',
      'q { width: 10vw; }',
      '@media screen { b { width: 48px; } }',
      '@keyframes x { 0% { height: 48px; } 100% { height: 96px; } }',
      '@media all { h1 { color: red; } }',
      '@media not all { h2 { color: red; } }',
      '@media not all { h3 { color: red; } }',
      '@media (min-width: 1px) { h4 { color: red; } }',
      '@media all { h5 { color: red; } }',
    ]);
    expect({ media, imported, shadow, adopted }).toEqual({
      media: 'not all',
      imported: ['all', 'sheet'],
      shadow: 'i { height: 48px; }',
      adopted: 'p { top: 48px; }',
    });
    expect([inline, plain]).toEqual(['height: 240px; width: 10vw;', 'height: 5px']);
  });

  test.each(['vh', 'vb', 'vmin'].flatMap((unit) => ['', 'd', 's', 'l'].map((kind) => [`${kind}${unit}`, 48] as const)))(
    'replaces the unit %s',
    async (unit, pixels) => {
      await pin('', `<style>p { height: 10${unit} }</style>`);
      expect(await page.read(() => document.styleSheets[1]?.cssRules[0]?.cssText)).toBe(`p { height: ${pixels}px; }`);
    },
  );

  test.each(['vmax', 'dvmax', 'svmax', 'lvmax'])('replaces the unit %s', async (unit) => {
    await pin('', `<style>p { height: 10${unit} }</style>`);
    expect(await page.read(() => document.styleSheets[1]?.cssRules[0]?.cssText)).toBe('p { height: 64px; }');
  });

  test('keeps strings and addresses, also in custom properties', async () => {
    const css = String.raw`p { --a: "\" 10vh"; --b: '\' 10vh'; --c: url(/a,10vh.png); }`;
    await pin('', `<style>${css}</style>`);
    expect(await page.read(() => document.styleSheets[1]?.cssRules[0]?.cssText)).toBe(css);
  });

  test('replaces units in imported sheets, and passes over elements that cannot have a style', async () => {
    const script = `const sheet = URL.createObjectURL(new Blob(['p { top: 10vh }'], { type: 'text/css' }));
      document.head.insertAdjacentHTML('beforeend', '<style>@import url("' + sheet + '")</style>');
      document.documentElement.prepend(document.createElementNS('urn:other', 'foreign'))`;
    await pin('<p style="top: 10vh">text</p>', `<script>${script}</script>`);
    const rules = await page.read(() => {
      const rule = document.styleSheets[1]?.cssRules[0] as CSSImportRule;
      return [rule.styleSheet?.cssRules[0]?.cssText, document.querySelector('p')?.getAttribute('style')];
    });
    expect(rules).toEqual(['p { top: 48px; }', 'top: 48px;']);
  });

  test('fixes the heights of boxes that follow the edges of the viewport', async () => {
    await pin(
      `<div id="fixed"></div><div id="share"></div><div id="all"></div><div id="near"></div><div id="part"></div><div id="flow"></div>`,
      `<style>html { height: 100% } #fixed { position: fixed; bottom: 0; height: 30px } #share { position: fixed; top: 5px; height: 50% }
         #all { position: absolute; top: 0; bottom: 0 } #near { position: absolute; top: 0; bottom: 1px }
         #part { position: absolute; top: 0; bottom: 2px } #flow { height: 100% }</style>`,
    );
    const styles = await page.read(() =>
      [document.documentElement, ...document.querySelectorAll<HTMLElement>('body > div')].map(
        (each) => each.style.cssText,
      ),
    );
    const [root, fixed, share, all, near, part, flow] = styles;
    expect(root).toBe('height: 480px !important;');
    expect(fixed).toMatch(/top: 450px !important/);
    expect(fixed).not.toContain(' height');
    expect(share).toMatch(/top: 5px !important/);
    expect(share).toMatch(/height: 240px !important/);
    expect(all).toBe('height: 480px !important; bottom: auto !important;');
    expect(near).toBe('height: 479px !important; bottom: auto !important;');
    expect([part, flow]).toEqual(['', '']);
    await pin('<p>text</p>', '<style>html { height: 100px }</style>');
    expect(await page.read(() => document.documentElement.getAttribute('style'))).toBeNull();
  });
});
