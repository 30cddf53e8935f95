/// <reference lib="dom" />
import { beforeAll, expect, test } from 'vitest';
import type { PageActivity } from '../../../services/renderer/page/scripts/activity.ts';
import { scriptsHaveEnded } from '../../../services/renderer/page/scripts/activity.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import * as script from '../../../services/renderer/page/scripts/waits.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const activity: PageActivity;
declare const isLiveFrame: typeof script.isLiveFrame;
declare const untilFrames: typeof script.untilFrames;
declare const untilLaidOut: typeof script.untilLaidOut;
declare const untilReady: typeof script.untilReady;
declare const untilTimersRan: typeof script.untilTimersRan;
declare const useClock: typeof clock.useClock;
declare const waits: script.PageWaits;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const empty = '<script></script>';

test('sleep, untilFrame and waitForIntersectionObservers end by themselves, or after their limit', async () => {
  await page.show('<p>text</p>');
  const slept = await page.read(async () => {
    const start = performance.now();
    await waits.sleep(200);
    return performance.now() - start;
  });
  expect(slept).toBeGreaterThan(199);
  await page.read(() => waits.untilFrame(600_000));
  await page.read(() => waits.waitForIntersectionObservers(600_000));
  // The page draws no frames.
  await page.read(async () => {
    globalThis.requestAnimationFrame = () => 0;
    globalThis.IntersectionObserver = class {
      observe = () => undefined;
      disconnect = () => undefined;
    } as unknown as typeof IntersectionObserver;
    await waits.untilFrame(10);
    await waits.waitForIntersectionObservers(10);
  });
});

test('untilFrames waits for the frames that it is asked for', async () => {
  await page.show('');
  const framesOf = (times: 1 | 2) =>
    page.call(
      async (each: 1 | 2) => {
        const passed = useClock();
        await untilFrames(each);
        return passed() / 16;
      },
      [times],
      [script.untilFrames, clock.useClock],
    );
  expect([await framesOf(1), await framesOf(2)]).toEqual([1, 2]);
});

test('untilLaidOut waits if the page may have boxes that the browser skips', async () => {
  const framesOf = async (body: string) => {
    await page.show(body);
    return page.read(async () => {
      const passed = useClock();
      await untilLaidOut(1000);
      return passed() / 16;
    }, [script.untilLaidOut, cssMayUse, clock.useClock]);
  };
  expect(await framesOf('<p>text</p>')).toBe(0);
  expect(await framesOf('<p style="content-visibility:auto">text</p>')).toBe(1);
});

test('isLiveFrame returns whether a frame is in view and may change', async () => {
  const isLive = async (body: string, size: readonly [number, number] = [640, 480]) => {
    await page.show(body);
    return page.call(
      async ([width, height]: readonly [number, number]) => {
        Object.assign(globalThis, { innerWidth: width, innerHeight: height });
        return isLiveFrame();
      },
      [size],
      [script.isLiveFrame],
    );
  };
  expect(await isLive('<p>text</p>')).toBe(false);
  expect(await isLive(empty)).toBe(true);
  expect(await isLive('<p style="animation:x 9s">text</p><style>@keyframes x { to { opacity: 0 } }</style>')).toBe(
    true,
  );
  expect(await isLive(empty, [1, 480])).toBe(false);
  expect(await isLive(empty, [640, 1])).toBe(false);
  expect(await isLive(empty, [2, 2])).toBe(true);
  expect(await isLive(`${empty}<style>html { display: none }</style>`)).toBe(false);
  // A frame that the browser does not draw.
  await page.show(empty);
  const isLiveUndrawn = await page.read(() => {
    globalThis.IntersectionObserver = class {
      observe = () => undefined;
      disconnect = () => undefined;
    } as unknown as typeof IntersectionObserver;
    return isLiveFrame();
  }, [script.isLiveFrame]);
  expect(isLiveUndrawn).toBe(false);
});

test('untilTimersRan waits for the timers of scripts, but only for a limited time after the load event', async () => {
  const waited = async (
    body: string,
    { hasEnded = false, loadedMs = 40 }: { readonly hasEnded?: boolean; readonly loadedMs?: number | null } = {},
  ) => {
    await page.show(body);
    return page.call(
      async (isIdle: boolean, loaded: number | null) => {
        activity.scriptsIdle = () => isIdle;
        const passed = useClock();
        // The page is old enough for each `loadedMs`: a load event at 0 has not ended.
        const now = 1000;
        performance.now = () => now + passed();
        const entry = { loadEventEnd: loaded === -1 ? 0 : now - (loaded ?? 0) };
        const entries = loaded === null ? [] : [entry as PerformanceNavigationTiming];
        performance.getEntriesByType = (type) => (type === 'navigation' ? entries : []);
        return [await untilTimersRan(100), passed()] as const;
      },
      [hasEnded, loadedMs] as const,
      [script.untilTimersRan, scriptsHaveEnded, clock.useClock],
    );
  };
  expect(await waited('<p>text</p>')).toEqual([false, 0]);
  for (const body of [
    empty,
    '<p onload="">',
    '<img onerror="">',
    '<canvas></canvas>',
    '<meta http-equiv="Refresh" content="9">',
  ])
    expect(await waited(body), body).toEqual([true, 60]);
  expect(await waited('<p onclick="">')).toEqual([false, 0]);
  expect(await waited(empty, { hasEnded: true })).toEqual([true, 0]);
  expect(await waited(empty, { loadedMs: 99 })).toEqual([true, 1]);
  expect(await waited(empty, { loadedMs: 500 })).toEqual([true, 1]);
  // The load event has not ended, or its time is not known.
  expect(await waited(empty, { loadedMs: null })).toEqual([true, 100]);
  expect(await waited(empty, { loadedMs: -1 })).toEqual([true, 100]);
});

test('untilReady waits for a state of the document', async () => {
  await page.show('');
  expect(await page.call(script.isWithoutElement, [])).toBe(false);
  const seen = await page.read(async () => {
    let state: DocumentReadyState = 'loading';
    Object.defineProperty(document, 'readyState', { get: () => state });
    const ended: string[] = [];
    const all = (['domcontentloaded', 'load'] as const).map((each) => untilReady(each).then(() => ended.push(each)));
    const states: string[][] = [];
    for (const next of ['loading', 'interactive', 'complete'] as const) {
      state = next;
      document.dispatchEvent(new Event('readystatechange'));
      await waits.sleep(0);
      states.push([...ended]);
    }
    await Promise.all(all);
    return states;
  }, [script.untilReady]);
  expect(seen).toEqual([[], ['domcontentloaded'], ['domcontentloaded', 'load']]);
  await page.read(() => document.documentElement.remove());
  expect(await page.call(script.isWithoutElement, [])).toBe(true);
});
