import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { describe, expect, test, vi } from 'vitest';
import { settle, type SettleState } from '../../../services/renderer/page/settle.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { defaultOptions } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';

const images = { loaded: 2, failed: 1, pending: 0 };

/** A page of one viewport that shows its content and whose scripts have ended. */
const idle = {
  untilTimersRan: true,
  scriptsHaveEnded: true,
  hasPainted: true,
  waitForAssets: { ...images, fontsPending: false },
  finishAnimations: 0,
  measurePage: { height: 480, width: 640, left: 0, viewHeight: 480, contentHeight: 480 },
  findScroller: null,
  isLocked: false,
  shareOfScenes: 0,
  scrollThrough: { reachedEnd: true, height: 480, scripted: true },
  waitForReveals: 0,
  countUnseen: 0,
  isInert: true,
};
const tall = { ...idle, measurePage: { ...idle.measurePage, height: 2000, contentHeight: 2000 } };

interface Settling extends Partial<RenderOptions> {
  readonly answers?: object;
  readonly parts?: object;
  readonly state?: Partial<SettleState>;
  readonly page?: AnsweringPage;
}

const pageOf = (answers: object = {}, parts: object = {}) =>
  new AnsweringPage({ ...idle, ...answers }, { pageBytes: 1024 ** 3, ...parts });

async function settling({ answers, parts, state, page = pageOf(answers, parts), ...options }: Settling = {}) {
  const settled = await settle(
    page.open,
    { ...defaultOptions, viewport: page.open.emulation.viewport, ...options },
    { blocking: undefined, style: undefined, runsScript: false, loaded: true, ...state },
  );
  return { page, settled, calls: page.calls, names: page.names };
}

const blockingThat = (hideBlockedLeftovers: (until: number) => Promise<void>) =>
  ({ hideBlockedLeftovers }) as unknown as NonNullable<SettleState['blocking']>;
const last = [['waitForAssets', 'visible', 3000, 3200], ['finishAnimations'], ['showPulsing']] as const;

