// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { stillQuestion } from '../../../services/renderer/browser/activity.ts';
import * as script from '../../../services/renderer/page/scripts/activity.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const activity: script.PageActivity;
declare const mayChangeWithin: typeof script.mayChangeWithin;
declare const scriptsHaveEnded: typeof script.scriptsHaveEnded;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

describe('activity', () => {
  /** Shows a page whose watcher of scripts is replaced by a listener. */
  const showAnswering = (event: string, listener: string) =>
    page.show(`<script>document.addEventListener('${stillQuestion}${event}', (event) => {
      event.stopImmediatePropagation();
      ${listener}
    }, true)</script>`);

  test('due returns the pending work', async () => {
    const due = async (answer: string) => {
      await showAnswering(
        '-due',
        `document.dispatchEvent(new CustomEvent('${stillQuestion}-answer', { detail: '${answer}' }))`,
      );
      return page.read(() => activity.due());
    };
    expect(await due('')).toEqual([]);
    expect(await due('setTimeout 250 5.5 3;worker 0 -7 1;')).toEqual([
      { kind: 'setTimeout', delay: 250, inMs: 5.5, ran: 3 },
      { kind: 'worker', delay: 0, inMs: -7, ran: 1 },
    ]);
  });

  test('due returns nothing if the pending work is not known, and leaves no listener', async () => {
    await showAnswering('-due', '');
    const seen = await page.read(() => {
      const listeners = new Set<unknown>();
      document.addEventListener = (_: string, listener: unknown) => void listeners.add(listener);
      document.removeEventListener = (name: string, listener: unknown) => {
        if (name.endsWith('-answer')) listeners.delete(listener);
      };
      return [activity.due() === undefined, listeners.size];
    });
    expect(seen).toEqual([true, 0]);
  });

  test('scriptsIdle returns the answer of the script watcher', async () => {
    await showAnswering('', 'event.preventDefault()');
    expect(await page.read(() => activity.scriptsIdle())).toBe(true);
    await showAnswering('', '');
    expect(await page.read(() => activity.scriptsIdle())).toBe(false);
  });
});

describe('scriptsHaveEnded', () => {
  interface State {
    readonly isIdle?: boolean;
    readonly readyState?: DocumentReadyState;
    readonly fonts?: FontFaceSetLoadStatus;
  }
  const haveEnded = async (body: string, { isIdle = true, readyState = 'complete', fonts = 'loaded' }: State = {}) => {
    await page.show(body);
    return page.call(
      (idle: boolean, ready: DocumentReadyState, status: FontFaceSetLoadStatus) => {
        activity.scriptsIdle = () => idle;
        Object.defineProperty(document, 'readyState', { value: ready });
        Object.defineProperty(document.fonts, 'status', { value: status });
        // The parser ignores a frame outside of a frameset.
        const stand = document.querySelector('stand-in');
        stand?.replaceWith(document.createElement('frame'));
        return scriptsHaveEnded();
      },
      [isIdle, readyState, fonts] as const,
      [script.scriptsHaveEnded],
    );
  };

  test.each([
    '<p onclick="">text</p>',
    '<meta http-equiv="content-language" content="en">',
    '<img src="data:,"><img>',
    '<link rel="stylesheet" href="data:text/css,p%7B%7D"><link rel="icon" href="data:,">',
    '<style>@keyframes x { to { opacity: 0 } } p { animation: x 9s }</style>',
  ])('is true for %s', async (body) => {
    expect(await haveEnded(body)).toBe(true);
  });

  test.each([
    '<meta http-equiv="Refresh" content="900;url=/next">',
    '<iframe></iframe>',
    '<stand-in></stand-in>',
    '<object></object>',
    '<embed>',
    '<video></video>',
    '<audio></audio>',
    '<p onscroll="">text</p>',
    '<p onscrollend="">text</p>',
    '<p onresize="">text</p>',
    '<p onmessage="">text</p>',
    '<img src="data:,"><img loading="lazy" src="/late.png" style="position:absolute;top:99999px">',
    '<link rel="stylesheet" href="data:text/css,p%7B%7D"><link rel="alternate Stylesheet" href="data:text/css," disabled>',
    '<style>@keyframes x { to { opacity: 0 } } p { animation: x 9s }</style><p>text</p>',
  ])('is false for %s', async (body) => {
    expect(await haveEnded(body)).toBe(false);
  });

  test('is false while the document or its fonts load, or the scripts are not idle', async () => {
    expect(await haveEnded('<p>text</p>', { readyState: 'interactive' })).toBe(false);
    expect(await haveEnded('<p>text</p>', { fonts: 'loading' })).toBe(false);
    expect(await haveEnded('<p>text</p>', { isIdle: false })).toBe(false);
  });
});

describe('mayChangeWithin', () => {
  /** @param inMs when the next callbacks are due; null if that is not known */
  const mayChange = async (
    inMs: readonly number[] | null,
    { body = '', ms = 100, readyState = 'complete' as DocumentReadyState } = {},
  ) => {
    await page.show(body);
    return page.call(
      (due: readonly number[] | null, within: number, ready: DocumentReadyState) => {
        activity.due = () => due?.map((each) => ({ kind: 'setTimeout', delay: 1, inMs: each, ran: 0 }));
        Object.defineProperty(document, 'readyState', { value: ready });
        return mayChangeWithin(within);
      },
      [inMs, ms, readyState] as const,
      [script.mayChangeWithin],
    );
  };
  const animated = (css: string) =>
    `<style>@keyframes x { to { opacity: 0 } } p { animation: ${css} }</style><p>text</p>`;

  test('is true if a callback is due in time, or if nothing is known', async () => {
    expect(await mayChange([])).toBe(false);
    expect(await mayChange([100, 200])).toBe(false);
    expect(await mayChange([200, 99])).toBe(true);
    expect(await mayChange([-5])).toBe(true);
    expect(await mayChange(null)).toBe(true);
  });

  test('is true while the document is loading', async () => {
    expect(await mayChange([], { readyState: 'interactive' })).toBe(true);
  });

  test('is true while an animation with an end is running', async () => {
    expect(await mayChange([], { body: animated('x 60s') })).toBe(true);
    expect(await mayChange([], { body: animated('x 60s paused') })).toBe(false);
    expect(await mayChange([], { body: animated('x 60s infinite') })).toBe(false);
  });
});
