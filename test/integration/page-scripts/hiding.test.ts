// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { beforeAll, expect, test } from 'vitest';
import { adoptHiding, enforceHiding } from '../../../services/renderer/page/scripts/hiding.ts';
import * as script from '../../../services/renderer/page/scripts/selecting.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const openRoots: typeof script.openRoots;

const { selecting } = script;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const shadow = (content: string) => `<template shadowrootmode="open">${content}</template>`;
const parsed = (selectors: readonly string[]) => selectors.map(parseSelector);
const adopt = (hide: readonly string[], remove: readonly string[] = []) =>
  page.call(adoptHiding, [parsed(hide), parsed(remove)], selecting);
const enforce = (hide: readonly string[], remove: readonly string[] = []) =>
  page.call(enforceHiding, [parsed(hide), parsed(remove)], selecting);
/** Returns how the elements with an id are shown, also in shadow roots and frames. */
const looks = () =>
  page.read(() => {
    const [frame] = document.querySelectorAll('iframe');
    const roots = [document, ...(frame?.contentDocument ? [frame.contentDocument] : [])].flatMap((each) =>
      openRoots(each),
    );
    const all = roots.flatMap((root) => [...root.querySelectorAll('[id]')]);
    return Object.fromEntries(
      all.map((each) => {
        const { display, visibility } = getComputedStyle(each);
        return [each.id, display === 'none' ? 'gone' : visibility];
      }),
    );
  }, selecting);
const sheets = () => page.read(() => document.adoptedStyleSheets.map(({ cssRules }) => cssRules.length));

test('adoptHiding hides with style sheets, in shadow roots and frames too', async () => {
  await page.show(
    `<b id="a"><i id="b" style="visibility:visible">text</i></b><u id="c">text</u><s id="s">text</s><p id="p">${shadow('<b id="d">text</b><u id="e">text</u>')}</p>
     <iframe srcdoc="<b id=f>text</b><em id=g>text</em>"></iframe>`,
  );
  await adopt(['b', 'iframe >> em'], ['u']);
  expect(await looks()).toEqual({
    a: 'hidden',
    b: 'hidden',
    c: 'gone',
    s: 'visible',
    p: 'visible',
    d: 'hidden',
    e: 'gone',
    f: 'visible',
    g: 'hidden',
  });
  expect(await sheets()).toEqual([2]);
  // The same call changes nothing more, and other selectors replace the rules.
  await page.read(() => void Object.assign(globalThis, { rule: document.adoptedStyleSheets[0]?.cssRules[0] }));
  await adopt(['b', 'iframe >> em'], ['u']);
  expect(await sheets()).toEqual([2]);
  const isSame = () => (globalThis as { readonly rule?: CSSRule }).rule === document.adoptedStyleSheets[0]?.cssRules[0];
  expect(await page.read(isSame)).toBe(true);
  await adopt(['s']);
  expect(await looks()).toMatchObject({ a: 'visible', c: 'visible', s: 'hidden' });
  expect(await sheets()).toEqual([0, 1]);
});

test('adoptHiding skips selectors that the browser does not support', async () => {
  await page.show('<b id="a">text</b><u id="c">text</u>');
  await adopt(['b:unknown-thing', 'b'], ['u:unknown-thing >> b', 'u']);
  expect(await looks()).toEqual({ a: 'hidden', c: 'gone' });
  expect(await sheets()).toEqual([2]);
});

test('adoptHiding runs in a frame only for selectors that enter frames', async () => {
  await page.show('<b id="a">text</b><iframe srcdoc="<b id=b>text</b>"></iframe>');
  const runIn = async (hide: readonly string[]) => {
    await page.call(
      (run: string, parts: ReturnType<typeof parsed>) => {
        const [frame] = document.querySelectorAll('iframe');
        const view = frame?.contentWindow as Window & typeof globalThis;
        const own = (value: unknown) => value;
        const scope = new view.Function('own', 'parts', run);
        scope(own, parts);
      },
      [`${selecting.map(String).join('\n')}; (${String(adoptHiding)})(parts, [])`, parsed(hide)],
    );
  };
  await runIn(['b']);
  expect(await looks()).toEqual({ a: 'visible', b: 'visible' });
  await runIn(['b', 'iframe >> b']);
  expect(await looks()).toEqual({ a: 'hidden', b: 'hidden' });
});

