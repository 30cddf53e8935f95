/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import {
  mayChangeWithin,
  type DueCallbacks,
  type PageActivity,
} from '../../../services/renderer/page/scripts/activity.ts';
import * as canvases from '../../../services/renderer/page/scripts/canvases.ts';
import { movesEndlessly } from '../../../services/renderer/page/scripts/motion.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const activity: PageActivity;
declare const pageState: PageState;
declare const fingerprintCanvas: typeof canvases.fingerprintCanvas;
declare const useClock: typeof clock.useClock;
declare const waitForCanvases: typeof canvases.waitForCanvases;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const draw = (id: string, color = 'red') =>
  `{ const context = document.querySelector('#${id}').getContext('2d'); context.fillStyle = '${color}'; context.fillRect(0, 0, 9, 9) }`;

test('fingerprintCanvas returns different fingerprints for different drawings', async () => {
  await page.show(
    `${['empty', 'red', 'same', 'blue', 'dark', 'tainted', 'last'].map((id) => `<canvas id="${id}" width="9" height="9"></canvas>`).join('')}
     <canvas id="flat" width="9" height="0"></canvas><canvas id="thin" width="0" height="9"></canvas>
     <script>${draw('red')} ${draw('same')} ${draw('blue', 'blue')} ${draw('dark', '#010000')} ${draw('last')}</script>`,
  );
  await page.page.route('http://tainting.test/**', (route) =>
    route.fulfill({
      contentType: 'image/svg+xml',
      body: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    }),
  );
  await page.page.evaluate(async () => {
    const image = new Image();
    image.src = 'http://tainting.test/';
    await image.decode();
    document.querySelector<HTMLCanvasElement>('#tainted')?.getContext('2d')?.drawImage(image, 0, 0);
  });
  await page.page.unroute('http://tainting.test/**');
  const prints = await page.read(
    () =>
      Object.fromEntries([...document.querySelectorAll('canvas')].map((each) => [each.id, fingerprintCanvas(each)])),
    [canvases.fingerprintCanvas],
  );
  expect(prints).toMatchObject({ empty: 0, flat: -1, thin: -1, tainted: -1, same: prints['red'], last: prints['red'] });
  expect(new Set([0, -1, prints['red'], prints['blue'], prints['dark']]).size).toBe(5);
});

