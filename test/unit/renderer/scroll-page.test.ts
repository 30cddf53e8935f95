import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { freezeScrollEffects, scrollPage } from '../../../services/renderer/page/scroll-page.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const steps = 12;
const request = (type = 'fetch') => ({ resourceType: () => type });

interface Behavior {
  readonly first?: object;
  /** Heights that are measured after each round. */
  readonly measured?: readonly number[];
  /** Results of each round. */
  readonly rounds?: readonly { readonly reachedEnd?: boolean; readonly height?: number }[];
  /** Called in each round and at each measurement after the first. */
  readonly onScroll?: (page: AnsweringPage) => void;
  readonly onMeasure?: (page: AnsweringPage) => void;
  readonly parts?: object;
}

function pageThat({ first, measured = [1000], rounds = [{}], onScroll, onMeasure, parts }: Behavior): AnsweringPage {
  const [heights, ends] = [[...measured], [...rounds]];
  let isFirst = true;
  const page: AnsweringPage = new AnsweringPage(
    {
      scrollThrough: (budgetMs: number, _maxHeight: number, maxSteps: number) => {
        if (isFirst) {
          isFirst = false;
          return { reachedEnd: false, height: 1000, scripted: true, ...first };
        }
        if (budgetMs > 0 || maxSteps !== 1) {
          onScroll?.(page);
          return { reachedEnd: true, height: 1000, scripted: true, ...(ends.length > 1 ? ends.shift() : ends[0]) };
        }
        onMeasure?.(page);
        return { reachedEnd: true, height: heights.length > 1 ? heights.shift() : heights[0], scripted: true };
      },
    },
    parts,
  );
  return page;
}

const measuring = ['scrollThrough', 0, 0, 1];
const scrolling = ['scrollThrough', 10_000, 21_000, steps];
const observing = ['waitForIntersectionObservers', 2000];

describe('scrollPage', () => {
  test.each([{ reachedEnd: true }, { scripted: false }])(
    'only measures a page that cannot react: %o',
    async (first) => {
      const page = pageThat({ first });
      expect(await scrollPage(page.open, steps)).toEqual({ stillGrew: false, reachedEnd: true });
      expect(page.calls).toEqual([measuring]);
    },
  );

  test('scrolls to the end, waits for observers, and scrolls back', async () => {
    const page = pageThat({});
    expect(await scrollPage(page.open, steps)).toEqual({ stillGrew: false, reachedEnd: true });
    expect(page.calls).toEqual([measuring, scrolling, observing, measuring, ['scrollToTop']]);
    expect(page.limits.get('scrollThrough')).toEqual({ timeoutMs: 5000, what: 'measuring' });
    expect(page.events.eventNames()).toEqual([]);
  });

  test('follows a page that grows for 10 rounds', async () => {
    const page = pageThat({ measured: [1001] });
    expect(await scrollPage(page.open, steps)).toEqual({ stillGrew: true, reachedEnd: true });
    expect(page.names.filter((name) => name === 'waitForIntersectionObservers')).toHaveLength(10);
    const once = pageThat({ measured: [1001, 2000], rounds: [{}, { height: 2000 }] });
    expect(await scrollPage(once.open, steps)).toEqual({ stillGrew: false, reachedEnd: true });
    expect(once.calls.filter(([, budget]) => budget === 10_000)).toHaveLength(2);
  });

  test('stops where scrolling did not reach the end', async () => {
    for (const height of [1000, 1001]) {
      const page = pageThat({ rounds: [{ reachedEnd: false, height }] });
      expect(await scrollPage(page.open, steps)).toEqual({ stillGrew: height > 1000, reachedEnd: false });
      expect(page.calls).toEqual([measuring, scrolling, ['scrollToTop']]);
    }
  });

  test('gives later rounds the rest of 10 s, and 5 s more for the answer', async () => {
    const budgets: unknown[] = [];
    const page = pageThat({
      measured: [1001],
      rounds: [{}, { reachedEnd: false }],
      onScroll: ({ calls, limits }) => {
        budgets.push([calls.at(-1)?.[1], limits.get('scrollThrough')?.timeoutMs]);
        vi.advanceTimersByTime(4000);
      },
    });
    await scrollPage(page.open, steps);
    expect(budgets).toEqual([
      [10_000, 15_000],
      [6000, 11_000],
    ]);
    const late = pageThat({ measured: [1001], onScroll: () => vi.advanceTimersByTime(60_000) });
    await scrollPage(late.open, steps);
    expect(late.calls.filter(([, budget, , most]) => budget === 0 && most === steps)).toHaveLength(9);
  });

  test('measures again after content that scrolling has requested', async () => {
    const loaded = request();
    const page = pageThat({
      measured: [1000, 1001, 1001],
      rounds: [{}, { height: 1001 }],
      onScroll: ({ events, calls }) => {
        if (calls.length === 2) events.emit('request', loaded);
        events.emit('requestfinished', loaded);
      },
      onMeasure: ({ events, calls }) => void (calls.length < 6 && events.emit('request', request('image'))),
    });
    expect(await scrollPage(page.open, steps)).toEqual({ stillGrew: false, reachedEnd: true });
    // Only content counts, so the first measurement is the last of its round.
    expect(page.calls.slice(0, 5)).toEqual([measuring, scrolling, observing, observing, measuring]);
  });

  test('measures a second time if requests began meanwhile, and no third time', async () => {
    const waits: unknown[] = [];
    const page: AnsweringPage = pageThat({
      onMeasure: ({ events }) => void events.emit('request', request()),
      parts: {
        deadline: {
          run: (_work: Promise<unknown>, timeoutMs: number, what: string) => {
            waits.push([timeoutMs, what]);
            return Promise.reject(new DeadlineError(what, timeoutMs));
          },
        },
      },
    });
    expect(await scrollPage(page.open, steps)).toEqual({ stillGrew: false, reachedEnd: true });
    expect(page.calls.slice(2)).toEqual([observing, measuring, observing, measuring, ['scrollToTop']]);
    expect(waits).toEqual([[1500, 'what scrolling asked for']]);
    const late = pageThat({
      onMeasure: ({ events }) => {
        events.emit('request', request());
        vi.advanceTimersByTime(10_000);
      },
    });
    await scrollPage(late.open, steps);
    expect(late.calls.filter(([, budget, , most]) => budget === 0 && most === 1)).toHaveLength(2);
  });

  test('rejects with an error of the wait for content, and removes its listeners', async () => {
    const gone = new Error('the page is gone');
    const page = pageThat({
      onScroll: ({ events }) => void events.emit('request', request()),
      parts: { deadline: { run: () => Promise.reject(gone) } },
    });
    await expect(scrollPage(page.open, steps)).rejects.toBe(gone);
    expect(page.events.eventNames()).toEqual([]);
  });
});

test('freezeScrollEffects gives the effects 10 s, and 5 s more for the answer', async () => {
  const page = new AnsweringPage({});
  await freezeScrollEffects(page.open);
  expect(page.calls).toEqual([['holdScrollEffects', 5000]]);
  expect(page.limits.get('holdScrollEffects')).toEqual({ timeoutMs: 10_000, what: 'effects of scrolling' });
});
