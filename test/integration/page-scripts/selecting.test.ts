/// <reference lib="dom" />
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { beforeAll, describe, expect, test } from 'vitest';
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
      ['p, p > b', 'a c e h k l'],
      ['span, span > b', 'n o'],
      ['span > i, div > i', ''],
      ['form > b', 's'],
      ['html b#q', 'q'],
      ['nav', ''],
    ] as const)
      expect(await idsOf(selector), selector).toBe(ids);
  });

  test('ends on selectors for which a search without memory would take exponential time', async () => {
    await page.show(`<p>${shadow(`${'<div>'.repeat(60)}<b id="deep"></b>`)}</p>`);
    expect(await idsOf(`nav ${'div '.repeat(25)} b`)).toBe('');
    expect(await idsOf(`p ${'div '.repeat(25)} b`)).toBe('deep');
  });

  test('returns elements in the order of the tree, not of their creation', async () => {
    await page.show(
      `<p id="x">${shadow('<b id="a"></b>')}</p><b id="c"></b><p id="y">${shadow('<b id="d"></b>')}</p>
       <script>document.body.prepend(y); document.body.append(x)</script>`,
    );
    expect(await idsOf('b')).toBe('d c a');
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
    expect(await idsOf('iframe >> b')).toBe('a b c');
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
