// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { stillQuestion } from '../../../services/renderer/browser/activity.ts';
import { fingerprintCanvas } from '../../../services/renderer/page/scripts/canvases.ts';
import { untilNothingIsDue, watchChanges } from '../../../services/renderer/page/scripts/ready.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

interface Wait {
  readonly maxMs?: number;
  readonly runs?: boolean;
  readonly refresh?: string;
}

/**
 * Waits; the first questions for pending work get these answers. After them, nothing is pending and the page does not refresh. Returns the
 * number of questions, and the result.
 */
async function waitWith(answers: readonly string[], { maxMs = 60_000, runs = true, refresh }: Wait = {}) {
  await page.show(
    `<p>text</p><script>
       var answers = [], asked = 0;
       document.addEventListener('${stillQuestion}-due', () => {
         const detail = answers[asked] ?? '';
         asked += 1;
         if (asked === 3) document.head.insertAdjacentHTML('beforeend', '<meta http-equiv="refresh" content="50; url=/">');
         document.dispatchEvent(new CustomEvent('${stillQuestion}-answer', { detail }));
       });
     </script>`,
  );
  await page.call(watchChanges, []);
  await page.page.evaluate((all) => Object.assign(globalThis, { answers: all, asked: 0 }), answers);
  const about = { runs, ...(refresh === undefined ? {} : { refresh }) };
  const result = await page.call(untilNothingIsDue, ['all', maxMs, maxMs, about], [fingerprintCanvas]);
  return { ...result, asked: await page.page.evaluate(() => (globalThis as { asked?: number }).asked) };
}

/** Shows a page that changes itself at each question for pending work, and starts to record changes. Returns the start time. */
async function showChanging(change: string, answers: readonly string[]): Promise<number> {
  const places = {
    below: 'top:480px',
    lowest: 'top:479px',
    beside: 'left:640px',
    rightmost: 'left:639px',
    above: 'top:-100px;height:99px',
    topmost: 'top:-100px;height:100px',
    leftOut: 'left:-100px;width:99px',
  };
  const boxes = Object.entries(places).map(([id, place]) => `<i id="${id}" style="${place}"></i>`);
  await page.show(
    `<p id="seen" title="old">text</p><p id="hidden" hidden></p>${boxes.join('')}${'<u></u>'.repeat(200)}<script>
       var asked = 0, answers;
       const many = (count) => { for (const each of [...document.querySelectorAll('u')].slice(0, count)) each.title = 'new' };
       document.addEventListener('${stillQuestion}-due', () => {
         const detail = answers?.[asked] ?? '';
         if (detail !== '') { ${change} }
         asked += 1;
         document.dispatchEvent(new CustomEvent('${stillQuestion}-answer', { detail }));
       });
     </script>`,
    '<style>i { position: absolute; width: 9px; height: 9px } s, u { display: none } b { display: block; height: 9px }</style>',
  );
  const start = await page.call(watchChanges, []);
  await page.page.evaluate((all) => Object.assign(globalThis, { answers: all, asked: 0 }), answers);
  return start;
}

/** Returns whether a change of the page, which it makes at the first question for pending work, counts. */
async function notices(change: string, scope: 'visible' | 'all'): Promise<boolean> {
  const start = await showChanging(change, ['navigation 0 -1 0;']);
  const { lastChange } = await page.call(
    untilNothingIsDue,
    [scope, 60_000, 60_000, { runs: true }],
    [fingerprintCanvas],
  );
  return lastChange > start;
}

