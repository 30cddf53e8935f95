/// <reference lib="dom" />

/**
 * Brings every animation and transition that has an end to that end: what fades in is there. Those without an end go
 * on, those that wait for something stay as they are. (Removing them would leave what fades in invisible.)
 *
 * @returns how many were finished
 */
export function finishAnimations(): number {
  let finished = 0;
  for (const animation of document.getAnimations?.() ?? []) {
    // Those that run with the scroll position have no time to finish.
    if (!(animation.timeline instanceof DocumentTimeline) || animation.playState !== 'running') continue;
    const end = animation.effect?.getComputedTiming().endTime;
    if (typeof end !== 'number' || !Number.isFinite(end)) continue;
    try {
      animation.finish();
      finished += 1;
    } catch {
      // Its rate is 0.
    }
  }
  return finished;
}
