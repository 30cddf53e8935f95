import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { Target } from './target-tree.ts';

/** So many frames are removed at most. */
const maxFrames = 100;

/**
 * Removes frames whose documents were blocked: they would show the browser's error page, or an empty box. Frames that
 * are gone meanwhile are passed over; never rejects.
 */
export async function collapseFrames(
  frameIds: readonly string[],
  targets: readonly Target[],
  ms: number,
): Promise<void> {
  const all = Promise.all(frameIds.slice(0, maxFrames).map((frameId) => collapseFrame(frameId, targets)));
  await withDeadline(all, ms, 'removing blocked frames').catch(() => undefined);
}

async function collapseFrame(frameId: string, targets: readonly Target[]): Promise<void> {
  for (const target of targets) {
    try {
      // Only the target that the frame's parent lives in knows the element.
      const { backendNodeId } = await target.send('DOM.getFrameOwner', { frameId });
      const { object } = await target.send('DOM.resolveNode', { backendNodeId });
      if (object.objectId === undefined) return;
      await target.send('Runtime.callFunctionOn', {
        objectId: object.objectId,
        functionDeclaration: `function () { this.style.setProperty('display', 'none', 'important'); }`,
        silent: true,
      });
      return;
    } catch {
      continue;
    }
  }
}
