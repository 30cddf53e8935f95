/// <reference lib="dom" />
import type { Motion, PageState } from './page-state.ts';

/** Notes from now on which nodes scripts change again and again, as in an animation, for {@link waitForRest}. */
export function watchMotion(): void {
  /** Changes further apart than this are no animation, not even one on a busy machine. */
  const mostPauseMs = 250;
  const nodes = new Map<Node, Motion>();
  const observer = new MutationObserver((records) => {
    const now = performance.now();
    for (const target of new Set(records.map((record) => record.target))) {
      const motion = nodes.get(target);
      const goesOn = motion !== undefined && now - motion.last < mostPauseMs;
      nodes.set(
        target,
        goesOn ? { ...motion, last: now, times: motion.times + 1 } : { since: now, last: now, times: 1 },
      );
    }
  });
  observer.observe(document, { subtree: true, attributes: true, characterData: true, childList: true });
  (globalThis as PageState).webcaptureMotion = { observer, nodes };
}
