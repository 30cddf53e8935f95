import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { untilReady } from '../../../services/renderer/page/ready.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const idle = { isLoading: false, isFetching: false, isListening: false, untilFetching: async () => undefined };
const still = { moving: false, arrivals: 1, settled: async () => undefined };
const noChange = { lastChange: 0, repeats: false };

interface Behavior {
  readonly scripted?: boolean;
  readonly ended?: boolean;
  readonly network?: object;
  readonly document?: object;
  readonly frames?: object;
  /** Results of the waits for pending work; the last one repeats. */
  readonly waited?: readonly object[];
  readonly onWait?: () => void;
}

function pageThat(behavior: Behavior = {}): AnsweringPage {
  const { scripted = true, ended = false, network = {}, document = {}, waited = [noChange], onWait } = behavior;
  const waits = [...waited];
  return new AnsweringPage(
    {
      untilTimersRan: scripted,
      scriptsHaveEnded: ended,
      watchChanges: 0,
      untilNothingIsDue: () => {
        onWait?.();
        return waits.length > 1 ? waits.shift() : waits[0];
      },
    },
    {
      network: { ...idle, ...network },
      document: { ...still, ...document },
      ...(behavior.frames === undefined ? {} : { frames: behavior.frames }),
      page: { waitForLoadState: async () => undefined },
    },
  );
}

const ready = ({ open }: AnsweringPage, options: object = {}) =>
  untilReady(open, { format: 'png', ...options } as RenderOptions);
const wait = 'untilNothingIsDue';
const countOf = ({ names }: AnsweringPage) => names.filter((name) => name === wait).length;

describe('untilReady', () => {
  test('returns at once if the page is idle', async () => {
    const page = pageThat({ ended: true });
    expect(await ready(page)).toEqual({ needsRestWait: false, softTimeouts: [] });
    expect(page.calls).toEqual([['untilTimersRan', 20], ['scriptsHaveEnded']]);
  });

  test.each<Behavior>([
    { ended: false },
    { ended: true, network: { isLoading: true } },
    { ended: true, frames: { isEmpty: false, list: async () => [] } },
    { ended: true, document: { moving: true } },
    { ended: true, document: { answer: { headers: { refresh: '1; url=/next' } } } },
  ])('waits for a page with scripts that is not idle: %o', async (behavior) => {
    const page = pageThat(behavior);
    expect(await ready(page)).toEqual({ needsRestWait: true, softTimeouts: [] });
    expect(page.names.slice(2, 4)).toEqual(['watchChanges', wait]);
  });

  test('does not wait for a page without scripts, unless it goes elsewhere', async () => {
    const plain = pageThat({ scripted: false });
    expect(await ready(plain)).toEqual({ needsRestWait: false, softTimeouts: [] });
    expect(countOf(plain)).toBe(0);
    const leaving = pageThat({ scripted: false, document: { answer: { headers: { refresh: '1; url=/next' } } } });
    expect(await ready(leaving)).toEqual({ needsRestWait: false, softTimeouts: [] });
    expect(leaving.calls.at(-1)?.at(-1)).toEqual({ runs: false, refresh: '1; url=/next' });
    const moving = pageThat({ scripted: false, document: { moving: true } });
    await ready(moving);
    expect(countOf(moving)).toBe(1);
  });

  test('waits for what the picture shows, for 2.5 s or with progress 5 s', async () => {
    for (const [options, scope, runs] of [
      [{}, 'visible', true],
      [{ isFullPage: true }, 'all', true],
      [{ format: 'pdf' }, 'all', true],
      [{ selector: 'p' }, 'all', true],
      [{ javaScript: false }, 'visible', false],
    ] as const) {
      const page = pageThat();
      await ready(page, options);
      expect(page.calls.at(-1)).toEqual([wait, scope, 2500, 5000, { runs, refresh: undefined }]);
      expect(page.limits.get(wait)?.timeoutMs).toBeGreaterThan(5000);
    }
  });

  test('tells what was still changing', async () => {
    expect(await ready(pageThat({ waited: [{ ...noChange, changing: 'content' }] }))).toEqual({
      needsRestWait: true,
      softTimeouts: ['content'],
    });
  });
});