describe('untilNothingIsDue', () => {
  test('waits for pending work that may change the page', async () => {
    for (const [answer, isAwaited] of [
      ['navigation 0 -699 0', true],
      ['navigation 0 -700 0', false],
      ['worker 0 -1499 0', true],
      ['worker 0 -1500 0', false],
      ['answer 0 -249 9', true],
      ['answer 0 -250 9', false],
      ['answer 0 -249 10', false],
      ['setInterval 1000 5 0', false],
      ['setInterval 999 5 0', true],
      ['setTimeout 1000 5 0', true],
      ['setTimeout 10 5 0', true],
      ['setTimeout 70000 60001 0', false],
      ['requestAnimationFrame 0 0 0', true],
      ['worker 0 -1500 0;navigation 0 -1 0', true],
    ] as const) {
      const { asked } = await waitWith([`${answer};`]);
      expect(asked, answer).toBe(isAwaited ? 2 : 1);
    }
  });

  test('waits for a long timer once, and for more runs of a short one', async () => {
    const runs = (delay: number) => ['0', '1', '2', '2'].map((ran) => `setTimeout ${delay} 5 ${ran};`);
    expect(await waitWith(runs(250))).toMatchObject({ asked: 2 });
    expect(await waitWith(runs(249))).toMatchObject({ asked: 5 });
  });

  test('does not ask for the work of a page without scripts that run', async () => {
    expect(await waitWith(['navigation 0 -1 0;'], { runs: false })).toMatchObject({ asked: 0, repeats: false });
  });

  test('tells whether the pending work repeats', async () => {
    for (const [answer, repeats] of [
      ['setInterval 1000 249 0', true],
      ['setInterval 1000 250 0', false],
      ['answer 0 -250 9', false],
    ] as const) {
      expect(await waitWith([`${answer};`]), answer).toMatchObject({ repeats });
    }
  });

  test('waits for a refresh to another document within the limit', async () => {
    for (const [refresh, isAwaited] of [
      ['50; url=/next', true],
      [' 49.5 , URL = "/next"', true],
      ["50 '/next'", true],
      ['50;/next', true],
      ['50', false],
      ['50; url=/', false],
      ['50; url=http://[', false],
      ['x; url=/next', false],
      ['80; url=/next', false],
    ] as const) {
      const { asked } = await waitWith([], { refresh });
      expect(asked, refresh).toBe(isAwaited ? 3 : 1);
    }
  });

  test('ends at the limit, and tells what was still changing', async () => {
    const busy = Array.from({ length: 10_000 }, () => 'navigation 0 -1 0;');
    const { asked = 0, changing } = await waitWith(busy, { maxMs: 300 });
    expect([asked > 0, changing]).toEqual([true, undefined]);
  });

  test('notices changes of what is in view', async () => {
    const hide = (count: number) => `Array.from({ length: ${count} }, () => document.createElement('s'))`;
    for (const [change, inViewport, inDocument = inViewport] of [
      ["seen.title = 'new'", true],
      ["seen.title = 'old'", false],
      ["seen.firstChild.data = 'other'", true],
      ["seen.firstChild.data = 'text'", false],
      ["seen.replaceChildren('other')", true],
      ["seen.replaceChildren('text')", false],
      ["seen.replaceChildren('text', 'more')", true],
      ['seen.remove()', true],
      ["seen.replaceChildren(document.createElement('s'))", true],
      ["hidden.title = 'new'", false],
      ["below.title = 'new'", false, true],
      ["lowest.title = 'new'", true],
      ["beside.title = 'new'", false, true],
      ["rightmost.title = 'new'", true],
      ["above.title = 'new'", false, true],
      ["topmost.title = 'new'", true],
      ["leftOut.title = 'new'", false, true],
      ["document.head.append(document.createElement('meta'))", false],
      ["document.head.append(document.createElement('style'))", true],
      ["document.body.append(document.createElement('script'))", false],
      ["below.append(document.createElement('b'))", false, true],
      // At most 20 nodes that were added to the same parent count, and at most 200 changed nodes per poll.
      [`seen.append(...${hide(19)}, document.createElement('b'))`, true],
      [`seen.append(...${hide(20)}, document.createElement('b'))`, false],
      [`many(199); seen.title = 'new'`, true],
      [`many(200); seen.title = 'new'`, false],
    ] as const) {
      expect(await notices(change, 'visible'), change).toBe(inViewport);
      expect(await notices(change, 'all'), change).toBe(inDocument);
    }
  });

  test('tells whether content was still added, or only moved, at the limit', async () => {
    for (const [change, changing] of [
      ["seen.append('more')", 'content'],
      ["seen.style.left = performance.now() + 'px'", 'animations'],
      ["hidden.append('more')", undefined],
    ] as const) {
      const busy = Array.from({ length: 10_000 }, () => 'navigation 0 -1 0;');
      await showChanging(change, busy);
      // On a busy machine, the limit may have passed before the first poll.
      await page.page.evaluate(change);
      const result = await page.call(untilNothingIsDue, ['visible', 300, 300, { runs: true }], [fingerprintCanvas]);
      expect(result.changing, change).toBe(changing);
    }
  });

  test('waits beyond the limit while content is added', async () => {
    await showChanging(
      "seen.append('more')",
      Array.from({ length: 5 }, () => 'navigation 0 -1 0;'),
    );
    await page.page.evaluate(() => document.querySelector('#seen')?.append('more'));
    const result = await page.call(untilNothingIsDue, ['visible', 0, 60_000, { runs: true }], [fingerprintCanvas]);
    expect(result.changing).toBeUndefined();
    expect(await page.page.evaluate(() => (globalThis as { asked?: number }).asked)).toBe(6);
  });

  test('waits for timers within the limit, and while content is added for half a second beyond it', async () => {
    const askedWith = async (timer: string, maxMs: number) => {
      await showChanging("seen.append('more')", [timer]);
      await page.page.evaluate(() => document.querySelector('#seen')?.append('more'));
      await page.call(untilNothingIsDue, ['visible', maxMs, 60_000, { runs: true }], [fingerprintCanvas]);
      return page.page.evaluate(() => (globalThis as { asked?: number }).asked);
    };
    expect(await askedWith('setTimeout 9000 9000 0;', 60_000)).toBe(2);
    expect(await askedWith('setTimeout 499 499 0;', 0)).toBe(2);
    expect(await askedWith('setTimeout 501 501 0;', 0)).toBe(1);
  });

  test('waits for further changes if the pending work is not known', async () => {
    await page.show(
      `<p>text</p><script>addEventListener('${stillQuestion}-due', (event) => event.stopImmediatePropagation(), true)</script>`,
    );
    const start = await page.call(watchChanges, []);
    await page.page.evaluate(() => document.querySelector('p')?.append('more'));
    const wait = ['all', 60_000, 60_000, { runs: true }] as const;
    const { lastChange, ...result } = await page.call(untilNothingIsDue, [...wait], [fingerprintCanvas]);
    expect(result).toEqual({ repeats: false });
    expect(lastChange).toBeGreaterThan(start);
    expect(await page.page.evaluate(() => performance.now())).toBeGreaterThan(start + 200);
  });

  test('returns at once if changes are not recorded', async () => {
    await page.show('<p>text</p>');
    const result = await page.call(untilNothingIsDue, ['all', 60_000, 60_000, { runs: true }], [fingerprintCanvas]);
    expect(result).toEqual({ lastChange: 0, repeats: false });
  });
});
