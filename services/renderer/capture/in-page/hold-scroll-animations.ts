/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Stops the animations that run with the scroll position of the page, each where it would be with its element in the
 * middle of the viewport: what fades in on the way is there. Those of elements that stay in sight (bars, headers) stop
 * where they are at the top of the page.
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
  /** How far along the timeline an element is shown, from 0 to 1. */
  const shareOf = (element: Element, { source }: ScrollTimeline, end: number): number => {
    if (staysInSight(element) || source === null) return 0;
    const { top, height } = element.getBoundingClientRect();
    return Math.max(0, Math.min(1, (top + source.scrollTop + height / 2 - source.clientHeight / 2) / end));
  };

  const held: { animation: Animation; effect: KeyframeEffect; progress: number }[] = [];
  for (const animation of document.getAnimations?.() ?? []) {
    const { timeline, effect, startTime } = animation;
    if (!(timeline instanceof ScrollTimeline) || !(effect instanceof KeyframeEffect) || effect.target === null)
      continue;
    const { source } = timeline;
    if (source === null || !scrollers.includes(source) || !(startTime instanceof CSSUnitValue)) continue;
    const end = source.scrollHeight - source.clientHeight;
    if (end <= 0) continue;
    const share = timeline instanceof ViewTimeline ? 0.5 : shareOf(effect.target, timeline, end);
    animation.pause();
    animation.currentTime = CSS.percent(share * 100 - startTime.value);
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
