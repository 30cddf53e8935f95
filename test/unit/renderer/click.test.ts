import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { clickAll } from '../../../services/renderer/page/click.ts';
import { followMove, hasMoved } from '../../../services/renderer/page/follow-move.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { defaultOptions } from '../../harness/records.ts';

const gone = () => Promise.reject(new DocumentGoneError(undefined));
const late = () => Promise.reject(new DeadlineError('a wait', 1));
const broken = () => Promise.reject(new Error('broken'));
const never = new Promise<never>(() => undefined);

interface Behaviour {
  readonly answers?: object;
  readonly document?: object;
  readonly state?: () => unknown;
}

function pageOf({ answers, document, state }: Behaviour = {}) {
  const page = new AnsweringPage(
    { untilFound: 'found', pointToClick: { x: 3, y: 4 }, ...answers },
    { document: { moving: false, cutOff: never, settled: async () => undefined, ...document } },
  );
  Object.assign(page.events, {
    waitForLoadState: async (...args: unknown[]) => {
      page.calls.push(['waitForLoadState', ...args]);
      await state?.();
    },
  });
  return page;
}

const click = async (behaviour: Behaviour = {}, selectors: readonly string[] = ['#a']) => {
  const page = pageOf(behaviour);
  await clickAll(page.open, selectors, { ...defaultOptions, timeout: 1000 });
  return page;
};
const point = { x: 3, y: 4 };

afterEach(() => {
  vi.useRealTimers();
});

describe('clickAll', () => {
  test('moves the mouse to each element and presses its left button', async () => {
    const page = await click({}, ['#a', '#b']);
    const press = { ...point, button: 'left', clickCount: 1 };
    const clicks = [
      ['Input.dispatchMouseEvent', { ...point, type: 'mouseMoved' }],
      ['Input.dispatchMouseEvent', { ...press, type: 'mousePressed' }],
      ['Input.dispatchMouseEvent', { ...press, type: 'mouseReleased' }],
    ];
    expect(page.calls.filter(([name]) => name.startsWith('Input'))).toEqual([...clicks, ...clicks]);
    expect(page.calls[0]).toMatchObject(['untilFound', { state: 'visible' }, expect.any(Number)]);
    expect(page.names).not.toContain('waitForLoadState');
  });

  test('waits for the document that a click opens, within a timeout for all clicks', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const takes = [400, 900, 0];
    const state = () => vi.advanceTimersByTime(takes.shift() ?? 0);
    const page = await click({ document: { moving: true }, state }, ['#a', '#b', '#c']);
    const waits = page.calls.filter(([name]) => name === 'waitForLoadState').map(([, ...args]) => args);
    expect(waits).toEqual([
      ['load', { timeout: 1000 }],
      ['load', { timeout: 600 }],
      ['load', { timeout: 1 }],
    ]);
  });

  test('names the selector of an element that cannot be clicked', async () => {
    const error = { code: 'CAPTURE_FAILED', causedBy: 'client' };
    const missed = click({ answers: { untilFound: 'missed', describeSearch: { kind: 'none', part: 0 } } });
    await expect(missed).rejects.toMatchObject({
      ...error,
      message: expect.stringMatching(/^click "#a" matched no visible element within \d+ ms\./),
    });
    await expect(click({ answers: { untilFound: 'refused' } })).rejects.toMatchObject({
      ...error,
      message: expect.stringContaining('click "#a"'),
    });
    for (const pointToClick of [null, late])
      await expect(click({ answers: { pointToClick } })).rejects.toMatchObject({
        ...error,
        message: 'click "#a" matched an element that is covered by another element or keeps moving.',
      });
    await expect(click({ answers: { pointToClick: broken } })).rejects.toThrow('broken');
  });

  test('continues if the page is busy with the effects of the click', async () => {
    const page = await click({ answers: { 'Input.dispatchMouseEvent': late } });
    expect(page.names.at(-1)).toBe('untilFrames');
    await expect(click({ answers: { 'Input.dispatchMouseEvent': broken } })).rejects.toThrow('broken');
  });
});

describe('hasMoved', () => {
  const moved = (untilFrames: unknown, moving: boolean) =>
    hasMoved(pageOf({ answers: { untilFrames }, document: { moving } }).open);

  test('is true if the page navigates within two frames', async () => {
    expect([await moved(undefined, false), await moved(undefined, true)]).toEqual([false, true]);
    expect([await moved(late, false), await moved(late, true)]).toEqual([false, true]);
    expect(await moved(gone, false)).toBe(true);
    await expect(moved(broken, false)).rejects.toThrow('broken');
    const page = pageOf();
    await hasMoved(page.open);
    expect(page.calls).toEqual([['untilFrames', 2]]);
  });
});

describe('followMove', () => {
  const follow = async (behaviour: Behaviour, waitUntil: 'load' | 'commit' | 'networkidle' = 'load') => {
    const page = pageOf(behaviour);
    await followMove(page.open, { timeout: 500, waitUntil });
    return page;
  };

  test('waits until the next document has reached the state', async () => {
    const page = await follow({});
    expect(page.calls).toEqual([['waitForLoadState', 'load', { timeout: 500 }]]);
    expect(page.waits.get('the next page')).toBe(500);
    expect((await follow({}, 'networkidle')).calls[0]?.[1]).toBe('networkidle');
    expect((await follow({}, 'commit')).calls[0]?.[1]).toBe('domcontentloaded');
  });

  test('ends if the transfer of the document is cut off, or the document is late', async () => {
    await follow({ document: { cutOff: Promise.resolve() }, state: () => never });
    await follow({ state: late });
    expect((await follow({ document: { settled: late } })).calls).toEqual([]);
  });

  test('fails if the capture ends', async () => {
    const ended = new ServiceError('CAPTURE_FAILED', 'ended', { causedBy: 'client' });
    await expect(follow({ state: () => Promise.reject(ended) })).rejects.toBe(ended);
  });
});