describe('settle', () => {
  test('does not wait for a page that is idle', async () => {
    const { page, settled, calls } = await settling();
    expect(calls.slice(0, 2).map(([name]) => name)).toEqual(['untilTimersRan', 'scriptsHaveEnded']);
    expect(calls.slice(2)).toEqual(last);
    expect(settled).toEqual({ images, softTimeouts: [], fullPage: undefined, region: undefined });
    expect((await settling({ waitUntil: 'networkidle' })).names).toContain('untilTimersRan');
    expect(page.waits.size).toBe(0);
  });

  test('waits for the content of a page that the capture may have changed', async () => {
    const content = ['waitForContent', 450, 2500, 3000];
    const blocking = blockingThat(async () => undefined);
    for (const changes of [{ state: { runsScript: true } }, { click: ['a'] }, { state: { blocking } }]) {
      const { page, calls } = await settling(changes);
      expect(calls.filter(([name]) => name.startsWith('waitFor'))).toEqual([
        content,
        ['waitForCanvases', 1500, true],
        ['waitForReveals', 7000, 1700, true],
        last[0],
      ]);
      expect(page.limits.get('waitForContent')).toMatchObject({ timeoutMs: 10_500 });
      expect(page.limits.get('waitForCanvases')).toMatchObject({ timeoutMs: 6500 });
      expect(page.limits.get('waitForReveals')).toMatchObject({ timeoutMs: 12_000 });
    }
    const scripted = await settling({
      answers: { scriptsHaveEnded: false, untilNothingIsDue: { changing: 'settle' } },
    });
    expect(scripted.calls).toContainEqual(content);
    expect(scripted.settled.softTimeouts).toEqual(['settle']);
  });

  test('does not expect a page to be ready that need not load', async () => {
    for (const waitUntil of ['commit', 'domcontentloaded'] as const) {
      const { names, calls, settled } = await settling({ waitUntil });
      expect(calls[0]).toEqual(['hasPainted']);
      expect(settled.softTimeouts).toEqual([]);
      expect(names).toEqual([
        'hasPainted',
        'waitForCanvases',
        'waitForReveals',
        'waitForAssets',
        'finishAnimations',
        'showPulsing',
      ]);
    }
  });

  test('stops the loading of a page that is late and has painted nothing', async () => {
    const late = { state: { loaded: false } };
    const blank = await settling({ ...late, answers: { hasPainted: false } });
    expect(blank.names.slice(0, 2)).toEqual(['hasPainted', 'Page.stopLoading']);
    expect(blank.names).not.toContain('untilTimersRan');
    expect((await settling(late)).names).not.toContain('Page.stopLoading');
    const early = await settling({ waitUntil: 'commit', answers: { hasPainted: false } });
    expect(early.names).not.toContain('Page.stopLoading');
  });

  test('fails if the first answer of the page does not come', async () => {
    const answers = { hasPainted: () => Promise.reject(new DeadlineError('the first answer', 1)) };
    for (const loaded of [true, false])
      await expect(settling({ answers, waitUntil: 'commit', state: { loaded } })).rejects.toThrow('the first answer');
    // If another step fails sooner, its error is thrown.
    const both = { ...answers, waitForReveals: () => Promise.reject(new Error('gone')) };
    await expect(settling({ answers: both, waitUntil: 'commit' })).rejects.toThrow(/gone|the first answer/);
  });

  test('uses print media for a picture, until the page serves another capture', async () => {
    const { page, calls } = await settling({ media: 'print' });
    expect(calls[0]).toEqual(['emulateMedia', { media: 'print' }]);
    for (const undo of page.undo) await undo();
    expect(calls.at(-1)).toEqual(['emulateMedia', { media: null }]);
    for (const options of [{}, { media: 'screen' }] as const)
      expect((await settling(options)).names).not.toContain('emulateMedia');
    // The layout of the paper sets the media type, and only once.
    const paper = await settling({ media: 'print', format: 'pdf' });
    expect(paper.names.filter((name) => name === 'emulateMedia')).toHaveLength(1);
    expect(paper.page.undo).toHaveLength(1);
  });

  test('waits for the delay', async () => {
    const { page } = await settling({ delay: 1 });
    expect(Object.fromEntries(page.waits)).toEqual({ 'the delay': 5001 });
  });

  test('keeps style sheet and hidden elements before and after the waits', async () => {
    const calls: string[] = [];
    const page = pageOf({
      adoptHiding: () => void calls.push('hide'),
      enforceHiding: null,
      waitForAssets: () => {
        calls.push('assets');
        return idle.waitForAssets;
      },
    });
    const style = { keep: async () => void calls.push('style') };
    await settling({ page, hide: ['p'], state: { style } });
    expect(calls).toEqual(['style', 'hide', 'assets', 'style', 'hide']);
  });

  test('hides what is left of blocked content before and after the waits, within its time', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
    try {
      const ends: number[] = [];
      const blocking = blockingThat(async (end) => void ends.push(end));
      const { page, settled } = await settling({ state: { blocking } });
      expect(ends).toEqual([1_008_000, 1_008_000]);
      expect(page.waits.get('tidying the page')).toBe(13_000);
      expect(settled.softTimeouts).toEqual([]);
      const run = (work: Promise<unknown>) => work;
      await settling({ parts: { deadline: { run, remainingMs: 500 } }, state: { blocking } });
      expect(ends.slice(2)).toEqual([1_000_500, 1_000_500]);
    } finally {
      vi.useRealTimers();
    }
    const late = blockingThat(() => Promise.reject(new DeadlineError('', 1)));
    expect((await settling({ state: { blocking: late } })).settled.softTimeouts).toContain('settle');
    const failing = blockingThat(() => Promise.reject(new Error('gone')));
    await expect(settling({ state: { blocking: failing } })).rejects.toThrow('gone');
  });

  test('reports images and fonts that are late, unless the capture does not wait for images', async () => {
    const lateWith = async (assets: object, options: Settling = {}) => {
      const { page, settled } = await settling({
        answers: { waitForAssets: { ...idle.waitForAssets, ...assets } },
        ...options,
      });
      return [settled.softTimeouts, page.limits.get('waitForAssets')?.timeoutMs];
    };
    expect(await lateWith({ pending: 1 })).toEqual([['images'], 8200]);
    expect(await lateWith({ fontsPending: true }, { imageTimeout: 9000 })).toEqual([['fonts'], 14_000]);
    expect(await lateWith({ pending: 1 }, { imageTimeout: 0 })).toEqual([[], 8200]);
  });

  test('draws two frames more if it has finished an animation', async () => {
    const { calls } = await settling({ answers: { finishAnimations: 1 } });
    expect(calls.at(-1)).toEqual(['untilFrames', 2]);
  });
});