describe('waitForCanvases', () => {
  interface Case {
    readonly maxMs?: number;
    /** When the first canvas changes, in milliseconds; `always` for each frame. */
    readonly changesAt?: number | 'always';
    readonly due?: readonly Partial<DueCallbacks>[];
    readonly isIdle?: boolean;
    /** Length of a series of changes of the first canvas before the wait. */
    readonly movedMs?: number;
    readonly mayEndEarly?: boolean;
  }
  /** Returns the length of the wait. */
  const waitIn = async (
    body: string,
    { maxMs = 10_000, changesAt, due, isIdle, movedMs, mayEndEarly = false }: Case = {},
  ) => {
    await page.show(body);
    return page.call(
      async (most: number, pending: readonly DueCallbacks[] | null, options: Case) => {
        activity.due = () => pending ?? undefined;
        const [first] = document.querySelectorAll('canvas');
        const changes = { motions: new Map<Node, object>(), isIdle: options.isIdle };
        if (options.movedMs !== undefined) changes.motions.set(first as Node, { since: 5, last: 5 + options.movedMs });
        Object.assign(
          pageState,
          options.isIdle === undefined && options.movedMs === undefined ? {} : { webcaptureChanges: changes },
        );
        const passed = useClock((ms) => {
          const context = first?.getContext('2d');
          if (!context || (options.changesAt !== 'always' && options.changesAt !== ms)) return;
          context.fillStyle = `hsl(${ms}, 90%, 50%)`;
          context.fillRect(0, 0, 9, 9);
        });
        await waitForCanvases(most, options.mayEndEarly === true);
        return passed();
      },
      [maxMs, (due ?? null) as readonly DueCallbacks[] | null, { changesAt, isIdle, movedMs, mayEndEarly } as Case],
      [canvases.fingerprintCanvas, canvases.waitForCanvases, mayChangeWithin, movesEndlessly, clock.useClock],
    );
  };
  const canvas = (id: string, more = '') => `<canvas id="${id}" width="9" height="9" ${more}></canvas>`;
  /** A canvas, and a script that draws in it. */
  const drawn = `${canvas('a')}<script>${draw('a')}</script>`;
  const script = '<script></script>';
  /** Duration of a round of three frames. The drawings are compared after each round. */
  const round = 48;

  test('does not wait without a visible canvas, or for a canvas that never stops changing', async () => {
    for (const body of [
      script,
      canvas('a', 'hidden') + script,
      `<canvas width="0" height="9"></canvas><canvas width="9" height="0"></canvas>${script}`,
    ])
      expect(await waitIn(body), body).toBe(0);
    expect(await waitIn(drawn, { movedMs: 1501 })).toBe(0);
    expect(await waitIn(drawn, { movedMs: 1500 })).toBe(round);
  });

  test('waits until nothing has changed between two rounds', async () => {
    expect(await waitIn(drawn)).toBe(round);
    expect(await waitIn(drawn, { changesAt: 16 })).toBe(2 * round);
    expect(await waitIn(drawn, { maxMs: 500, changesAt: 'always' })).toBe(11 * round);
  });

  test('waits for an empty canvas of a page with scripts, at most 600 ms', async () => {
    expect(await waitIn(canvas('a') + script)).toBe(13 * round);
    expect(await waitIn(canvas('a'))).toBe(round);
    expect(await waitIn(canvas('a') + script, { changesAt: 160 })).toBe(5 * round);
    // One of the two canvases is still empty.
    expect(await waitIn(drawn + canvas('b'))).toBe(13 * round);
  });

  test('waits for 200 ms for an empty canvas if nothing is due that may draw on it', async () => {
    const empty = canvas('a') + script;
    const early = { mayEndEarly: true, due: [] };
    expect(await waitIn(empty, early)).toBe(5 * round);
    expect(await waitIn(empty, { ...early, mayEndEarly: false })).toBe(13 * round);
    expect(await waitIn(empty, { mayEndEarly: true })).toBe(13 * round);
    // A timer that is due after 359 ms is due within the rest of the 600 ms.
    expect(await waitIn(empty, { ...early, due: [{ kind: 'setTimeout', inMs: 359 }] })).toBe(6 * round);
    expect(await waitIn(empty, { ...early, due: [{ kind: 'setTimeout', inMs: 361 }] })).toBe(5 * round);
  });

  test('does not wait for an empty canvas on top of another one', async () => {
    const at = (left: number, top: number) => `style="position:absolute;left:${left}px;top:${top}px"`;
    const over = (left: number, top: number) =>
      `${canvas('a', at(0, 0))}<script>${draw('a')}</script>${canvas('b', at(left, top))}`;
    expect(await waitIn(over(0, 0))).toBe(round);
    expect(await waitIn(over(1, 0))).toBe(13 * round);
    expect(await waitIn(over(0, 1))).toBe(13 * round);
  });

  test('waits for half a second without a change while scripts draw in frames', async () => {
    const due = [{ kind: 'setTimeout' }, { kind: 'requestAnimationFrame' }];
    expect(await waitIn(drawn, { due })).toBe(11 * round);
    expect(await waitIn(drawn, { due, changesAt: 160 })).toBe(15 * round);
    expect(await waitIn(drawn, { due, isIdle: false })).toBe(11 * round);
    expect(await waitIn(drawn, { due, isIdle: true })).toBe(round);
    expect(await waitIn(drawn, { due: [{ kind: 'setTimeout' }] })).toBe(round);
    expect(await waitIn(drawn, { due: [] })).toBe(round);
  });
});
