// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import {
  mayChangeWithin,
  scriptsHaveEnded,
  type PageActivity,
} from '../../../services/renderer/page/scripts/activity.ts';
import * as animations from '../../../services/renderer/page/scripts/animations.ts';
import type { Motion, PageState } from '../../../services/renderer/page/scripts/state.ts';
import { movesEndlessly, observeChanges } from '../../../services/renderer/page/scripts/motion.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import type { PageWaits } from '../../../services/renderer/page/scripts/waits.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';
import { countStyleReads } from '../../harness/style-reads.ts';

declare const activity: PageActivity;
declare const pageState: PageState;
declare const useClock: typeof clock.useClock;
declare const waitForRest: typeof animations.waitForRest;
declare const waitForReveals: typeof animations.waitForReveals;
declare const waits: PageWaits;
declare const watchMotion: typeof animations.watchMotion;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

describe('waitForRest', () => {
  /** Times are in milliseconds after the start of the wait. */
  interface Case {
    readonly maxMs?: number;
    readonly mayBeIdle?: boolean;
    /** When the page came into view. */
    readonly shownAt?: number;
    /** Changes of a node before the wait. */
    readonly motion?: Motion;
    /** The changes of the node that `untilNothingIsDue` has found. */
    readonly known?: Motion;
    /** The changed node; the document by default. */
    readonly changed?: string;
    /** Times of further changes of the node, each of which is not repeated. */
    readonly changesAt?: readonly number[];
    /** Times of frames; by default, a frame is drawn before each poll. */
    readonly framesAt?: readonly number[];
  }
  /** Returns the times at which the wait has slept. After 40 ms, the image `#late` is removed, or its title becomes its address. */
  const polls = async (body: string, options: Case = {}) => {
    await page.show(body);
    return page.call(
      async ({ maxMs = 10_000, mayBeIdle = false, shownAt, motion, changesAt = [], framesAt, ...more }: Case) => {
        const times: number[] = [];
        const nodes = new Map<Node, Motion>();
        performance.now = () => 10_000;
        let draw: (() => void) | undefined;
        useClock((ms) => {
          times.push(ms);
          if (changesAt.includes(ms)) note({ since: ms, last: ms, isRepeated: false });
          if (framesAt?.includes(ms) ?? true) draw?.();
          const late = document.querySelector<HTMLImageElement>('#late');
          if (ms !== 40 || late === null) return;
          if (late.title === '') late.remove();
          else late.src = late.title;
        });
        const start = performance.now();
        const node = more.changed === undefined ? document : (document.querySelector(more.changed) as Node);
        const note = ({ since, last, isRepeated }: Motion) =>
          nodes.set(node, { since: start + since, last: start + last, isRepeated });
        const motions = new Map(more.known && [[node, more.known]]);
        Object.assign(pageState, { webcaptureChanges: { motions } });
        globalThis.requestAnimationFrame = (callback) => {
          draw = () => callback(0);
          return 1;
        };
        globalThis.cancelAnimationFrame = () => (draw = undefined);
        if (shownAt !== undefined) pageState.webcaptureShownAt = start + shownAt;
        if (motion !== undefined) {
          note(motion);
          pageState.webcaptureMotion = { observer: {} as MutationObserver, nodes };
        }
        await waitForRest(maxMs, mayBeIdle);
        return draw === undefined || times.length === 0 ? times : ['still asks for frames'];
      },
      [options],
      [animations.waitForRest, movesEndlessly, scriptsHaveEnded, clock.useClock],
    );
  };
  const lastPoll = async (body: string, options: Case = {}) => (await polls(body, options)).at(-1) ?? 0;
  const recent = { since: -10, last: -10, isRepeated: false };

  test('waits for five polls and three frames without a change', async () => {
    expect(await polls('', { motion: recent })).toEqual([20, 40, 60, 80, 100]);
    expect(await lastPoll('', { motion: recent, changesAt: [20] })).toBe(120);
    expect(await lastPoll('', { motion: recent, changesAt: [20, 40, 100] })).toBe(200);
    expect(await lastPoll('', { motion: recent, framesAt: [20, 40, 160] })).toBe(160);
    expect(await lastPoll('', { motion: recent, changesAt: [20], framesAt: [20, 40, 120, 200] })).toBe(200);
  });

  test('waits for a second in a page that draws no frames', async () => {
    expect(await lastPoll('', { motion: recent, framesAt: [] })).toBe(1000);
    expect(await lastPoll('', { motion: { ...recent, last: -20 }, framesAt: [] })).toBe(980);
  });

  test.each([
    ['no change', undefined, 0],
    ['a single change less than 250 ms ago', { since: -249, last: -249, isRepeated: false }, 100],
    ['a single change 250 ms ago', { since: -250, last: -250, isRepeated: false }, 0],
    ['changes that have gone on for less than the limit', { since: -309, last: -10, isRepeated: true }, 100],
    ['changes that have gone on for the limit', { since: -310, last: -10, isRepeated: true }, 0],
    ['earlier changes that have gone on for less than the limit', { since: -490, last: -251, isRepeated: true }, 100],
  ])('after %s', async (_, motion, ms) => {
    expect(await lastPoll('', { maxMs: 300, ...(motion && { motion }) })).toBe(ms);
  });

  test('does not wait for motion that was found to be endless, except for numbers that count up', async () => {
    const known = { since: -1501, last: 0, isRepeated: true };
    expect(await lastPoll('', { motion: recent, known })).toBe(0);
    expect(await lastPoll('', { motion: recent, known: { ...known, since: -1500 } })).toBe(100);
    expect(await lastPoll('', { motion: recent, known: { ...known, count: 9 } })).toBe(100);
  });

  test('does not wait for changes of what is not displayed', async () => {
    const body = '<p>text</p><i hidden><b>text</b></i>';
    expect(await lastPoll(body, { motion: recent, changed: 'p' })).toBe(100);
    expect(await lastPoll(body, { motion: recent, changed: 'b' })).toBe(0);
  });

  test('waits at most for the limit', async () => {
    const changesAt = Array.from({ length: 30 }, (_, at) => at * 20);
    expect(await lastPoll('', { maxMs: 300, motion: recent, changesAt })).toBe(300);
  });

  test('gives scripts 50 ms after the page has come into view', async () => {
    expect(await polls('', { shownAt: -30 })).toEqual([20]);
    expect(await polls('', { shownAt: -49 })).toEqual([1]);
    expect(await polls('', { shownAt: -50 })).toEqual([]);
    expect(await polls('')).toEqual([]);
  });

  test('returns at once if the scripts have ended, and the caller allows it', async () => {
    const listening = `<script>addEventListener('scroll', () => {})</script>`;
    expect(await polls('', { motion: recent, mayBeIdle: true })).toEqual([]);
    expect(await lastPoll(listening, { motion: recent, mayBeIdle: true })).toBe(100);
  });

  const size = 'style="width:9px;height:9px"';
  const placeholder = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';
  test.each([
    ...['data-src', 'data-srcset', 'data-lazy-src', 'data-original'].map(
      (name) => [`<img ${name}="/a.png" ${size}>`, 100] as const,
    ),
    [`<picture><source data-srcset="/a.png"><img ${size}></picture>`, 100],
    [`<img data-other="/a.png" ${size}>`, 0],
    [`<img data-src="/a.png" hidden>`, 0],
    [`<img data-src="/a.png" src="/b.png" ${size}>`, 0],
    [`<img data-src="/a.png" srcset="/b.png" ${size}>`, 0],
    [`<img data-src="/a.png" src="${placeholder}" ${size}>`, 100],
    [`<img data-src="/a.png" srcset="${placeholder} 1x" src="/b.png" ${size}>`, 0],
    [`<img data-src="/a.png" srcset="/b.png 1x" src="${placeholder}" ${size}>`, 0],
    [`<img data-src="/a.png" id="late" ${size}>`, 40],
    [`<img data-src="/a.png" id="late" title="/a.png" ${size}>`, 40],
    [`<img data-src="/a.png" id="late" title="/a.png" src="${placeholder}" ${size}>`, 40],
    [`<img data-src="/a.png" id="late" title="/a.png" ${size}><img data-src="/b.png" ${size}>`, 100],
  ] as const)('waits until a visible lazy image has its address: %s', async (body, ms) => {
    expect(await lastPoll(body, { maxMs: 100 })).toBe(ms);
  });
});

