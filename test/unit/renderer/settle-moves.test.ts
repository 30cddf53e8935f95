import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { describe, expect, test } from 'vitest';
import { DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { keepHidden } from '../../../services/renderer/page/hiding.ts';
import { settleWhereItEnds } from '../../../services/renderer/page/settle-moves.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { defaultOptions } from '../../harness/records.ts';

const images = { loaded: 1, failed: 0, pending: 0 };
const measures = { height: 2000, left: 5, viewHeight: 480, width: 640 };

interface Settling extends Partial<RenderOptions> {
  readonly answers?: object;
  readonly shownUrl?: () => string;
  readonly keep?: () => Promise<void>;
}

async function settled({ answers, shownUrl = () => 'http://page.test/', keep, ...options }: Settling) {
  const calls: string[] = [];
  const page: AnsweringPage = new AnsweringPage(
    {
      untilTimersRan: true,
      scriptsHaveEnded: true,
      waitForAssets: { ...images, fontsPending: false },
      finishAnimations: 0,
      countImages: images,
      measurePage: measures,
      ...answers,
    },
    {
      document: { moving: false, requestedUrl: undefined, settled: async () => undefined, cutOff: Promise.resolve() },
      proxySession: { failureOf: () => undefined, wasBlocked: () => false },
    },
  );
  Object.assign(page.events, { url: shownUrl, waitForLoadState: async () => void calls.push('followed') });
  Object.assign(page.open.emulation, { useMobileMetrics: async () => void calls.push('mobile') });
  Object.assign(page.open.world, { noteStop: () => void calls.push('stopped'), timeoutOf: (ms: number) => ms });
  const style = keep === undefined ? undefined : { keep };
  const result = await settleWhereItEnds(
    page.open,
    { ...defaultOptions, viewport: page.open.emulation.viewport, ...options },
    { blocking: undefined, style, runsScript: false, loaded: true },
  );
  return { page, calls, result };
}

/** Fails the first answers. */
const goneTimes = (times: number) => {
  let left = times;
  return () => ((left -= 1) >= 0 ? Promise.reject(new DocumentGoneError(undefined)) : true);
};
const silent = () => Promise.reject(new DeadlineError('a call', 1));
const interrupted = { images, softTimeouts: ['settle'], fullPage: undefined, region: undefined };

describe('settleWhereItEnds', () => {
  test('settles a page that stays', async () => {
    const { calls, result } = await settled({});
    expect(calls).toEqual([]);
    expect(result).toEqual({ ...interrupted, softTimeouts: [] });
  });

  test('follows a page that navigates, with the layout of a phone', async () => {
    const { calls, result } = await settled({ answers: { untilTimersRan: goneTimes(2) } });
    expect(calls).toEqual(['mobile', 'followed', 'mobile', 'followed']);
    expect(result.softTimeouts).toEqual([]);
  });

  test('disables the scripts of a page that has navigated five times, and captures its next document', async () => {
    const five = await settled({ answers: { untilTimersRan: goneTimes(5) } });
    expect([five.calls.filter((each) => each === 'followed').length, five.result.softTimeouts]).toEqual([5, []]);
    const { page, calls, result } = await settled({ answers: { untilTimersRan: goneTimes(6) } });
    expect(calls.slice(-2)).toEqual(['followed', 'stopped']);
    expect(calls.filter((each) => each === 'followed')).toHaveLength(6);
    expect(page.calls).toContainEqual(['Emulation.setScriptExecutionDisabled', { value: true }]);
    expect(result).toEqual(interrupted);
  });

  test('stops a page that does not respond, and captures it as it is', async () => {
    let kept = 0;
    const answers = { untilTimersRan: silent, adoptHiding: undefined, enforceHiding: null };
    const { page, calls, result } = await settled({ answers, hide: ['a'], keep: async () => void (kept += 1) });
    expect([calls, result, kept]).toEqual([['stopped'], interrupted, 2]);
    expect(page.names).toContain('enforceHiding');
    const whole = await settled({ answers: { untilTimersRan: silent }, isFullPage: true });
    const fullPage = { height: 2000, left: 5, truncated: false, strategy: 'grown', isLocked: false };
    expect(whole.result).toEqual({ ...interrupted, fullPage });
    const tall = { untilTimersRan: silent, measurePage: { ...measures, height: 100_000 } };
    const cut = await settled({ answers: tall, isFullPage: true, format: 'jpeg' });
    expect(cut.result.fullPage).toEqual({ ...fullPage, height: 65_500, truncated: true });
  });

  test('fails if the page ends on an error page, before or after it has settled, and passes other errors on', async () => {
    const error = 'chrome-error://chromewebdata/';
    const urls = ['http://page.test/', error];
    for (const shownUrl of [() => error, () => urls.shift() ?? error])
      await expect(settled({ shownUrl })).rejects.toMatchObject({ code: 'NAVIGATION_FAILED' });
    const broken = { untilTimersRan: () => Promise.reject(new Error('broken')) };
    await expect(settled({ answers: broken })).rejects.toThrow('broken');
  });
});

describe('keepHidden', () => {
  const keep = async (unwanted: { readonly hide?: string[]; readonly remove?: string[] }, refused: number | null) => {
    const page = new AnsweringPage({ enforceHiding: refused });
    await keepHidden(page.open, unwanted);
    return page.names;
  };

  test('hides elements that are visible in spite of the style sheet', async () => {
    expect(await keep({ hide: ['a'] }, null)).toEqual(['adoptHiding', 'enforceHiding']);
    expect(await keep({ remove: ['a'] }, null)).toEqual(['adoptHiding', 'enforceHiding']);
    expect(await keep({}, null)).toEqual([]);
  });

  test('names a selector that the browser does not support', async () => {
    const both = { hide: ['a', 'b'], remove: ['c'] };
    for (const [refused, name] of ['hide "a"', 'hide "b"', 'remove "c"'].entries())
      await expect(keep(both, refused)).rejects.toMatchObject({
        causedBy: 'client',
        message: expect.stringContaining(name),
      });
  });
});
