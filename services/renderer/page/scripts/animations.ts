/// <reference lib="dom" />
import type { scriptsHaveEnded as ScriptsHaveEnded } from './activity.ts';
import type { Motion, PageState } from './state.ts';
import type { mayStyle as MayStyle } from './styles.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** A helper of the call of {@link waitForRest}. */
declare const scriptsHaveEnded: typeof ScriptsHaveEnded;
/** A helper of the call of {@link waitForReveals}. */
declare const mayStyle: typeof MayStyle;

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

/**
 * Shows texts and pictures that an animation without an end leaves less than half as visible as it makes them: the animation moves on to the
 * first time at which they are most visible, and pauses. Animations of siblings with the same name move together, until the most visible
 * sibling is there: of words that take turns, one is visible. Runs after {@link finishAnimations}, which leaves only those without an end.
 */
export function showPulsing(): void {
  /** Of the opacity that an animation makes: above it, a text can be read. */
  const minShare = 0.5;
  /** Number of times at which a round is looked at. */
  const looks = 20;
  /** Each row costs up to `looks` calculations of styles. */
  const maxRows = 30;
  const opacityOf = (element: Element) => Number(getComputedStyle(element).opacity);
  const pulses = (document.getAnimations?.() ?? []).flatMap((animation) => {
    const { effect, timeline, playState, currentTime } = animation;
    if (playState !== 'running' || !(timeline instanceof DocumentTimeline) || typeof currentTime !== 'number')
      return [];
    if (!(effect instanceof KeyframeEffect) || effect.pseudoElement !== null || effect.target === null) return [];
    const { target } = effect;
    const { duration, delay = 0 } = effect.getComputedTiming();
    if (typeof duration !== 'number') return [];
    const hasText = (own(target).textContent ?? '').trim() !== '';
    if (!hasText && !own(target).matches('img, :has(img), svg, :has(svg), svg *')) return [];
    const name = animation instanceof CSSAnimation ? animation.animationName : '';
    return [{ animation, target, name, currentTime, duration, delay }];
  });
  const families = [...Map.groupBy(pulses, ({ target }) => own(target).parentNode).values()];
  const rows = families.flatMap((family) => [...Map.groupBy(family, ({ name }) => name).values()]);
  for (const row of rows.slice(0, maxRows)) {
    const [first] = row.toSorted((a, b) => opacityOf(b.target) - opacityOf(a.target));
    const before = first === undefined ? 1 : opacityOf(first.target);
    // No opacity is greater than 1.
    if (first === undefined || before >= minShare) continue;
    const { animation, target, currentTime, duration, delay } = first;
    const begin = delay + Math.max(0, Math.floor((currentTime - delay) / duration)) * duration;
    // At its end, a round is already at the beginning of the next one.
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

/**
 * Stops the animations that run with the scroll position of the page, each where it would be with its element in the
 * middle of the viewport: what fades in on the way is there. Those of elements that stay in sight (bars, headers) stop
 * where they are at the top of the page.
 */
export async function holdScrollAnimations(): Promise<void> {
  /** An animation is placed with the next frame; on a busy machine some frames later. */
  const maxFrames = 5;
  /** For a page that is not drawn. */
  const frameMs = 100;
  const page = document.scrollingElement ?? document.documentElement;
  const scrollers: (Element | null | undefined)[] = [page, pageState.webcaptureScroller?.scrolled];
  const staysInSight = (element: Element): boolean => {
    for (let at: Element | null = element; at !== null; at = own(at).parentElement) {
      const { position } = getComputedStyle(at);
      if (position === 'fixed' || position === 'sticky') return true;
    }
    return false;
  };
  /** How far along the timeline an element is shown, from 0 to 1. */
  const shareOf = (element: Element, { source }: ScrollTimeline, end: number): number => {
    if (staysInSight(element) || source === null) return 0;
    const { top, height } = own(element).getBoundingClientRect();
    return Math.max(0, Math.min(1, (top + source.scrollTop + height / 2 - source.clientHeight / 2) / end));
  };

  // Where on its way it begins is known with the next frame only for one that has just begun, and that is late on a busy machine.
  const isUnplaced = ({ timeline, startTime, playState }: Animation) =>
    timeline instanceof ScrollTimeline && playState === 'running' && startTime === null;
  for (let frame = 0; frame < maxFrames && document.getAnimations?.().some(isUnplaced); frame += 1) {
    await waits.untilFrame(frameMs);
  }

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

/** Notes from now on when scripts change which nodes, for {@link waitForRest}. */
export function watchMotion(): void {
  /** Changes further apart than this are no animation, not even one on a busy machine. */
  const maxPauseMs = 250;
  const nodes = new Map<Node, Motion>();
  const observer = new MutationObserver((records) => {
    const now = performance.now();
    for (const target of new Set(records.map((record) => record.target))) {
      const motion = nodes.get(target);
      const goesOn = motion !== undefined && now - motion.last < maxPauseMs;
      nodes.set(
        target,
        goesOn ? { ...motion, last: now, isRepeated: true } : { since: now, last: now, isRepeated: false },
      );
    }
  });
  observer.observe(document, { subtree: true, attributes: true, characterData: true, childList: true });
  pageState.webcaptureMotion = { observer, nodes };
}

/**
 * Waits until scripts have come to the end of the animations that they make change by change (fading in, counting up),
 * and of images that they are about to name. What they have changed for longer than `maxMs` will not come to an end,
 * and is not waited for.
 *
 * @param mayBeStill where the scripts have ended, nothing is waited for
 */
export async function waitForRest(maxMs: number, mayBeStill: boolean): Promise<void> {
  /** About a frame. */
  const pollIntervalMs = 20;
  /** A movement has ended after this number of polls and frames without a change. On a busy machine polls and frames are late, too. */
  const restPolls = 5;
  const restFrames = 3;
  /** A page that is not drawn at all has its rest after this. */
  const maxRestMs = 1000;
  /** A script takes its first step within this after what it watches has come into sight. */
  const firstStepMs = 50;
  /** What was changed once, and longer ago than this when the wait begins, is no animation that has just begun. */
  const maxPauseMs = 250;

  if (mayBeStill && scriptsHaveEnded()) return;
  const { webcaptureShownAt = -Infinity, webcaptureMotion } = pageState;
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
  const isMoving = () => {
    for (const { since, last, isRepeated } of webcaptureMotion?.nodes.values() ?? []) {
      const canGoOn = isRepeated ? last - since < maxMs : start - last < maxPauseMs;
      if (canGoOn && !isAtRest(last)) return true;
    }
    return false;
  };
  /** As loaders of lazy images mark those that they have yet to show. */
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
 * Waits while what is in sight is revealed step by step: texts and pictures that have their place in the page and cannot be
 * seen yet (transparent, hidden) come in one after the other, by timers. Where nothing is hidden it is not waited at all.
 *
 * @param maxMs in all; what is hidden for good is not waited for longer than `quietMs` after the last one has come in
 * @returns how many came in
 */
export async function waitForReveals(maxMs: number, quietMs: number): Promise<number> {
  /** About two frames. */
  const pollIntervalMs = 30;
  /** Looking at more elements takes longer than the wait. */
  const maxElements = 4000;
  if (document.scripts.length === 0) return 0;
  const hidingAttributes = '[opacity], [visibility], [clip-path], [stroke-dashoffset], animate, set';
  if (!mayStyle(['opacity', 'visibility', 'clip-path', 'stroke-dash'], hidingAttributes)) return 0;
  const isUnseen = (element: Element) => {
    const { opacity, visibility, clipPath } = getComputedStyle(element);
    return Number(opacity) < 0.05 || visibility === 'hidden' || /^inset\((?:.* )?100%/.test(clipPath);
  };
  /** It takes a place in the page: menus and hints that wait for the pointer lie above it. */
  const hasPlace = (element: Element) => {
    for (let at: Element | null = element; at !== null && at !== document.body; at = own(at).parentElement) {
      const { position } = getComputedStyle(at);
      if (position === 'absolute' || position === 'fixed') return false;
    }
    return true;
  };
  const isStroke = (element: Element) =>
    element instanceof SVGGeometryElement && Number.parseFloat(getComputedStyle(element).strokeDashoffset) > 0;
  const hidden = new Set<Element>();
  const all = own(document.body)?.querySelectorAll('*') ?? [];
  for (let index = 0; index < all.length && index < maxElements; index += 1) {
    const element = all[index];
    if (element === undefined) continue;
    const { parentElement: parent } = own(element);
    if (parent !== null && hidden.has(parent)) continue;
    // Where a thing is costs less to ask than how it looks.
    const { top, bottom, width, height } = own(element).getBoundingClientRect();
    const isInView = top < innerHeight && bottom > 0 && width > 1 && height > 1;
    if (!isInView || (!isUnseen(element) && !isStroke(element))) continue;
    const shows =
      (own(element).textContent ?? '').trim() !== '' || own(element).matches('img, :has(img), svg, :has(svg), svg *');
    if (shows && hasPlace(element)) hidden.add(element);
  }
  const start = performance.now();
  let revealed = 0;
  let last = start;
  while (hidden.size > 0) {
    const now = performance.now();
    if (now - start >= maxMs || now - last >= quietMs) break;
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