describe('untilReady of a page that fetches', () => {
  /** A page that fetches data a number of times, each for a time in milliseconds. */
  const fetching = (times: number, ms: number, behavior: Behavior = {}) => {
    const limits: number[] = [];
    let left = times;
    /** The page sends its next request some time after a response. */
    let isPausing = false;
    const network = {
      get isFetching() {
        return left > 0 && !isPausing;
      },
      untilFetched: async (timeoutMs: number) => {
        limits.push(timeoutMs);
        vi.advanceTimersByTime(Math.min(ms, timeoutMs));
        left -= 1;
        isPausing = ms < timeoutMs;
        return isPausing;
      },
      untilFetching: async (timeoutMs: number) => {
        vi.advanceTimersByTime(left > 0 ? 30 : timeoutMs);
        isPausing = false;
      },
      untilHeard: async () => true,
    };
    const page = new AnsweringPage(
      {
        untilTimersRan: true,
        watchChanges: 0,
        [wait]: () => (behavior.onWait?.(), behavior.waited?.[0] ?? noChange),
      },
      { network: Object.defineProperties({ ...idle }, Object.getOwnPropertyDescriptors(network)), document: still },
    );
    return { page, limits, more: () => (left += 1) };
  };

  test('waits 1.5 s for the data, and for requests that follow', async () => {
    const two = fetching(2, 400);
    await ready(two.page);
    expect(two.limits).toEqual([1500, 1070]);
    expect(two.page.calls.filter(([name]) => name === 'untilFrames')).toEqual([
      ['untilFrames', 2],
      ['untilFrames', 2],
    ]);
    const waited = { lastChange: 0, repeats: false };
    const endless = fetching(100, 400, { onWait: () => void (waited.lastChange += 1), waited: [waited] });
    await ready(endless.page);
    expect(endless.limits).toEqual([1500, 1070, 640, 210]);
    expect(countOf(endless.page)).toBe(1);
  });

  test('waits for data that new content requests, until 2.5 s', async () => {
    let change = 0;
    const page = fetching(0, 1000, {
      onWait: () => {
        change += 1;
        if (change < 20) page.more();
        vi.advanceTimersByTime(10);
      },
      waited: [{ ...noChange, repeats: false }],
    });
    await ready(page.page);
    // When the first wait starts, no request is open. The waits end because the new content did not change the view.
    expect([page.limits, countOf(page.page)]).toEqual([[2490], 2]);
  });

  test('follows a view that changes with each response, until 2.5 s', async () => {
    const waited = { lastChange: 0, repeats: true };
    const page = fetching(1, 600, {
      onWait: () => {
        waited.lastChange += 1;
        page.more();
      },
      waited: [waited],
    });
    await ready(page.page);
    expect(page.limits).toEqual([1500, 1860, 1220, 580]);
  });

  test('does not follow a view that has changed for 2.5 s', async () => {
    const waited = { lastChange: 0, repeats: true };
    const page = fetching(1, 600, {
      onWait: () => {
        waited.lastChange += 1;
        page.more();
        vi.advanceTimersByTime(2000);
      },
      waited: [waited],
    });
    await ready(page.page);
    expect(countOf(page.page)).toBe(1);
  });

  test('does not follow requests that repeat without a change of the view', async () => {
    const page = fetching(0, 600, { onWait: () => void page.more(), waited: [{ lastChange: 0, repeats: true }] });
    await ready(page.page);
    expect(page.limits).toEqual([]);
  });

  test('waits for messages in the same way as for responses', async () => {
    const asked: unknown[] = [];
    const network = {
      isListening: true,
      untilFetched: async () => true,
      untilHeard: async (timeoutMs: number) => {
        asked.push(timeoutMs);
        return false;
      },
    };
    const page = pageThat({ network });
    await ready(page);
    expect([asked, countOf(page)]).toEqual([[1500], 1]);
    const talking = {
      ...idle,
      untilFetched: async () => true,
      untilHeard: async () => {
        talking.isListening = false;
        return true;
      },
    };
    const answerOnce = () => {
      talking.isListening = countOf(answering) === 1;
      return noChange;
    };
    const answering: AnsweringPage = new AnsweringPage(
      { untilTimersRan: true, watchChanges: 0, [wait]: answerOnce },
      { network: talking, document: still },
    );
    await ready(answering);
    expect(countOf(answering)).toBe(2);
  });
});

describe('untilReady of a page that navigates', () => {
  test('rejects when the next document has arrived, and continues if the page stays', async () => {
    const staying = pageThat({ document: { moving: true } });
    expect(await ready(staying)).toMatchObject({ needsRestWait: true });
    const followed = vi.fn<() => Promise<void>>();
    await ready(pageThat({ document: { settled: followed } }));
    expect(followed).not.toHaveBeenCalled();
    const settled = async () => void Object.assign(leaving.open.document, { arrivals: 2 });
    const leaving: AnsweringPage = pageThat({ document: { moving: true, settled } });
    await expect(ready(leaving)).rejects.toBeInstanceOf(DocumentGoneError);
  });
});

describe('untilReady of a page with frames', () => {
  const frame = (answers: object) => ({ world: new AnsweringPage({ isLiveFrame: true, ...answers }).open.world });
  const framesOf = (...list: readonly object[]) => ({ isEmpty: false, list: async () => list });
  const changing = (what: string) => frame({ [wait]: { ...noChange, changing: what } });

  test('reports in one result what was still changing in the page and its frames', async () => {
    const gone = frame({ [wait]: () => Promise.reject(new Error('the frame is gone')) });
    const dead = frame({ isLiveFrame: false, [wait]: { ...noChange, changing: 'animations' } });
    const frames = framesOf(gone, dead, changing('content'), changing('content'), frame({ [wait]: noChange }));
    const page = pageThat({ frames, waited: [{ ...noChange, changing: 'content' }] });
    expect(await ready(page)).toEqual({ needsRestWait: true, softTimeouts: ['content'] });
    const plain = pageThat({ scripted: false, frames: framesOf(changing('animations')) });
    const both = pageThat({
      frames: framesOf(changing('animations')),
      waited: [{ ...noChange, changing: 'content' }],
    });
    expect(await ready(both)).toEqual({ needsRestWait: true, softTimeouts: ['content', 'animations'] });
    expect(await ready(plain)).toEqual({ needsRestWait: false, softTimeouts: ['animations'] });
  });

  test('waits for changes in view of a frame, and finishes its animations', async () => {
    const page = new AnsweringPage({ isLiveFrame: true, [wait]: noChange });
    await ready(pageThat({ frames: framesOf(page.open) }), { isFullPage: true });
    expect(page.calls).toEqual([
      ['isLiveFrame'],
      ['watchChanges'],
      [wait, 'visible', 2500, 5000, { runs: true }],
      ['finishAnimations'],
    ]);
  });

  test('does not look into frames if scripts must not run', async () => {
    const frames = framesOf(changing('content'));
    expect(await ready(pageThat({ frames }), { javaScript: false })).toMatchObject({ softTimeouts: [] });
  });
});