describe('waitForReveals', () => {
  /**
   * Shows the elements of the class `late` after 30 ms, or removes them if they have the class `goes`, and shows those of the class `later`
   * after 60 ms. Returns the number of revealed elements, and the length of the wait in milliseconds.
   *
   * @param inMs when the next callback of the page's scripts is due, if there is one
   */
  const reveal = async (
    body: string,
    { maxMs = 500, quietMs = 400, head = '', hasBody = true, mayEndEarly = true, inMs = null as number | null } = {},
  ) => {
    await page.show(body, head);
    return page.call(
      async (most: number, quiet: number, early: boolean, dueInMs: number | null, keepsBody: boolean) => {
        activity.due = () => (dueInMs === null ? [] : [{ kind: 'setTimeout', delay: 1, inMs: dueInMs, ran: 0 }]);
        if (!keepsBody) document.body.remove();
        const passed = useClock((ms) => {
          for (const each of document.querySelectorAll(ms === 30 ? '.late' : '.later')) {
            if (ms > 60) continue;
            if (each.classList.contains('goes')) each.remove();
            each.removeAttribute('style');
          }
        });
        return [await waitForReveals(most, quiet, early), passed()];
      },
      [maxMs, quietMs, mayEndEarly, inMs, hasBody] as const,
      [animations.waitForReveals, cssMayUse, mayChangeWithin, clock.useClock],
    );
  };
  const late = (style: string, content = 'text') =>
    `<div class="late" style="${style}">${content}</div><script></script>`;
  const path = (offset: number) =>
    `<svg><path class="late" d="M0 0H99V99" stroke="red" stroke-width="9" style="stroke-dashoffset:${offset}"></path></svg><script></script>`;
  const invisible = '<style>i { display: none }</style>';

  test.each([
    [late('opacity:0.04'), 1],
    [late('visibility:hidden'), 1],
    [late('clip-path:inset(0 100% 0 0)'), 1],
    [late('clip-path:inset(100%)'), 1],
    ['<p class="late goes" style="opacity:0">text</p><script></script>', 1],
    [late('opacity:0', '<img style="width:9px;height:9px">'), 1],
    [late('opacity:0', '<svg></svg>'), 1],
    [path(99), 1],
    [late('opacity:0', '<b class="late" style="opacity:0">text</b>'), 1],
    [late('opacity:0') + late('visibility:hidden'), 2],
    [late('opacity:0;width:2px;height:2px'), 1],
    [late('opacity:0;margin-top:479px'), 1],
    [`<style>body { position: absolute; width: 99px }</style>${late('opacity:0')}`, 1],
    [`${invisible}${'<i></i>'.repeat(3998)}${late('opacity:0')}`, 1],
  ])('waits for texts and pictures that are hidden in their places: %#', async (body, count) => {
    expect(await reveal(body)).toEqual([count, 30]);
  });

  test.each([
    late('opacity:0.05'),
    late('clip-path:inset(10%)'),
    late('clip-path:inset(0 round 100%)'),
    '<p class="late" style="opacity:0">text</p>',
    late('opacity:0', ' '),
    late('opacity:0;margin-top:480px'),
    late('opacity:0;margin-top:-100px;height:100px'),
    late('opacity:0;width:1px'),
    late('opacity:0;height:1px'),
    late('opacity:0;position:fixed'),
    path(0),
    late('stroke-dashoffset:99'),
    `<div style="position:absolute">${late('opacity:0')}</div>`,
    `${invisible}${'<i></i>'.repeat(3999)}${late('opacity:0')}`,
  ])('does not wait for what is visible, empty, out of view or above the page: %#', async (body) => {
    expect(await reveal(body)).toEqual([0, 0]);
  });

  test('does not wait in a document without a body', async () => {
    const head = '<style>p { opacity: 0 }</style><script></script>';
    expect(await reveal('', { head, hasBody: false })).toEqual([0, 0]);
  });

  test('waits for the last element, and gives up what stays hidden', async () => {
    const later = '<p class="later" style="opacity:0">text</p>';
    const hidden = '<p style="opacity:0">text</p><script></script>';
    expect(await reveal(late('opacity:0') + later)).toEqual([2, 60]);
    expect(await reveal(hidden, { maxMs: 90 })).toEqual([0, 90]);
    expect(await reveal(hidden, { quietMs: 90 })).toEqual([0, 90]);
    expect(await reveal(later + hidden, { quietMs: 90 })).toEqual([1, 150]);
    expect(await reveal(later + hidden, { maxMs: 90, quietMs: 80 })).toEqual([1, 90]);
  });

  test('ends early if no callback is due that could reveal an element in time', async () => {
    const hidden = '<p style="opacity:0">text</p><script></script>';
    const long = { maxMs: 3000, quietMs: 1710 };
    expect(await reveal(hidden, long)).toEqual([0, 420]);
    expect(await reveal(`<p class="later" style="opacity:0">text</p>${hidden}`, long)).toEqual([1, 480]);
    expect(await reveal(hidden, { ...long, inMs: 1310 })).toEqual([0, 420]);
    expect(await reveal(hidden, { ...long, inMs: 0 })).toEqual([0, 1710]);
    expect(await reveal(hidden, { ...long, mayEndEarly: false })).toEqual([0, 1710]);
  });

  test('reads no style of elements that no rule hides', async () => {
    await page.show('<p>text</p><script></script>');
    const hasRead = await page.read(async () => {
      const styleReads = countStyleReads();
      await waitForReveals(500, 400, true);
      return styleReads() > 0;
    }, [animations.waitForReveals, cssMayUse, countStyleReads]);
    expect(hasRead).toBe(false);
  });
});

