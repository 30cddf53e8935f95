/// <reference lib="dom" />
import type { mayChangeWithin as MayChangeWithin, scriptsHaveEnded as ScriptsHaveEnded } from './activity.ts';
import type { movesEndlessly as MovesEndlessly, observeChanges as ObserveChanges } from './motion.ts';
import type { Motion, PageState } from './state.ts';
import type { cssMayUse as CssMayUse } from './styles.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** A function that the caller sends to the page together with {@link watchMotion}. */
declare const observeChanges: typeof ObserveChanges;
/** Functions that the caller sends to the page together with {@link waitForRest}. */
declare const movesEndlessly: typeof MovesEndlessly;
declare const scriptsHaveEnded: typeof ScriptsHaveEnded;
/** Functions that the caller sends to the page together with {@link waitForReveals}. */
declare const cssMayUse: typeof CssMayUse;
declare const mayChangeWithin: typeof MayChangeWithin;

/** An animation of the document: it has an effect with a target. */
interface PageAnimation extends Animation {
  readonly effect: PageEffect;
}

interface PageEffect extends KeyframeEffect {
  readonly target: Element;
  getComputedTiming(): Required<ComputedEffectTiming>;
}

/**
 * Finishes every animation and transition that has an end, so that content that fades in is visible. Endless animations continue to run,
 * and paused ones stay paused. Animations are not removed, because their content could become invisible.
 *
 * @returns the number of animations that were finished
 */
export function finishAnimations(): number {
  let finished = 0;
  for (const animation of document.getAnimations() as PageAnimation[]) {
    if (animation.playState !== 'running') continue;
    // The end time of a scroll-driven animation is a percentage.
    if (!Number.isFinite(animation.effect.getComputedTiming().endTime)) continue;
    try {
      animation.finish();
      finished += 1;
    } catch {
      // An animation with a playback rate of 0 cannot be finished.
    }
  }
  return finished;
}

/**
 * Makes texts and pictures visible that an endless animation currently shows at less than half of its maximum opacity. It sets the
 * animation to the first time of maximum opacity, and pauses it. Animations of siblings with the same name are moved together, until the
 * most visible sibling is at its maximum. Of words that alternate, one is then visible. Call it after {@link finishAnimations}, which
 * leaves only endless animations.
 */
export function showPulsing(): void {
  /** Share of the maximum opacity above which a text is readable. */
  const minShare = 0.5;
  /** Number of sample times in one iteration of the animation. */
  const looks = 20;
  /** Maximum number of rows. Each row costs up to `looks` style calculations. */
  const maxRows = 30;
  const opacityOf = (element: Element) => Number(getComputedStyle(element).opacity);
  const pulses = (document.getAnimations() as PageAnimation[]).flatMap((animation) => {
    const { effect, playState, currentTime } = animation;
    const { target, pseudoElement } = effect;
    // The time of a scroll-driven animation is a percentage.
    if (playState !== 'running' || typeof currentTime !== 'number' || pseudoElement !== null) return [];
    const hasText = own(target).textContent.trim() !== '';
    if (!hasText && !own(target).matches('img, :has(img), svg, :has(svg), svg *')) return [];
    const { duration, delay } = effect.getComputedTiming();
    const { animationName: name } = animation as Partial<CSSAnimation>;
    return [{ animation, target, name, currentTime, duration: Number(duration), delay }];
  });
  const families = [...Map.groupBy(pulses, ({ target }) => own(target).parentNode).values()];
  const rows = families.flatMap((family) => [...Map.groupBy(family, ({ name }) => name).values()]);
  for (const row of rows.slice(0, maxRows)) {
    const first = row.reduce((most, each) => (opacityOf(each.target) > opacityOf(most.target) ? each : most));
    const { animation, target, currentTime, duration, delay } = first;
    const before = opacityOf(target);
    // Opacity is at most 1, so this element is visible enough.
    if (before >= minShare) continue;
    const iteration = delay + Math.max(0, Math.floor((currentTime - delay) / duration)) * duration;
    // With a negative delay, an iteration begins before time 0. An animation has no effect at such a time.
    const begin = iteration < 0 ? iteration + duration : iteration;
    // The exact end of an iteration already belongs to the next one.
    const times = Array.from({ length: looks }, (_, look) => begin + ((look + 1) / looks) * duration - 1);
    const opacities = times.map((time) => {
      animation.currentTime = time;
      return opacityOf(target);
    });
    const most = Math.max(...opacities);
    const best = times[opacities.indexOf(most)] ?? currentTime;
    animation.currentTime = currentTime;
    if (before >= most * minShare) continue;
    for (const each of row) {
      each.animation.pause();
      each.animation.currentTime = each.currentTime + best - currentTime;
    }
  }
}

/** Sets endless animations to the start of their first iteration. They continue to run. Call it after {@link finishAnimations}. */
export function rewindAnimations(): void {
  for (const animation of document.getAnimations() as PageAnimation[]) {
    if (!(animation.timeline instanceof DocumentTimeline) || animation.playState !== 'running') continue;
    animation.currentTime = Math.max(0, animation.effect.getComputedTiming().delay);
  }
}

