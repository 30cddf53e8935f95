// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { stillQuestion } from '../../../services/renderer/browser/activity.ts';
import { fingerprintCanvas } from '../../../services/renderer/page/scripts/canvases.ts';
import { movesEndlessly, observeChanges } from '../../../services/renderer/page/scripts/motion.ts';
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
 * Runs the wait. The page answers the first queries for pending work with `answers`. After these, nothing is pending and the page does not
 * refresh. Returns the number of queries, and the result of the wait.
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
  await page.call(watchChanges, [], [observeChanges]);
  await page.page.evaluate((all) => Object.assign(globalThis, { answers: all, asked: 0 }), answers);
  const about = { runs, ...(refresh === undefined ? {} : { refresh }) };
  const result = await page.call(untilNothingIsDue, ['all', maxMs, maxMs, about], [fingerprintCanvas, movesEndlessly]);
  return { ...result, asked: await page.page.evaluate(() => (globalThis as { asked?: number }).asked) };
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

  test('returns at once if changes are not recorded', async () => {
    await page.show('<p>text</p>');
    const result = await page.call(untilNothingIsDue, ['all', 60_000, 60_000, { runs: true }], [fingerprintCanvas]);
    expect(result).toEqual({ lastChange: 0, repeats: false });
  });
});