test('enforceHiding hides what style sheets cannot hide', async () => {
  const late = 'visibility:visible !important';
  await page.show(
    `<style>u, b { transition: visibility 100s }</style>
     <b id="a" style="${late}"><i id="b" style="${late}">text</i></b><u id="c" style="display:block !important">text</u><s id="s">text</s>
     <p id="p">${shadow(`<b id="d">text</b><em id="e" style="${late}">text</em>`)}</p><p id="q">${shadow('<u id="f">text</u>')}</p>
     <form id="r"><b id="g">text</b><input name="style"></form>`,
  );
  expect(await enforce(['p > b', '#a', 'form'], ['u', 'p:nth-of-type(2) > u'])).toBeNull();
  expect(await looks()).toEqual({
    a: 'hidden',
    b: 'hidden',
    c: 'gone',
    s: 'visible',
    p: 'visible',
    d: 'hidden',
    e: 'visible',
    q: 'visible',
    f: 'gone',
    r: 'hidden',
    g: 'hidden',
  });
  const styles = await page.read(() =>
    [...document.querySelectorAll<HTMLElement>('#a, #c')].map((each) => each.style.cssText),
  );
  expect(styles).toEqual([
    'visibility: hidden !important; transition: none !important;',
    'display: none !important; transition: none !important;',
  ]);
  // Hidden elements keep their style.
  await page.show('<b id="a" style="visibility:hidden">text</b><u id="c" style="display:none">text</u>');
  await enforce(['b'], ['u']);
  expect(
    await page.read(() => [...document.querySelectorAll<HTMLElement>('[id]')].map((each) => each.style.cssText)),
  ).toEqual(['visibility: hidden;', 'display: none;']);
  await page.show(`<p id="p">${shadow('<b id="d" style="visibility:visible">text</b>')}</p>`);
  await enforce(['p']);
  expect(await looks()).toEqual({ p: 'hidden', d: 'hidden' });
});

test('enforceHiding hides 20,000 elements, and passes over those that cannot have a style', async () => {
  const important = 'style="display:block !important;visibility:visible !important"';
  const show = async (count: number) => {
    // In rows, because the browser is slow with a single element that has all of them as children.
    const perRow = 200;
    const rows = Array.from({ length: Math.ceil(count / perRow) }, (_, row) =>
      `<b ${important}></b>`.repeat(Math.min(perRow, count - row * perRow)),
    );
    await page.show(`<main>${rows.map((row) => `<p>${row}</p>`).join('')}</main>`);
    await page.read(() => {
      document.querySelector('main')?.before(document.createElementNS('urn:other', 'foreign'));
    });
  };
  const shown = () =>
    page.read(() =>
      [...document.querySelectorAll('b')]
        .map((each, index) => [index, getComputedStyle(each)] as const)
        .filter(([, { display, visibility }]) => display !== 'none' && visibility === 'visible')
        .map(([index]) => index),
    );
  await show(20_001);
  await enforce([], ['b']);
  expect(await shown()).toEqual([20_000]);
  // With `main` and 100 rows.
  await show(19_900);
  await enforce(['main']);
  expect(await shown()).toEqual([19_899]);
  await enforce(['foreign'], ['foreign']);
});

test('enforceHiding enters frames, and returns the first selector that the browser does not support', async () => {
  await page.show('<b id="a">text</b><iframe srcdoc="<b id=b>text</b><u id=c>text</u>"></iframe>');
  expect(await enforce(['b:unknown-thing'])).toBe(0);
  expect(await enforce(['b', 'iframe >> b'], ['u', 'iframe >> u:unknown-thing'])).toBe(3);
  expect(await looks()).toEqual({ a: 'visible', b: 'visible', c: 'visible' });
  expect(await enforce(['iframe >> b'], ['iframe >> u'])).toBeNull();
  expect(await looks()).toEqual({ a: 'visible', b: 'hidden', c: 'gone' });
  await page.show('<b id="a">text</b><iframe srcdoc="<b id=b>text</b><u id=c>text</u><iframe id=d>"></iframe>');
  await enforce(['b', 'iframe >> u']);
  expect(await looks()).toEqual({ a: 'hidden', b: 'visible', c: 'hidden', d: 'visible' });
});