describe('watchMotion', () => {
  test('records changes of a node with pauses below 250 ms as one motion', async () => {
    await page.show('<p>text</p>');
    const motions = await page.read(async () => {
      useClock();
      const start = performance.now();
      watchMotion();
      const text = document.querySelector('p') as Element;
      const seen: Motion[] = [];
      for (const pause of [0, 249, 1, 250]) {
        await waits.sleep(pause);
        // Two changes at once count once.
        for (const value of ['1', '2']) text.setAttribute('data-step', value);
        await Promise.resolve();
        const { since = 0, last = 0, isRepeated = false } = pageState.webcaptureMotion?.nodes.get(text) ?? {};
        seen.push({ since: since - start, last: last - start, isRepeated });
      }
      return seen;
    }, [animations.watchMotion, observeChanges, clock.useClock]);
    expect(motions).toEqual([
      { since: 0, last: 0, isRepeated: false },
      { since: 0, last: 249, isRepeated: true },
      { since: 0, last: 250, isRepeated: true },
      { since: 500, last: 500, isRepeated: false },
    ]);
  });

  test('records changes of attributes, texts and children', async () => {
    await page.show('<p>text</p><div></div><b></b>');
    const changed = await page.read(async () => {
      watchMotion();
      document.querySelector('p')?.firstChild?.replaceWith('other');
      await Promise.resolve();
      const text = document.querySelector('p')?.firstChild as Text;
      text.data = 'more';
      document.querySelector('b')?.setAttribute('title', 'new');
      await Promise.resolve();
      return [...(pageState.webcaptureMotion?.nodes.keys() ?? [])].map(({ nodeName }) => nodeName);
    }, [animations.watchMotion, observeChanges]);
    expect(changed).toEqual(['P', '#text', 'B']);
  });
});
