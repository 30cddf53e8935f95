import { describe, expect, test, vi } from 'vitest';
import { TargetTree } from '../../../services/renderer/browser/target-tree.ts';
import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';
import { takeFrames } from '../../../services/renderer/page/frame-shots.ts';
import { PageFrames } from '../../../services/renderer/page/frames.ts';
import type { PageWorld } from '../../../services/renderer/page/world.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { addPrivateObjects } from '../../harness/private-objects.ts';

/** The answer to each command of the protocol: an object, or a function that gets the parameters of the command. */
type Answers = Readonly<Record<string, object | ((params: never) => unknown)>>;

function targetOf(answers: Answers) {
  const sent: string[] = [];
  return {
    sent,
    on: () => undefined,
    off: () => undefined,
    send: async (method: string, params: object) => {
      sent.push(method);
      const answer = answers[method];
      return (typeof answer === 'function' ? await (answer as (params: object) => unknown)(params) : answer) ?? {};
    },
    detach: async () => void sent.push('detach'),
  };
}

const treeOf = (...ids: readonly string[]) => ({
  frameTree: {
    frame: { id: 'main', url: '' },
    childFrames: ids.map((id) => ({ frame: { id, url: '' } })),
  },
});

interface Setup {
  /** Number of frames that Playwright knows. */
  readonly count: number;
  readonly near: ReturnType<typeof targetOf>;
  readonly far?: ReturnType<typeof targetOf>;
  readonly world?: Partial<PageWorld>;
}

function framesOf({ count, near, far, world }: Setup) {
  let sessions = 0;
  const context = {};
  const page = { frames: () => Array.from({ length: count }), context: () => context };
  addPrivateObjects(page, context, async () => {
    sessions += 1;
    if (far === undefined) throw new Error('the page is gone');
    return far;
  });
  const deadline = new CaptureDeadline(60_000, new AbortController().signal);
  const targets = new TargetTree(page as never);
  const parts = { page, cdp: near, frameId: 'main', world, targets, deadline };
  const frames = new PageFrames(parts as never);
  return { frames, sessions: () => sessions };
}

describe('the frames of a page', () => {
  const idsOf = async ({ frames }: { readonly frames: PageFrames }) => (await frames.list()).map(({ id }) => id);

  test('are not asked for if there are none', async () => {
    const near = targetOf({ 'Page.getFrameTree': treeOf('a') });
    const { frames } = framesOf({ count: 1, near });
    expect([frames.isEmpty, await frames.list(), near.sent]).toEqual([true, [], []]);
  });

  test('are listed without the main frame, and without a second session if the first knows all', async () => {
    const setup = framesOf({ count: 3, near: targetOf({ 'Page.getFrameTree': treeOf('a', 'b') }) });
    expect(setup.frames.isEmpty).toBe(false);
    expect(await idsOf(setup)).toEqual(['a', 'b']);
    // A frame that was added meanwhile.
    expect(await idsOf(framesOf({ count: 2, near: targetOf({ 'Page.getFrameTree': treeOf('a', 'b') }) }))).toEqual([
      'a',
      'b',
    ]);
    expect(setup.sessions()).toBe(0);
  });

  test('are at most 20', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `frame ${index}`);
    const near = targetOf({ 'Page.getFrameTree': treeOf(...ids) });
    expect(await idsOf(framesOf({ count: 31, near }))).toEqual(ids.slice(0, 20));
  });

  test('are followed by one more session if some are in other processes', async () => {
    const far = targetOf({ 'Page.getFrameTree': treeOf('near', 'far') });
    const setup = framesOf({ count: 3, near: targetOf({ 'Page.getFrameTree': treeOf('near') }), far });
    expect(await idsOf(setup)).toEqual(['near', 'far']);
    expect(await idsOf(setup)).toEqual(['near', 'far']);
    expect(setup.sessions()).toBe(1);
  });

  test('are none if the page is gone', async () => {
    const setup = framesOf({ count: 3, near: targetOf({ 'Page.getFrameTree': treeOf('near') }) });
    expect(await idsOf(setup)).toEqual([]);
  });

  test('have recorded heights even if one frame does not answer', async () => {
    const noted: unknown[] = [];
    const near = targetOf({
      'Page.getFrameTree': treeOf('a', 'gone', 'b'),
      'Page.createIsolatedWorld': ({ frameId }: { readonly frameId: string }) => {
        if (frameId === 'gone') throw new Error('no frame');
        return { executionContextId: frameId === 'a' ? 1 : 2 };
      },
      'Runtime.evaluate': ({ contextId }: { readonly contextId: number }) => ({ result: { value: contextId * 100 } }),
    });
    const world = {
      callWithFrame: async (id: string, { name }: { readonly name: string }, args: readonly unknown[], limit: object) =>
        void noted.push([id, name, args, limit]),
    };
    await framesOf({ count: 4, near, world: world as never }).frames.noteHeights();
    const limit = { timeoutMs: 3000, what: 'measuring a frame' };
    expect(noted).toEqual([
      ['a', 'noteFrameHeight', [100], limit],
      ['b', 'noteFrameHeight', [200], limit],
    ]);
  });
});

describe('takeFrames', () => {
  const take = async (clip: { readonly width: number; readonly height: number }) => `${clip.width} × ${clip.height}`;
  const box = { x: 10, y: 500, width: 300, height: 1000, innerX: 5, innerY: 7 };

  test('takes a frame in pieces of one viewport', async () => {
    const page = new AnsweringPage({ findFrames: [box, { ...box, y: 2000, height: 480 }] });
    expect(await takeFrames(page.open, take)).toEqual([
      { x: 10, y: 500, picture: '300 × 480' },
      { x: 10, y: 980, picture: '300 × 480' },
      { x: 10, y: 1460, picture: '300 × 40' },
      { x: 10, y: 2000, picture: '300 × 480' },
    ]);
    expect(page.calls).toEqual([
      ['findFrames'],
      ...[7, 487, 967].flatMap((y) => [
        ['showFrame', 0, 5, y],
        ['putFrameBack', 0],
      ]),
      ['showFrame', 1, 5, 7],
      ['putFrameBack', 1],
    ]);
  });

  test('takes at most 10 pieces of a frame, and none after 6 s', async () => {
    const page = new AnsweringPage({ findFrames: [{ ...box, height: 100_000 }] });
    expect(await takeFrames(page.open, take)).toHaveLength(10);
    vi.useFakeTimers({ toFake: ['performance'] });
    const late = new AnsweringPage({ findFrames: [box, box], showFrame: () => void vi.advanceTimersByTime(3000) });
    expect(await takeFrames(late.open, take)).toHaveLength(2);
    vi.useRealTimers();
  });
});
