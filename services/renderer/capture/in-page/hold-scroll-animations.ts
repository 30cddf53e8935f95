/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Stops the animations that run with the scroll position of the page, each where it would be when its element is in the
 * middle of the viewport, or as near to that as scrolling goes: what fades in on the way is there. Those of elements
 * that stay in sight (bars, headers) stop where they are at the top of the page.
 */
export function holdScrollAnimations(): void {
  const page = document.scrollingElement ?? document.documentElement;
  const scrollers: (Element | null | undefined)[] = [page, (globalThis as PageState).webcaptureScroller?.element];
  const staysInSight = (element: Element): boolean => {
    for (let at: Element | null = element; at !== null; at = at.parentElement) {
      const { position } = getComputedStyle(at);
      if (position === 'fixed' || position === 'sticky') return true;
    }
    return false;
  };
  const pixels = (value: CSSNumericValue) => (value instanceof CSSUnitValue ? value.value : 0);

  const held: { animation: Animation; effect: KeyframeEffect; progress: number }[] = [];
  for (const animation of document.getAnimations?.() ?? []) {
    const { timeline, effect, startTime } = animation;
    if (!(timeline instanceof ScrollTimeline) || !(effect instanceof KeyframeEffect) || effect.target === null)
      continue;
    const { source } = timeline;
    if (source === null || !scrollers.includes(source) || !(startTime instanceof CSSUnitValue)) continue;
    const end = source.scrollHeight - source.clientHeight;
    if (end <= 0) continue;

    const [from, to] =
      timeline instanceof ViewTimeline ? [pixels(timeline.startOffset), pixels(timeline.endOffset)] : [0, end];
    const box = effect.target.getBoundingClientRect();
    const middle =
      timeline instanceof ViewTimeline
        ? (from + to) / 2
        : box.top + source.scrollTop + box.height / 2 - source.clientHeight / 2;
    const at = staysInSight(effect.target) ? 0 : Math.max(0, Math.min(end, middle));
    animation.pause();
    animation.currentTime = CSS.percent(((at - from) / (to - from)) * 100 - startTime.value);
    const { progress } = effect.getComputedTiming();
    if (typeof progress === 'number') held.push({ animation, effect, progress });
    else animation.cancel();
  }
  // Without its timeline it no longer heeds the scroll position, nor the height of the viewport.
  const timing = {
    duration: 1000,
    delay: 0,
    endDelay: 0,
    iterations: 1,
    fill: 'both',
    easing: 'linear',
    direction: 'normal',
  } as const;
  for (const { animation, effect, progress } of held) {
    animation.timeline = document.timeline;
    effect.updateTiming(timing);
    animation.currentTime = progress * timing.duration;
  }
}
