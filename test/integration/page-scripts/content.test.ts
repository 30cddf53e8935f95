/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { scriptsHaveEnded } from '../../../services/renderer/page/scripts/activity.ts';
import * as content from '../../../services/renderer/page/scripts/content.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const pageState: PageState;
declare const useClock: typeof clock.useClock;
declare const waitForContent: typeof content.waitForContent;
declare const watchFirstContent: typeof content.watchFirstContent;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const script = '<script></script>';
const helpers = [content.waitForContent, content.watchFirstContent, clock.useClock];

interface Limits {
  readonly quietMs?: number;
  readonly maxMs?: number;
  readonly moreMs?: number;
}

/**
 * Returns the length of the wait in the current page, in rounds of 30 ms.
 *
 * @param addAt milliseconds after which a text is added
 */
const wait = async (
  { quietMs = 3000, maxMs = 6000, moreMs = 9000 }: Limits = {},
  addAt: readonly number[] = [],
  firstContentMs?: number,
) => {
  const ms = await page.call(
    async (limits: readonly [number, number, number], times: readonly number[], firstMs: number | null) => {
      if (firstMs !== null) pageState.webcaptureFirstContentMs = firstMs;
      const passed = useClock((now) => {
        if (times.includes(now)) document.body.append('text');
      });
      await waitForContent(...limits);
      return passed();
    },
    [[quietMs, maxMs, moreMs], addAt, firstContentMs ?? null] as const,
    helpers,
  );
  return ms / 30;
};

describe('waitForContent', () => {
  test('waits in an empty page with scripts', async () => {
    const sized = (style: string, inner = '') => `<div style="width:9px;height:9px;${style}">${inner}</div>`;
    for (const body of [
      '',
      ' ',
      '<p></p>',
      '<p> </p>',
      '<p style="visibility:hidden">text</p>',
      '<p style="opacity:0">text</p>',
      '<p hidden>text</p>',
      sized('position:absolute;top:-9px;background:red'),
      sized('position:absolute;left:-9px;background:red'),
      sized('background:red;width:0'),
      sized('background:red;height:0'),
      sized(''),
      sized('border-bottom:1px solid'),
      '<style>p::before { display: none }</style><p></p>',
      '<i></i>'.repeat(500),
      '<noscript>text</noscript><template>text</template>',
    ]) {
      await page.show(body + script);
      expect(await wait(), body).toBe(100);
    }
  });

  test('does not wait in a page that shows something, or has no scripts', async () => {
    const sized = (style: string) => `<div style="width:9px;height:9px;${style}"></div>`;
    const tags = ['img', 'svg', 'canvas', 'video', 'iframe', 'object', 'embed src="data:,x"'];
    const controls = ['input', 'button', 'select', 'textarea', 'hr', 'progress', 'meter'];
    for (const body of [
      'text',
      '<p>text</p>',
      '<p>text<b></b></p>',
      '<p><b></b> text</p>',
      ...[...tags, ...controls].map((tag) => `<${tag} style="display:block;width:9px;height:9px"></${tag}>`),
      sized('background:red'),
      sized('background:linear-gradient(red, blue)'),
      sized('border-top:1px solid'),
      sized('box-shadow:1px 1px red'),
      sized('position:absolute;top:-8px;background:red'),
      sized('position:absolute;left:-8px;background:red'),
      '<style>p::before { content: "x" }</style><p></p>',
      '<style>p::after { content: "x" }</style><p></p>',
      '<div style="height:9px"><template shadowrootmode="open"></template></div>',
      '<i></i>'.repeat(501),
      '<form style="height:9px;background:red"><input name="matches" hidden><input name="childNodes" hidden></form>',
    ]) {
      await page.show(body + script);
      expect(await wait(), body).toBe(0);
    }
    await page.show('');
    expect(await wait()).toBe(0);
    await page.show('', script);
    await page.read(() => document.body.remove());
    expect(await wait()).toBe(0);
    await page.read(() => {
      document.body = document.createElement('frameset');
    });
    expect(await wait()).toBe(0);
  });

  test('waits for the first content, and then for content that follows in short steps', async () => {
    const empty = () => page.show(script);
    await empty();
    expect(await wait({}, [300])).toBe(10 + 14);
    await empty();
    expect(await wait({}, [300, 720, 1140])).toBe(38 + 14);
    await empty();
    expect(await wait({}, [300, 750])).toBe(10 + 14);
    await empty();
    expect(await wait({ moreMs: 300 }, [300, 600])).toBe(20);
  });

  test('gives up if nothing changes for quietMs, or nothing is shown within maxMs', async () => {
    await page.show(script);
    expect(await wait({ quietMs: 90 })).toBe(3);
    await page.show(script);
    expect(await wait({ quietMs: 91 })).toBe(4);
    await page.show(script);
    expect(await wait({ maxMs: 90 })).toBe(3);
  });

  test('waits in a page that was empty at load, unless it has fetched its content', async () => {
    await page.show(`<p>text</p>${script}`);
    expect(await wait({}, [], 150)).toBe(0);
    expect(await wait({}, [], 151)).toBe(15);
    // The browser lists a request some time after the script has its response.
    const isListed = () => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/data'));
    await page.page.evaluate(() => fetch('/data'));
    await page.page.waitForFunction(isListed);
    expect(await wait({}, [], 151)).toBe(0);
    await page.show(`<p>text</p><img src="/x.png">${script}`);
    expect(await wait({}, [], 151)).toBe(15);
    await page.page.evaluate(
      () =>
        new Promise((resolve) => {
          const request = new XMLHttpRequest();
          request.addEventListener('loadend', resolve);
          request.open('GET', '/data');
          request.send();
        }),
    );
    await page.page.waitForFunction(isListed);
    expect(await wait({}, [], 151)).toBe(0);
  });
});

test('watchFirstContent notes the time to the first content of a page that is empty at load', async () => {
  const noted = async (body: string) => {
    await page.show(body);
    return page.read(async () => {
      watchFirstContent();
      dispatchEvent(new Event('load'));
      const before = pageState.webcaptureFirstContentMs;
      document.body.append(document.createElement('i'));
      await Promise.resolve();
      const { webcaptureFirstContentMs: first } = pageState;
      document.body.append(document.createElement('i'));
      await Promise.resolve();
      return [
        before === undefined,
        first !== undefined && first >= 0 && first < 60_000,
        first === pageState.webcaptureFirstContentMs,
      ];
    }, helpers);
  };
  for (const body of ['', '<p></p>', '<p hidden>text</p>', '<i></i>'.repeat(49)])
    expect(await noted(body + script), body).toEqual([true, true, true]);
  for (const body of [
    'text',
    ...['img', 'svg', 'canvas', 'video', 'iframe', 'input'].map((tag) => `<${tag}></${tag}>`),
    '<i></i>'.repeat(50),
  ])
    expect(await noted(body + script), body).toEqual([true, false, true]);
  expect(await noted('')).toEqual([true, false, true]);
});

test('waitForScripts waits if the page has scripts that have not ended', async () => {
  for (const ended of ['', script]) {
    await page.show(ended);
    expect(await page.call(content.waitForScripts, [60_000], [scriptsHaveEnded])).toBe(false);
  }
  await page.show('<script>setTimeout(() => {}, 60_000)</script>');
  const started = performance.now();
  expect(await page.call(content.waitForScripts, [200], [scriptsHaveEnded])).toBe(true);
  expect(performance.now() - started).toBeGreaterThan(190);
});