describe('settle of a region', () => {
  const clip = { x: 10, y: 20, width: 30, height: 40 };

  test('loads what is in view, or the whole page for a large region', async () => {
    const { settled, calls } = await settling({ clip });
    expect(settled).toMatchObject({ region: clip, fullPage: undefined });
    expect(calls).toContainEqual(['waitForAssets', 'visible', 3000, 3200]);
    const large = await settling({ clip: { ...clip, y: 1000 }, answers: tall });
    expect(large.calls).toContainEqual(['waitForAssets', 'all', 3000, 3200]);
  });
});

describe('settle of a full page', () => {
  const whole = (more: Settling = {}) => settling({ isFullPage: true, ...more, answers: { ...tall, ...more.answers } });
  const waitsOf = (calls: AnsweringPage['calls']) =>
    calls.filter(([name]) => ['waitForRest', 'waitForReveals', 'waitForAssets'].includes(name));
  const assets = ['waitForAssets', 'all', 3000, 3200];
  const [rest, reveals] = [
    ['waitForRest', 1500, true],
    ['waitForReveals', 7000, 1700, true],
  ];

  test('waits for what the tall layout has triggered, and fits its height', async () => {
    const { page, settled, calls, names } = await whole();
    expect(settled.fullPage).toMatchObject({ height: 2000, strategy: 'grown' });
    expect(waitsOf(calls)).toEqual([rest, reveals, assets]);
    expect(page.limits.get('waitForRest')).toMatchObject({ timeoutMs: 6500 });
    expect(names).toContain('rememberRevealed');
    const single = await settling({ isFullPage: true });
    expect(waitsOf(single.calls)).toEqual([rest, reveals, assets]);
    const scripted = await whole({ state: { runsScript: true } });
    expect(scripted.calls).toContainEqual(['waitForRest', 1500, false]);
  });

  test('finishes the animations of revealed elements, and waits again', async () => {
    const { calls, names } = await whole({ answers: { waitForReveals: 1 } });
    expect(waitsOf(calls)).toEqual([rest, reveals, rest, assets]);
    const finished = calls.slice(names.indexOf('waitForReveals') + 1).find(([name]) => name === 'finishAnimations');
    expect(finished).toEqual(['finishAnimations']);
    const notWatched = await settling({ waitUntil: 'commit', answers: { waitForReveals: 1 } });
    expect(notWatched.names).not.toContain('waitForRest');
    expect(notWatched.names.filter((name) => name === 'finishAnimations')).toHaveLength(1);
  });

  test('has the layout of the print in a pdf', async () => {
    const { names } = await whole({ format: 'pdf' });
    expect(names).toContain('setLayoutWidth');
    expect(names).not.toContain('hasMoreCells');
    expect((await whole()).names).not.toContain('setLayoutWidth');
  });
});

describe('the frames of a full page', () => {
  const frame = { parentFrame: () => ({}) };
  const newRequest = () => ({ resourceType: () => 'document', frame: () => frame });

  /** A page that requests a frame when it grows. */
  const framedBy = (onRequest: (page: AnsweringPage, request: object) => void, parts: object = {}) => {
    const request = newRequest();
    const page: AnsweringPage = pageOf(
      {
        ...tall,
        layOutAll: () => {
          page.events.emit('request', request);
          onRequest(page, request);
        },
      },
      parts,
    );
    return page;
  };
  const never = () => undefined;
  /** Ends the wait for frames at its limit. */
  const lateFrames = (error: Error = new DeadlineError('', 1)) => ({
    deadline: {
      remainingMs: 1,
      run: (work: Promise<unknown>, _ms: number, what: string) => (what === 'frames' ? Promise.reject(error) : work),
    },
  });

  test('are waited for until their requests have ended', async () => {
    const page = framedBy((each, request) => void setTimeout(() => each.events.emit('requestfinished', request), 10));
    const { settled } = await settling({ page, isFullPage: true });
    expect(settled.softTimeouts).toEqual([]);
    expect(page.waits.get('frames')).toBe(2500);
    const quick = framedBy((each, request) => each.events.emit('requestfinished', request));
    await settling({ page: quick, isFullPage: true, imageTimeout: 2000 });
    expect(quick.waits.get('frames')).toBe(2000);
    expect((await settling({ isFullPage: true, answers: tall })).page.waits.has('frames')).toBe(false);
  });

  test('may send more requests after the first ones', async () => {
    const second = newRequest();
    const page = framedBy((each, request) => {
      each.events.emit('requestfinished', request);
      setTimeout(() => each.events.emit('request', second), 20);
    });
    let isSettled = false;
    const done = settling({ page, isFullPage: true }).finally(() => (isSettled = true));
    await until('the wait for frames', () => page.waits.has('frames'));
    await new Promise((resolve) => void setTimeout(resolve, 150));
    expect(isSettled).toBe(false);
    page.events.emit('requestfinished', second);
    await done;
  });

  test('are reported as images if they are late, unless the capture does not wait for images', async () => {
    const late = await settling({ page: framedBy(never, lateFrames()), isFullPage: true });
    expect(late.settled.softTimeouts).toEqual(['images']);
    const page = framedBy(never);
    const unawaited = await settling({ page, isFullPage: true, imageTimeout: 0 });
    expect([unawaited.settled.softTimeouts, page.waits.has('frames')]).toEqual([[], false]);
    const failing = settling({ page: framedBy(never, lateFrames(new Error('gone'))), isFullPage: true });
    await expect(failing).rejects.toThrow('gone');
  });

  test('are not watched after the capture', async () => {
    const { page } = await settling({ isFullPage: true });
    expect(page.events.eventNames()).not.toEqual([]);
    for (const cleanUp of page.cleanUps) cleanUp();
    expect(page.events.eventNames()).toEqual([]);
  });
});