/** Pauses all animations. Those of SVG are paused at a time at which most of them have ended. */
export function pauseAnimations(): void {
  /** Time within which nearly all SVG animations that are not endless have ended. */
  const svgSeconds = 60;
  for (const animation of document.getAnimations()) {
    const { currentTime } = animation;
    if (animation.playState !== 'running' || currentTime === null) continue;
    animation.pause();
    animation.currentTime = currentTime;
  }
  for (const svg of document.querySelectorAll('svg')) {
    svg.pauseAnimations();
    svg.setCurrentTime(svgSeconds);
  }
}

/**
 * Freezes scroll-driven animations of the page, so that elements that fade in on scroll are visible. Each animation is frozen in the state
 * that it has when its element is in the middle of the viewport. Animations of elements that stay in view (bars, headers) are frozen in
 * their state at the top of the page.
 */
export async function holdScrollAnimations(): Promise<void> {
  /** Number of frames to wait. An animation gets its start time in the next frame, but some frames later on a busy machine. */
  const maxFrames = 5;
  /** Maximum wait for a frame, because the browser may not draw the page. */
  const frameMs = 100;
  const scrollers = [document.scrollingElement, pageState.webcaptureScroller?.scrolled];
  const staysInSight = (element: Element): boolean => {
    for (let at: Element | null = element; at !== null; at = own(at).parentElement) {
      const { position } = getComputedStyle(at);
      if (position === 'fixed' || position === 'sticky') return true;
    }
    return false;
  };
  /** Position of an element on the timeline, from 0 to 1. */
  const shareOf = (element: Element, scroller: Element, end: number): number => {
    if (staysInSight(element)) return 0;
    const { top, height } = own(element).getBoundingClientRect();
    return Math.max(0, Math.min(1, (top + scroller.scrollTop + height / 2 - scroller.clientHeight / 2) / end));
  };

  // An animation that has just started gets its start time in the next frame, which comes late on a busy machine.
  const isUnplaced = ({ timeline, startTime, playState }: Animation) =>
    timeline instanceof ScrollTimeline && playState === 'running' && startTime === null;
  for (let frame = 0; frame < maxFrames && document.getAnimations().some(isUnplaced); frame += 1) {
    await waits.untilFrame(frameMs);
  }

  const held: { animation: Animation; effect: KeyframeEffect; progress: number }[] = [];
  for (const animation of document.getAnimations() as PageAnimation[]) {
    const { timeline, effect, startTime } = animation;
    if (!(timeline instanceof ScrollTimeline) || !(startTime instanceof CSSUnitValue)) continue;
    const scroller = scrollers.find((each) => each === timeline.source);
    if (!scroller) continue;
    const end = scroller.scrollHeight - scroller.clientHeight;
    if (end <= 0) continue;
    const share = timeline instanceof ViewTimeline ? 0.5 : shareOf(effect.target, scroller, end);
    animation.pause();
    animation.currentTime = CSS.percent(share * 100 - startTime.value);
    const { progress } = effect.getComputedTiming();
    if (typeof progress === 'number') held.push({ animation, effect, progress });
    else animation.cancel();
  }
  // With a time-based timeline, the animation depends neither on the scroll position nor on the viewport height.
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

/** Starts to record which nodes scripts change and when, for {@link waitForRest}. */
export function watchMotion(): void {
  /** Maximum pause between two changes of one animation, even on a busy machine. */
  const maxPauseMs = 250;
  const nodes = new Map<Node, Motion>();
  const observer = observeChanges((changes) => {
    const now = performance.now();
    for (const target of new Set(changes.map((change) => change.target))) {
      const motion = nodes.get(target);
      const continues = motion !== undefined && now - motion.last < maxPauseMs;
      nodes.set(
        target,
        continues ? { ...motion, last: now, isRepeated: true } : { since: now, last: now, isRepeated: false },
      );
    }
  });
  pageState.webcaptureMotion = { observer, nodes };
}

/**
 * Waits for the end of animations that scripts make step by step (fading in, counting up), and until lazy images have their addresses.
 * Changes of what is not displayed, and those that continue for more than `maxMs` or were found to be endless before, are not waited for.
 *
 * @param mayBeIdle if true and the scripts have ended, returns immediately
 */
export async function waitForRest(maxMs: number, mayBeIdle: boolean): Promise<void> {
  /** Poll interval: about a frame. */
  const pollIntervalMs = 20;
  /**
   * Number of polls and frames without a change after which an animation has ended. They are counted because they are late on a busy
   * machine.
   */
  const restPolls = 5;
  const restFrames = 3;
  /** Time after which a page that draws no frames counts as settled. */
  const maxRestMs = 1000;
  /** Time within which scripts react to an element that has come into view. */
  const firstStepMs = 50;
  /** A single change that is older than this when the wait starts does not begin an animation. */
  const maxPauseMs = 250;

  if (mayBeIdle && scriptsHaveEnded()) return;
  const { webcaptureShownAt = -Infinity, webcaptureMotion } = pageState;
  const nodes = webcaptureMotion?.nodes ?? new Map<Node, Motion>();
  const sinceShown = performance.now() - webcaptureShownAt;
  if (sinceShown < firstStepMs) await waits.sleep(firstStepMs - sinceShown);
  const start = performance.now();
  const polls: number[] = [];
  const frames: number[] = [];
  const drawn = () => {
    frames.unshift(performance.now());
    request = requestAnimationFrame(drawn);
  };
  let request = requestAnimationFrame(drawn);
  const isAtRest = (last: number) =>
    performance.now() - last >= maxRestMs ||
    ((polls[restPolls - 1] ?? 0) > last && (frames[restFrames - 1] ?? 0) > last);
  const isShown = (node: Node) => {
    const element = node instanceof Element ? node : own(node).parentElement;
    return element === null || own(element).checkVisibility();
  };
  const isMoving = () => {
    for (const [node, { since, last, isRepeated }] of nodes) {
      const canGoOn = isRepeated ? last - since < maxMs : start - last < maxPauseMs;
      if (canGoOn && !isAtRest(last) && isShown(node) && !movesEndlessly(node)) return true;
    }
    return false;
  };
  /** Attributes of lazy image loaders on images that they have not loaded yet. */
  const marked = ':is([data-src], [data-srcset], [data-lazy-src], [data-original])';
  const unnamed = [...document.querySelectorAll<HTMLImageElement>(`img${marked}, picture:has(${marked}) > img`)];
  const isUnnamed = (image: HTMLImageElement) =>
    image.isConnected &&
    (image.currentSrc === '' || image.currentSrc.startsWith('data:')) &&
    (image.src === '' || image.src.startsWith('data:')) &&
    image.checkVisibility();

  const end = start + maxMs;
  while ((isMoving() || unnamed.some(isUnnamed)) && performance.now() < end) {
    await waits.sleep(pollIntervalMs);
    polls.unshift(performance.now());
  }
  cancelAnimationFrame(request);
}

/**
 * Waits while timers reveal visible content step by step: texts and pictures in the page's flow that are still transparent or hidden.
 * Returns immediately if nothing is hidden.
 *
 * @param maxMs maximum time
 * @param quietMs maximum time since the last reveal, because some elements stay hidden
 * @param mayEndEarly whether the wait ends when nothing is due that could reveal an element within its time; only if no requests are open
 * @returns the number of elements that were revealed
 */
export async function waitForReveals(maxMs: number, quietMs: number, mayEndEarly: boolean): Promise<number> {
  /** Minimum wait, because observers and events may call scripts, too. */
  const minMs = 400;
  /** Poll interval: about two frames. */
  const pollIntervalMs = 30;
  /** Maximum number of elements that are checked. With more, the check would exceed the time limit of the wait. */
  const maxElements = 4000;
  if (document.scripts.length === 0) return 0;
  const hidingAttributes = '[opacity], [visibility], [clip-path], [stroke-dashoffset], animate, set';
  if (!cssMayUse(['opacity', 'visibility', 'clip-path', 'stroke-dash'], hidingAttributes)) return 0;
  const isUnseen = (element: Element) => {
    const { opacity, visibility, clipPath } = getComputedStyle(element);
    return Number(opacity) < 0.05 || visibility === 'hidden' || /inset\((?:[^r]* )?100%/.test(clipPath);
  };
  /**
   * Whether the element takes up space in the page. Menus and hints that wait for the pointer take up none, because they are positioned
   * above the page.
   */
  const hasPlace = (element: Element) => {
    for (let at = element; at !== document.body; at = own(at).parentElement as Element) {
      const { position } = getComputedStyle(at);
      if (position === 'absolute' || position === 'fixed') return false;
    }
    return true;
  };
  const isStroke = (element: Element) =>
    element instanceof SVGGeometryElement && Number.parseFloat(getComputedStyle(element).strokeDashoffset) > 0;
  const hidden = new Set<Element>();
  for (const element of [...(own(document.body)?.querySelectorAll('*') ?? [])].slice(0, maxElements)) {
    if (hidden.has(own(element).parentElement as Element)) continue;
    // The position is read first, because reading styles takes longer.
    const { top, bottom, width, height } = own(element).getBoundingClientRect();
    const isInView = top < innerHeight && bottom > 0 && width > 1 && height > 1;
    if (!isInView || (!isUnseen(element) && !isStroke(element))) continue;
    const shows =
      own(element).textContent.trim() !== '' || own(element).matches('img, :has(img), svg, :has(svg), svg *');
    if (shows && hasPlace(element)) hidden.add(element);
  }
  const start = performance.now();
  let revealed = 0;
  let last = start;
  while (hidden.size > 0) {
    const now = performance.now();
    if (now - start >= maxMs || now - last >= quietMs) break;
    if (mayEndEarly && now - last >= minMs && !mayChangeWithin(last + quietMs - now)) break;
    await waits.sleep(pollIntervalMs);
    for (const element of hidden) {
      if (own(element).isConnected && (isUnseen(element) || isStroke(element))) continue;
      hidden.delete(element);
      revealed += 1;
      last = performance.now();
    }
  }
  return revealed;
}
