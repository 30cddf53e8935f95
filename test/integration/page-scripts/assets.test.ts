/// <reference lib="dom" />
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import * as script from '../../../services/renderer/page/scripts/assets.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const useClock: typeof clock.useClock;
declare const waitForAssets: typeof script.waitForAssets;

const origin = 'http://images.test';
const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const headers = { 'Access-Control-Allow-Origin': '*' };
const forOthers = { 'Access-Control-Allow-Origin': 'http://other.test' };
/** Ends the requests of paths that begin with `/held`. */
let release = () => undefined as void;
let released: Promise<void>;
const hold = () => {
  released = new Promise((resolve) => {
    release = resolve;
  });
};

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
  hold();
  await page.page.route(`${origin}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname.startsWith('/held')) await released;
    const isThere = !pathname.includes('none');
    const answer = isThere
      ? { body: dot, contentType: 'image/png', headers: pathname.includes('private') ? forOthers : headers }
      : { status: 404, body: '' };
    await route.fulfill(answer).catch(() => undefined);
  });
});
afterEach(() => {
  release();
  hold();
});
afterAll(() => page.page.unroute(`${origin}/**`));

const image = (path: string, more = '') => `<img src="${origin}/${path}" ${more}>`;
const address = (path: string) => `url(${origin}/${path})`;
const size = 'width:9px;height:9px;';
/** Returns the address of a picture. */
const svg = (width: number, height: number) =>
  `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1' width='${width}' height='${height}'/>`;
const box = (style: string, more = '') => `<div style="${size}${style}" ${more}></div>`;

const helpers = [cssMayUse, ...script.counting];
const wait = (scope: 'visible' | 'all', imageMs = 60_000, fontMs = 60_000) =>
  page.call(script.waitForAssets, [scope, imageMs, fontMs], helpers);

/** Shows contents whose images and fonts are still loading when this resolves. */
const showLoading = async (contents: string): Promise<void> => {
  await page.show('');
  await page.call(
    (body: string) => {
      document.body.innerHTML = body;
    },
    [contents],
  );
};

/** Ends the held requests after the page has begun the last call. */
const releaseAfterCall = async (): Promise<void> => {
  await page.read(() => undefined);
  release();
};

/** Returns the numbers of images that were loaded and failed. */
async function countsOf(body: string, scope: 'visible' | 'all' = 'all'): Promise<string> {
  await page.show(body);
  const { loaded, failed, pending, fontsPending } = await wait(scope);
  expect({ pending, fontsPending }, body).toEqual({ pending: 0, fontsPending: false });
  return `${loaded} ${failed}`;
}

describe('waitForAssets', () => {
  test('counts elements that show an image', async () => {
    for (const [body, counts] of [
      [image('a'), '1 0'],
      [image('none'), '0 1'],
      [image('a') + image('b') + image('none'), '2 1'],
      ['<img>', '0 0'],
      ['<img src="http://[">', '0 1'],
      [`<img src="${svg(0, 5)}"><img src="${svg(5, 0)}"><img src="${svg(5, 5)}">`, '3 0'],
      [`<img srcset="${origin}/a 1x">`, '1 0'],
      [`<picture><source srcset="${origin}/a"><img></picture>`, '1 0'],
      [image('a', 'style="display:none"'), '0 0'],
      [`<video poster="${origin}/a"></video>`, '1 0'],
      [`<video poster="${origin}/none"></video>`, '0 1'],
      [`<input type="image" src="${origin}/a">`, '1 0'],
      [`<input type="text" src="${origin}/a">`, '0 0'],
      [`<audio controls poster="${origin}/a"></audio>`, '0 0'],
      [`<svg><image href="${origin}/a" width="9" height="9"/></svg>`, '1 0'],
      ['<svg><image href="x.png" width="9" height="9"/></svg>', '0 1'],
      ['<svg><image href="" width="9" height="9"/><image href="http://[" width="9" height="9"/></svg>', '0 0'],
      ['<svg><image href="data:image/png;base64,AAAA" width="9" height="9"/></svg>', '0 0'],
      ['<svg><image width="9" height="9"/></svg>', '0 0'],
      ["<p></p><script>document.body.append(document.createElementNS('urn:other', 'image'))</script>", '0 0'],
    ] as const)
      expect(await countsOf(body), body.slice(-200)).toBe(counts);
  });

  test('counts images of styles', async () => {
    for (const [body, counts] of [
      [box(`background:${address('a')}`), '1 0'],
      [box(`background:${address('none')}`), '0 1'],
      [box(`background:${address('a')}`) + box(`background:${address('a')}`), '1 0'],
      [box(`background:${address('a')}, ${address('b')}`), '2 0'],
      [box(`background:${address('a')};display:none`), '0 0'],
      [box('background:url(data:image/png;base64,AAAA)'), '0 0'],
      [box(`background:image-set(${address('a')} 1x, ${address('b')} 2x)`), '0 0'],
      [box(`border:1px solid;border-image:${address('a')} 1`), '1 0'],
      [`<p style="content:${address('a')}"></p>`, '1 0'],
      [`<li style="list-style-image:${address('a')}">text</li>`, '1 0'],
      [box(`list-style-image:${address('a')}`), '0 0'],
      [box(`mask-image:${address('a')}`), '1 0'],
      [box(`mask-image:${address('a#part')}`), '0 0'],
      [box(`background:${address('a')};mask-image:${address('b')}`), '2 0'],
      [`<style>p::before { content: ''; background: ${address('a')} }</style><p>text</p>`, '1 0'],
      [`<style>p::after { content: ${address('a')} }</style><p>text</p>`, '1 0'],
      [`<style>p::before, p::after { background: ${address('a')} }</style><p>text</p>`, '0 0'],
      [`<style>p::before { content: normal; background: ${address('a')} }</style><p>text</p>`, '0 0'],
      [box(`background:url(data:text/plain,http) , ${address('a')}`), '1 0'],
      // Masks are requested without credentials, so a server must allow them.
      [box(`background:${address('private')}`), '1 0'],
      [box(`mask-image:${address('private')}`), '0 1'],
      [`<p background="${origin}/a"></p><table background="${origin}/a"><td>text</table>`, '1 0'],
      [`${'<i></i>'.repeat(4900)}${box(`background:${address('a')}`)}`, '1 0'],
      [`${'<i></i>'.repeat(5000)}${box(`background:${address('a')}`)}`, '0 0'],
      [`<div hidden>${'<i></i>'.repeat(5000)}</div>${box(`background:${address('a')}`)}`, '1 0'],
    ] as const)
      expect(await countsOf(body), body.slice(-200)).toBe(counts);
  });

  test('counts images in shadow roots, frames and forms', async () => {
    for (const [body, counts] of [
      [`<div><template shadowrootmode="open">${image('a')}</template></div>`, '1 0'],
      [`<iframe srcdoc='${image('a')}'></iframe>`, '1 0'],
      [`<iframe srcdoc='${image('a')}' style="display:none"></iframe>`, '0 0'],
      [`<iframe srcdoc="<body style='background:${address('a')}'>"></iframe>`, '1 0'],
      [`<form>${image('a')}<input name="localName"><input name="shadowRoot"></form>`, '1 0'],
    ] as const)
      expect(await countsOf(body), body.slice(-200)).toBe(counts);
  });

  const at = (left: number, top: number) => `position:absolute;left:${left}px;top:${top}px;${size}`;

  test('counts only what is in view if it is asked to', async () => {
    for (const [left, top, isCounted] of [
      [0, 479, true],
      [0, 480, false],
      [639, 0, true],
      [640, 0, false],
      [0, -9, true],
      [0, -10, false],
      [-9, 0, true],
      [-10, 0, false],
    ] as const) {
      const counts = isCounted ? '1 0' : '0 0';
      const place = `${left} ${top}`;
      expect(await countsOf(image('a', `style="${at(left, top)}"`), 'visible'), place).toBe(counts);
      expect(await countsOf(box(`${at(left, top)}background:${address('a')}`), 'visible'), place).toBe(counts);
    }
    const low = `${at(0, 480)}background:${address('b')}`;
    expect(await countsOf(image('a', `style="${at(0, 480)}"`) + box(low))).toBe('2 0');
    const many = `<div style="position:absolute;top:480px">${'<i></i>'.repeat(5000)}</div>`;
    expect(await countsOf(many + box(`background:${address('a')}`), 'visible')).toBe('1 0');
    const frame = `<iframe style="position:absolute;top:480px" srcdoc='${image('a')}'></iframe>`;
    expect(await countsOf(frame, 'visible')).toBe('0 0');
    expect(await countsOf(frame)).toBe('1 0');
    const inFrame = `<body style='margin:0'>${`<img src='${origin}/a' style='${at(0, 40)}'>`}`;
    expect(await countsOf(`<iframe style="height:41px" srcdoc="${inFrame}"></iframe>`, 'visible')).toBe('1 0');
    expect(await countsOf(`<iframe style="height:40px" srcdoc="${inFrame}"></iframe>`, 'visible')).toBe('0 0');
  });

  test('waits for images and for those that they add, at most until its limit', async () => {
    const more = `document.body.insertAdjacentHTML('beforeend', '<img src=${origin}/held-b>')`;
    await showLoading(image('held-a', `onload="${more}"`));
    expect(await wait('all', 50)).toMatchObject({ loaded: 0, failed: 0, pending: 1 });
    const waited = wait('all');
    await releaseAfterCall();
    expect(await waited).toMatchObject({ loaded: 2, failed: 0, pending: 0 });
    await showLoading(image('held-none') + image('a'));
    const failing = wait('all');
    await releaseAfterCall();
    expect(await failing).toMatchObject({ loaded: 1, failed: 1, pending: 0 });
  });

  test('does not wait if its limit is 0', async () => {
    await showLoading(image('held-a'));
    const counts = await page.read(async () => {
      useClock(() => {
        throw new Error('waits');
      });
      return waitForAssets('all', 0, 0);
    }, [...helpers, script.waitForAssets, clock.useClock]);
    expect(counts).toEqual({ loaded: 0, failed: 0, pending: 1, fontsPending: false });
  });

  test('finds nothing in a document without elements', async () => {
    await page.show('');
    await page.read(() => document.documentElement.remove());
    expect(await wait('all')).toEqual({ loaded: 0, failed: 0, pending: 0, fontsPending: false });
  });

  test('waits for an image whose address it has only in its sources', async () => {
    await showLoading(`<img srcset="${origin}/held-a">`);
    expect(await wait('all', 50)).toMatchObject({ loaded: 0, failed: 0, pending: 1 });
  });

  test('waits for fonts, at most until their limit', async () => {
    const font = `<style>@font-face { font-family: held; src: ${address('held-font')} } p, body { font-family: held }</style>`;
    await showLoading(`${font}<p>text</p>`);
    expect(await wait('all', 60_000, 50)).toEqual({ loaded: 0, failed: 0, pending: 0, fontsPending: true });
    const waited = wait('all');
    release();
    expect(await waited).toMatchObject({ fontsPending: false });
    hold();
    await showLoading(`<iframe srcdoc="${font}<p>text</p>"></iframe>`);
    await expect
      .poll(() => page.read(() => document.querySelector('iframe')?.contentDocument?.body.innerText))
      .toBe('text');
    expect(await wait('all', 60_000, 50)).toMatchObject({ fontsPending: true });
  });
});

test('loadEagerly loads lazy images and frames at once', async () => {
  await page.show(
    `<img loading="lazy"><iframe loading="LAZY"></iframe><img loading="auto"><p loading="lazy"></p><img>
     <div><template shadowrootmode="open"><img loading="lazy"></template></div>
     <form><img loading="lazy"><input name="localName"></form>`,
  );
  await page.call(script.loadEagerly, []);
  const states = await page.read(() =>
    [...document.querySelectorAll('body *'), ...(document.querySelector('div')?.shadowRoot?.children ?? [])]
      .filter((each) => /^(?:img|iframe|p)$/.test(each.localName))
      .map((each) => each.getAttribute('loading')),
  );
  expect(states).toEqual(['eager', 'eager', 'auto', 'lazy', null, 'eager', 'eager']);
});

test('countImages counts the images of the document by their state', async () => {
  await showLoading(
    `${image('a')}${image('b')}${image('none')}${image('none-2')}${image('held-c')}<img><img srcset="${origin}/held-d"><img src="${svg(0, 5)}"><img src="${svg(5, 0)}">`,
  );
  await expect
    .poll(() => page.call(script.countImages, [], script.counting))
    .toEqual({ loaded: 4, failed: 2, pending: 2 });
});
