import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import {
  callExpression,
  type CommandTarget,
  definitionsOf,
  evaluate,
  openIsolatedWorld,
} from '../browser/isolated-world.ts';
import { own } from '../page/scripts/own.ts';

/** Name of the isolated world for the scripts of blocking. */
export const blockingWorld = 'webcapture-blocking';

/** A frame and the target of its document. */
export interface Frame {
  readonly target: CommandTarget;
  readonly frameId: string;
  readonly url: string;
}

interface FrameTree {
  readonly frame: { readonly id: string; readonly url: string };
  readonly childFrames?: readonly FrameTree[];
}

/** Returns the frames of the targets, parents before their children. Omits frames of targets that were removed. */
export async function listFrames(targets: readonly CommandTarget[], timeoutMs: number): Promise<Frame[]> {
  const trees = await Promise.all(
    targets.map(async (target): Promise<Frame[]> => {
      try {
        const { frameTree } = await withDeadline(target.send('Page.getFrameTree'), timeoutMs, 'listing the frames');
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
 * Calls a function in a frame, in the isolated world of blocking. The function can use `own`.
 *
 * @throws DocumentGoneError, DeadlineError, or the error of the function
 */
export async function callInFrame<A extends readonly unknown[], R>(
  { target, frameId }: Frame,
  fn: (...args: A) => R,
  args: A,
  timeoutMs: number,
): Promise<Awaited<R>> {
  const called = openIsolatedWorld(target, frameId, blockingWorld).then((contextId) =>
    evaluate(target, { contextId, expression: `{ ${definitionsOf([own])} ${callExpression(fn, args)} }` }),
  );
  return (await withDeadline(called, timeoutMs, `${fn.name} in a frame`)) as Awaited<R>;
}
