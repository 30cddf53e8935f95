/// <reference lib="dom" />
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { adoptHiding, enforceHiding } from '../../../services/renderer/page/scripts/hiding.ts';
import * as script from '../../../services/renderer/page/scripts/selecting.ts';
import { foreign, type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const assertKnown: typeof script.assertKnown;
declare const documentOf: typeof script.documentOf;
declare const drawnParent: typeof script.drawnParent;
declare const enterFrames: typeof script.enterFrames;
declare const holds: typeof script.holds;
declare const openRoots: typeof script.openRoots;
declare const rememberRoots: typeof script.rememberRoots;
declare const selectAll: typeof script.selectAll;

const { selecting } = script;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const shadow = (content: string) => `<template shadowrootmode="open">${content}</template>`;

describe('selectAll', () => {
  const idsOf = (selector: string) =>
    page.call(
      (parts: ReturnType<typeof parseSelector>) =>
        selectAll(parts)
          .elements.map(({ id }) => id)
          .join(' '),
      [parseSelector(selector)],
      selecting,
    );

  test('matches combinators across shadow roots, in tree order', async () => {
    await page.show(
      `<main id="m"><p id="a" class="x">${shadow(
        '<b id="c" class="y"></b><i id="d"></i><b id="e"></b><div id="f"><b id="g"></b></div>',
      )}<b id="h"></b><i id="j"></i></p><p id="k">${shadow(`<b id="l"></b><span id="n">${shadow('<b id="o"></b>')}</span>`)}</p><b id="q"></b></main>
       <form id="r"><b id="s"></b><input name="parentElement"><input name="matches"></form>`,
    );
    for (const [selector, ids] of [
      ['b', 'c e g h l o q s'],
      ['p > b', 'c e h l'],
      ['p b', 'c e g h l o'],
      ['p.x b', 'c e g h'],
      ['main > p > b', 'c e h l'],
      ['main b', 'c e g h l o q'],
      ['main > b', 'q'],
      ['p > span > b', 'o'],
      ['p > div > b', 'g'],
      ['main p span b', 'o'],
      ['b + i', 'd j'],
      ['i + b', 'e'],
      ['b ~ b', 'e'],
      ['p ~ b', 'q'],
      ['.y ~ div b', 'g'],
      ['.y + div b', ''],
      ['.x > .y + i + b', 'e'],
      ['i, p > b', 'c d e h j l'],
      ['p > b, span > b', 'c e h l o'],
      ['span > i, div > i', ''],
      ['form > b', 's'],
      ['html b#q', 'q'],
      ['nav', ''],
    ] as const)
      expect(await idsOf(selector), selector).toBe(ids);
  });

  test('ends on selectors for which a search without memory would take exponential time', async () => {
    await page.show(`<p>${shadow(`${'<div>'.repeat(60)}<b></b>`)}</p>`);
    expect(await idsOf(`${'div '.repeat(25)} nav b`)).toBe('');
  });

  test('enters frames that match the parts before the last one', async () => {
    const frame = (id: string, content: string) => `<iframe id="${id}" srcdoc="${content}"></iframe>`;
    await page.show(
      `${frame('one', '<b id=a></b>')}${frame('two', '<b id=b></b>')}<p>${shadow(frame('three', '<b id=c></b>'))}</p><iframe src="${foreign.frame}" id="far"></iframe>
       <div id="no"></div>`,
    );
    const found = (selector: string, ignored = '') =>
      page.call(
        (parts: ReturnType<typeof parseSelector>, without: string) => {
          const { elements, documents, isUnreadable } = selectAll(parts, { enters: ({ id }) => id !== without });
          return [elements.map(({ id }) => id).join(' '), documents.length, isUnreadable];
        },
        [parseSelector(selector), ignored],
        selecting,
      );
    expect(await found('iframe >> b')).toEqual(['a b c', 3, false]);
    expect(await found('iframe >> b', 'one')).toEqual(['b c', 2, false]);
    expect(await found('p > iframe >> b')).toEqual(['c', 1, false]);
    expect(await found('#two >> b')).toEqual(['b', 1, false]);
    expect(await found('#far >> b')).toEqual(['', 0, true]);
    expect(await found('#no >> b')).toEqual(['', 0, true]);
    expect(await found('nav >> b')).toEqual(['', 0, false]);
    expect(await found('#one >> iframe >> b')).toEqual(['', 0, false]);
  });

  test('uses the documents and roots that it is given', async () => {
    await page.show(`<iframe srcdoc="<b id=in></b>"></iframe><b id="out">${shadow('<b id="deep"></b>')}</b>`);
    const found = await page.call(
      (parts: ReturnType<typeof parseSelector>) => {
        const [frame] = document.querySelectorAll('iframe');
        const start = frame?.contentDocument as Document;
        const ids = (options: script.SelectOptions) => selectAll(parts, options).elements.map(({ id }) => id);
        return [ids({ start }), ids({ rootsOf: (each) => [each] }), enterFrames(parts, { start }).documents.length];
      },
      [parseSelector('b')],
      selecting,
    );
    expect(found).toEqual([['in'], ['out'], 1]);
  });

  test('throws if the browser does not support a part, also one that is not reached', async () => {
    await page.show('<p></p>');
    for (const selector of ['p:unknown-thing', 'nav >> p:unknown-thing', 'p:unknown-thing >> p']) {
      const call = page.call((parts) => assertKnown(parts), [parseSelector(selector)], selecting);
      await expect(call, selector).rejects.toThrow('not a valid selector');
      const search = page.call((parts) => selectAll(parts).documents.length, [parseSelector(selector)], selecting);
      await expect(search, selector).rejects.toThrow('not a valid selector');
    }
    await page.call((parts) => assertKnown(parts), [parseSelector('p >> p')], selecting);
  });
});

test('drawnParent and holds follow slots and hosts', async () => {
  await page.show(
    `<div id="host">${shadow('<p id="p"><slot id="slot"></slot></p>')}<b id="b">text</b></div>
     <form id="f"><b id="c"></b><input name="assignedSlot"><input name="parentNode"></form>`,
  );
  const found = await page.read(() => {
    const [host, b, c] = ['host', 'b', 'c'].map((id) => document.querySelector(`#${id}`) as Element);
    const inner = host?.shadowRoot?.querySelector('p') as Element;
    const chainOf = (node: Node | null | undefined) => {
      const ids: string[] = [];
      for (let at = drawnParent(node as Node); at !== null; at = drawnParent(at)) ids.push(at.id || at.localName);
      return ids.join(' ');
    };
    const holding = [host, inner].map((outer) => holds(outer as Element, b as Element));
    return {
      chains: [chainOf(b), chainOf(b?.firstChild), chainOf(inner), chainOf(host?.shadowRoot), chainOf(c)],
      ends: [drawnParent(document) === null, drawnParent(document.createElement('p')) === null],
      holding: [...holding, holds(b as Element, b as Element), holds(b as Element, host as Element)],
      fragment: drawnParent(document.createDocumentFragment().appendChild(document.createElement('i'))) === null,
    };
  }, selecting);
  expect(found).toEqual({
    chains: ['slot p host body html', 'b slot p host body html', 'host body html', '', 'f body html'],
    ends: [true, true],
    holding: [true, true, true, false],
    fragment: true,
  });
});

test('openRoots finds open shadow roots at any depth, and rememberRoots finds them once', async () => {
  await page.show(
    `<div>${shadow(`<p>${shadow('<b></b>')}</p>`)}</div><div>${shadow('')}</div><div><template shadowrootmode="closed"><p>${shadow('')}</p></template></div>`,
  );
  const found = await page.read(() => {
    const host = document.querySelector('div') as Element;
    const rootsOf = rememberRoots();
    const first = rootsOf(document);
    return {
      ofDocument: openRoots(document).map(({ nodeName, childNodes }) => `${nodeName} ${childNodes.length}`),
      ofHost: openRoots(host).length,
      ofShadow: openRoots(host.shadowRoot as ShadowRoot).length,
      isSame: rootsOf(document) === first && first.length === 4,
    };
  }, selecting);
  expect(found).toEqual({
    ofDocument: ['#document 2', '#document-fragment 1', '#document-fragment 0', '#document-fragment 1'],
    ofHost: 3,
    ofShadow: 2,
    isSame: true,
  });
});

test('documentOf returns documents of frames that can be read', async () => {
  await page.show(
    `<iframe srcdoc="text"></iframe><object data="about:blank" type="text/html"></object><iframe src="${foreign.frame}"></iframe><div></div><embed>`,
  );
  const found = await page.read(() => [...document.body.children].map((each) => documentOf(each) !== null), selecting);
  expect(found).toEqual([true, true, false, false, false]);
  const hasFrame = await page.read(() => {
    const frames = document.createElement('frameset');
    frames.append(document.createElement('frame'));
    document.body = frames;
    return documentOf(frames.firstElementChild as Element) !== null;
  }, selecting);
  expect(hasFrame).toBe(true);
});

describe('hiding', () => {
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
    await adopt(['b', 'iframe >> em'], ['u']);
    expect(await sheets()).toEqual([2]);
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

  test('enforceHiding enters frames, and returns the first selector that the browser does not support', async () => {
    await page.show('<b id="a">text</b><iframe srcdoc="<b id=b>text</b><u id=c>text</u>"></iframe>');
    expect(await enforce(['b:unknown-thing'])).toBe(0);
    expect(await enforce(['b', 'iframe >> b'], ['u', 'iframe >> u:unknown-thing'])).toBe(3);
    expect(await looks()).toEqual({ a: 'visible', b: 'visible', c: 'visible' });
    expect(await enforce(['iframe >> b'], ['iframe >> u'])).toBeNull();
    expect(await looks()).toEqual({ a: 'visible', b: 'hidden', c: 'gone' });
  });
});
