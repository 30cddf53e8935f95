// @module-tag long
import { beforeAll, describe, expect, test } from 'vitest';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { html, type ShotOptions, type TestEngine } from '../harness/engine.ts';
import { rasterPage } from '../harness/pdf-raster.ts';
import { Picture } from '../harness/picture.ts';
import { corpusEngine } from './corpus.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await corpusEngine();
});

/**
 * Adds elements with the names of members that scripts may read. Fields of every form get the names of all members of a form and of other
 * nodes. Elements of the document get the names of members of the document and the window, and of globals of scripts. Runs in the page.
 *
 * @param isNamed if false, the same elements have neutral names
 */
function giveNames(isNamed: boolean): void {
  const membersOf = (object: object | null): string[] =>
    object === null
      ? []
      : [...Object.getOwnPropertyNames(object), ...membersOf(Object.getPrototypeOf(object) as object)];
  const kinds = [
    HTMLFormElement,
    HTMLIFrameElement,
    HTMLImageElement,
    HTMLVideoElement,
    HTMLInputElement,
    HTMLSlotElement,
  ];
  const called = (names: readonly string[]) =>
    [...new Set(names)].filter((name) => !name.startsWith('on')).map((name) => (isNamed ? name : `no-${name}`));
  const kept = [
    'Scroller',
    'Sizes',
    'Motion',
    'Effects',
    'Seen',
    'Panes',
    'Fixed',
    'FixedChanges',
    'Element',
    'Tiles',
    'Revealed',
  ];
  const [ofNodes, ofDocument, ofWindow] = [
    called(kinds.flatMap((kind) => membersOf(kind.prototype))),
    called([...membersOf(HTMLDocument.prototype), 'body', 'head']),
    called([
      ...Object.keys(window),
      'Element',
      'Node',
      'CSSStyleSheet',
      'webcapture',
      ...kept.map((name) => `webcapture${name}`),
    ]),
  ];
  const fields = ofNodes.map((name) => `<input type="hidden" name="${name}">`).join('');
  for (const form of document.forms) form.insertAdjacentHTML('beforeend', fields);
  const tags = ['img', 'form', 'embed', 'object'];
  const elements = [
    ...ofDocument.map(
      (name, index) => `<${tags[index % tags.length]} name="${name}" hidden></${tags[index % tags.length]}>`,
    ),
    ...ofWindow.map((name) => `<a id="${name}" hidden></a>`),
    ...called(['querySelectorAll', 'documentElement', 'innerHeight']).map(
      (name) => `<iframe name="${name}" hidden></iframe>`,
    ),
  ];
  document.body.insertAdjacentHTML('beforeend', `<div hidden>${elements.join('')}</div>`);
}

const forms = `<style>.appears { opacity: 0 } body { margin: 0 } form { margin: 0 }</style>
  <form style="position:fixed;top:0;width:100%;height:30px;background:#00f">bar</form>
  <form class="main" style="padding:40px 20px;background:#ffc"><h1>Heading</h1><p>Some <a href="https://example.com/x">link</a></p></form>
  <form class="gone" style="height:40px;background:#f00;display:block!important">gone</form>
  <form class="hidden" style="height:40px;background:#f00;visibility:visible!important">hidden</form>
  <form style="position:sticky;top:30px;height:40px;background:#0cc">sticky</form>
  <form style="height:60px;overflow:auto;background:#ccc"><p style="height:200px">pane</p></form>
  <form style="height:100vh;background:#cfc">as tall as the viewport</form>
  <form class="appears" style="height:200px;background:#080">appears in sight</form>
  <form class="part" style="height:100px;width:50%;background:#c0c">part</form>`;
const appear = `new IntersectionObserver(([entry]) => { if (entry.isIntersecting) Element.prototype.setAttribute.call(entry.target, 'class', 'there') })
  .observe(document.getElementsByClassName('appears')[0])`;

const page = html(forms);
const withBanner = html(
  `${forms}<form style="position:fixed;bottom:0;width:100%;height:100px;background:#f08">We use cookies. <button type="button">Accept all</button></form>`,
);
const inScroller = html(
  `<style>html, body { height: 100%; overflow: hidden }</style><form style="height:100vh;overflow:auto">${forms.replaceAll('<form', '<div').replaceAll('</form', '</div')}</form>`,
);

/** Returns the page, whose elements may be named after members of the DOM. */
const capture = async (source: string, options: ShotOptions, isNamed: boolean) => {
  const script = `<script>${appear}; (${giveNames.toString()})(${isNamed})</script>`;
  const rendering = await engine.render({ kind: 'html', html: source + script }, options);
  const { bytes, extracted } = rendering;
  const { title, softTimeouts, images } = rendering.report;
  const picture = options.format === 'pdf' ? await rasterPage(bytes) : await Picture.of(bytes);
  return { picture, extracted, report: { title, softTimeouts, images } };
};

describe(
  'elements named after members of forms, documents and windows change no picture',
  { concurrent: false },
  () => {
    test.each<[name: string, source: string, options: ShotOptions]>([
      [
        'viewport',
        page,
        {
          hide: ['.hidden'],
          remove: ['.gone'],
          click: ['.main'],
          waitFor: { selector: '.main', state: 'visible', timeout: 5000, required: true },
          extract: ['text', 'markdown', 'links', 'metadata'],
        },
      ],
      ['cookie banners', withBanner, { block: { ...blockNothing, ads: true, cookieBanners: true } }],
      ['selector', page, { selector: '.part', elementPadding: 10 }],
      ['full page', page, { isFullPage: true, hide: ['.hidden'], remove: ['.gone'] }],
      ['full page in a form that scrolls', inScroller, { isFullPage: true }],
      ['pdf', page, { format: 'pdf', isFullPage: true }],
    ])('%s', async (_, source, options) => {
      const [plain, named] = [await capture(source, options, false), await capture(source, options, true)];
      expect(named.picture.size).toBe(plain.picture.size);
      expect(named.picture.dominant(20)).toEqual(plain.picture.dominant(20));
      expect(named.extracted).toEqual(plain.extracted);
      expect(named.report).toEqual(plain.report);
      if (options.hide) expect(named.picture.share('#ff0000')).toBe(0);
      if (options.block) expect(named.picture.share('#ff0088')).toBe(0);
    });
  },
);
