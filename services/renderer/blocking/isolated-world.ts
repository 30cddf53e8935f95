import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { Target } from './target-tree.ts';

/** The world that blocking's scripts live in: it shares the document with the page, and nothing else. */
export const worldName = 'webcapture-blocking';

/** A frame, and how to run a script in our world of it. */
export interface FrameWorld {
  readonly target: Target;
  readonly frameId: string;
  readonly url: string;
}

interface FrameTree {
  readonly frame: { readonly id: string; readonly url: string };
  readonly childFrames?: readonly FrameTree[];
}

/** The frames of the targets, parents before their children. A target that has gone away has none. */
export async function listFrames(targets: readonly Target[], ms: number): Promise<FrameWorld[]> {
  const trees = await Promise.all(
    targets.map(async (target): Promise<FrameWorld[]> => {
      try {
        const { frameTree } = await withDeadline(target.send('Page.getFrameTree'), ms, 'listing the frames');
        return flatten(frameTree).map(({ id, url }) => ({ target, frameId: id, url }));
      } catch {
        return [];
      }
    }),
  );
  return trees.flat();
}

function flatten(tree: FrameTree): FrameTree['frame'][] {
  return [tree.frame, ...(tree.childFrames ?? []).flatMap(flatten)];
}

/**
 * Calls a function in a frame. Its source travels, so that it may use its arguments and the page's globals only;
 * arguments and result are copied as JSON. Throws when the frame is gone, the function throws, or it takes longer than
 * `ms`.
 */
export async function callInFrame<A extends readonly unknown[], R>(
  frame: FrameWorld,
  fn: (...args: A) => R,
  args: A,
  ms: number,
): Promise<Awaited<R>> {
  const call = async () => {
    const { executionContextId } = await frame.target.send('Page.createIsolatedWorld', {
      frameId: frame.frameId,
      worldName,
    });
    const expression = `(${fn.toString()})(${args.map((arg) => JSON.stringify(arg)).join(', ')})`;
    return evaluate(frame.target, { contextId: executionContextId, expression });
  };
  return (await withDeadline(call(), ms, `${fn.name} in a frame`)) as Awaited<R>;
}

/** Evaluates in a context, in the page's main world when none is given; waits for promises. */
export async function evaluate(
  target: Target,
  options: { readonly contextId?: number; readonly expression: string },
): Promise<unknown> {
  const { result, exceptionDetails } = await target.send('Runtime.evaluate', {
    ...options,
    returnByValue: true,
    awaitPromise: true,
    silent: true,
  });
  if (exceptionDetails !== undefined) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value as unknown;
}