describe('settle before printing on paper', () => {
  const paper = (more: Settling = {}) => settling({ format: 'pdf', ...more, answers: { ...tall, ...more.answers } });
  const moving = { isInert: false };

  test('leaves a page alone that cannot react to the new layout', async () => {
    const { calls, names } = await paper();
    expect(names.slice(names.indexOf('hasMoreCells'))).toEqual([
      'hasMoreCells',
      'noteFixedOnScreen',
      'emulateMedia',
      'noteFixedByPrint',
      'setLayoutWidth',
      'loadEagerly',
      'isInert',
      ...last.map(([name]) => name),
    ]);
    expect(calls).toContainEqual(['waitForAssets', 'all', 3000, 3200]);
  });

  test('finishes animations with the last message to the page, unless the page is changed before', async () => {
    const messageOf = async (more: Settling) => {
      const { messages } = (await paper(more)).page;
      return messages.find((names) => names.includes('showPulsing'));
    };
    expect(await messageOf({})).toEqual(['waitForAssets', 'finishAnimations', 'showPulsing']);
    const hiding: Settling = { hide: ['p'], answers: { enforceHiding: null } };
    for (const more of [{ answers: moving }, hiding, { isFullPage: true }]) {
      expect(await messageOf(more), JSON.stringify(more)).toEqual(['finishAnimations', 'showPulsing']);
    }
  });

  test('brings everything into view once', async () => {
    const { page, calls, names } = await paper({ answers: moving });
    const height = Math.floor((277 / 25.4) * 96);
    expect(calls.slice(names.indexOf('isInert') + 1)).toEqual([
      ['untilFrames', 2],
      ['loadEagerly'],
      ['findScroller'],
      ['watchScrollEffects'],
      ['scrollThrough', 0, 0, 1],
      ['holdScrollEffects', 5000],
      ['findScroller'],
      ['unrollScroller'],
      ['measurePage'],
      ['grow', 2000],
      ['untilFrames', 2],
      ['announceScroll'],
      ['waitForReveals', 7000, 1700, true],
      ['rememberRevealed'],
      ['grow', height],
      ['untilFrames', 1],
      ['waitForCanvases', 1500, true],
      ['waitForReveals', 7000, 1700, true],
      ['waitForAssets', 'all', 3000, 3200],
      ['finishAnimations'],
      ['showPulsing'],
    ]);
    expect(page.limits.get('rememberRevealed')).toMatchObject({ timeoutMs: 12_000 });
    const huge = await paper({ answers: { ...moving, measurePage: { ...tall.measurePage, height: 100_000 } } });
    expect(huge.calls).toContainEqual(['grow', 60_000]);
  });

  test('does not ask whether a page is inert that the capture may have changed', async () => {
    const { names } = await paper({ state: { runsScript: true } });
    expect(names).not.toContain('isInert');
    expect(names).toContain('watchScrollEffects');
  });

  test('does not grow a page that fits the viewport', async () => {
    const { names } = await paper({ answers: { ...moving, measurePage: idle.measurePage } });
    expect(names).not.toContain('grow');
    expect(names).toContain('waitForCanvases');
  });

  test('scrolls with four steps', async () => {
    const scrollThrough = () => ({ reachedEnd: false, height: 2000, scripted: true });
    const { calls } = await paper({ answers: { ...moving, scrollThrough } });
    expect(calls.filter(([name]) => name === 'scrollThrough').map((call) => call[3])).toEqual([1, 4]);
  });
});
