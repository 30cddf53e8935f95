/// <reference lib="dom" />
import type { DueCallbacks, PageActivity } from './activity.ts';
import type { fingerprintCanvas as FingerprintCanvas } from './canvases.ts';
import type { movesEndlessly as MovesEndlessly, observeChanges as ObserveChanges } from './motion.ts';
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const activity: PageActivity;
declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** A function that the caller sends to the page together with {@link watchChanges}. */
declare const observeChanges: typeof ObserveChanges;
/** Functions that the caller sends to the page together with {@link untilNothingIsDue}. */
declare const fingerprintCanvas: typeof FingerprintCanvas;
declare const movesEndlessly: typeof MovesEndlessly;

/** Starts to record changes of the document for {@link untilNothingIsDue}. A second call restarts the clock. Returns the start time. */
export function watchChanges(): number {
  /** Maximum number of added nodes that are recorded for one parent. */
  const maxPlaces = 20;
  const now = performance.now();
  if (pageState.webcaptureChanges) {
    pageState.webcaptureChanges.startedAt = pageState.webcaptureChanges.lastChange = now;
    return now;
  }
  const changed: NonNullable<PageState['webcaptureChanges']>['changed'] = new Map();
  const note = (node: Node, hasGrown: boolean, places: readonly Node[]) => {
    const known = changed.get(node) ?? { hasGrown: false, places: [] };
    const all = [...known.places, ...places].slice(0, maxPlaces);
    changed.set(node, { hasGrown: known.hasGrown || hasGrown, places: all });
  };
  const sizeOf = (nodes: NodeList) => {
    let size = 0;
    for (const node of nodes) {
      size += (own(node).textContent ?? '').length + (node instanceof Element ? 1 : 0);
    }
    return size;
  };
  observeChanges((changes) => {
    for (const { type, target, oldValue, addedNodes, removedNodes } of changes) {
      if (type === 'attributes') {
        note(target, false, [target]);
      } else if (type === 'characterData') {
        note(target, (target as CharacterData).data.length > (oldValue as string).length, [target]);
      } else {
        const elements = [...addedNodes].filter((node) => node instanceof Element);
        const isOnlyAdded = elements.length > 0 && elements.length === addedNodes.length && removedNodes.length === 0;
        note(target, sizeOf(addedNodes) > sizeOf(removedNodes), isOnlyAdded ? elements : [target]);
      }
    }
  });
  const runs = activity.due()?.map(({ kind, delay, ran }) => [`${kind} ${delay}`, ran] as const);
  pageState.webcaptureChanges = {
    changed,
    motions: new Map(),
    opacities: new Map(),
    prints: new Map(),
    startedAt: now,
    lastChange: now,
    lastGrowth: Number.NEGATIVE_INFINITY,
    runsAtChange: new Map(runs),
    runsAtGrowth: new Map(runs),
  };
  return now;
}

/** Kind of the changes that were still in progress in view when the wait ended; undefined if there were none. */
export type StillChanging = 'animations' | 'content' | undefined;

/**
 * Waits until no timer, frame callback, navigation or animation of the page's scripts is due soon that changes what is in view. Returns
 * immediately if nothing is due. Ignores endless motion, and callbacks that repeat without a visible change.
 *
 * @param scope `visible` is what the viewport shows, `all` the whole document
 * @param maxMs limit after {@link watchChanges}
 * @param maxProgressMs limit while content is added or more elements start to move
 * @param runs whether the page has scripts that may run
 * @param refresh the `Refresh` header of the document
 */
export async function untilNothingIsDue(
  scope: 'visible' | 'all',
  maxMs: number,
  maxProgressMs: number,
  { runs, refresh: refreshHeader = '' }: { readonly runs: boolean; readonly refresh?: string | undefined },
): Promise<{ readonly changing: StillChanging; readonly lastChange: number; readonly repeats: boolean }> {
  /** Time without a change of the view after which callbacks are ignored. It is long enough for a chart that starts 300 ms after load. */
  const quietMs = 500;
  /** Minimum number of runs in that time, because a busy machine runs few. */
  const quietRuns = 3;
  /** Minimum number of frames in that time, because a busy machine draws few. */
  const quietFrames = 8;
  /** Time after load for the first change without known pending work. In public reports, content follows after 30 to 300 ms. */
  const firstChangeMs = 400;
  /** Time for the next change without known pending work. */
  const nextChangeMs = 250;
  /** Minimum delay of a timer that is waited for only once. A series of shorter timers may be one motion. */
  const longDelayMs = 250;
  /** Minimum length of an interval that counts as a clock or a slide show. */
  const slowIntervalMs = 1000;
  /** Maximum pause within a motion. */
  const maxPauseMs = 250;
  /** Number of polls without a change that a pause needs as well, because a busy machine draws few frames. */
  const maxPauseLooks = 5;
  /** Time within which the browser reports the start of a navigation. */
  const navigationMs = 700;
  /** Time limit of the wait for the answer of a worker. The wait for a response of a server has an equal limit. */
  const workerMs = 1500;
  /** Time between answers of a worker that belong together, as for messages of a server. */
  const nextAnswerMs = 250;
  /** Number of answers after which a worker counts as an endless stream, as for messages of a server. */
  const manyAnswers = 10;
  /** Poll interval: one frame. */
  const pollIntervalMs = 16;
  /** Maximum wait for a frame, because the browser may not draw the page. */
  const frameMs = 50;
  /** Maximum number of changed nodes whose position is read in one poll. */
  const maxLooks = 200;
  /** Maximum length of a text that may be a number with a unit. */
  const maxCountLength = 40;

  const watch = pageState.webcaptureChanges;
  if (watch === undefined) return { changing: undefined, lastChange: 0, repeats: false };
  const { changed, motions, opacities, prints, startedAt, runsAtChange, runsAtGrowth } = watch;
  let lastProgress = Number.NEGATIVE_INFINITY;
  let lastEndless = Number.NEGATIVE_INFINITY;
  let lookNumber = 0;
  /** The number of the poll that last found a change of a node. */
  const lookOf = new Map<Node, number>();

  const isInView = (node: Node): boolean => {
    const element = node instanceof Element ? node : own(node).parentElement;
    if (element === null || !own(element).isConnected) return false;
    if (own(element).matches('style, link')) return true;
    if (!own(element).checkVisibility()) return false;
    return scope === 'all' || isInViewport(element);
  };
  const isInViewport = (element: Element): boolean => {
    const { top, left, bottom, right } = own(element).getBoundingClientRect();
    return bottom >= 0 && right >= 0 && top < innerHeight && left < innerWidth;
  };

  /** Whether an element has become more opaque. Returns false if its opacity has dropped before, because then the element pulses. */
  const fadesIn = (node: Node): boolean => {
    if (!(node instanceof Element)) return false;
    const opacity = Number(getComputedStyle(node).opacity);
    const before = opacities.get(node) ?? 0;
    opacities.set(node, opacity < before ? Number.POSITIVE_INFINITY : opacity);
    return opacity > before;
  };

  /** Returns the digits of a text as a number; undefined if the node has other content. */
  const digitsOf = (node: Node): number | undefined => {
    if (node instanceof Element && own(node).childElementCount > 0) return undefined;
    const content = own(node).textContent ?? '';
    const digits = content.length > maxCountLength ? '' : content.replaceAll(/\D/g, '');
    return digits === '' ? undefined : Number(digits);
  };

  /** Records a change of what is in view. */
  const note = (node: Node, hasGrown: boolean, now: number) => {
    const motion = motions.get(node);
    const looksSince = lookNumber - (lookOf.get(node) ?? Number.NEGATIVE_INFINITY);
    const continues = motion !== undefined && (now - motion.last < maxPauseMs || looksSince <= maxPauseLooks);
    lookOf.set(node, lookNumber);
    const digits = digitsOf(node);
    const isCounting = digits !== undefined && (!continues || (motion.count !== undefined && motion.count < digits));
    const count = isCounting ? digits : undefined;
    motions.set(node, { since: continues ? motion.since : now, last: now, isRepeated: continues, count });
    const isProgress = hasGrown || fadesIn(node) || motion === undefined;
    if (hasGrown) watch.lastGrowth = now;
    if (!isProgress && movesEndlessly(node)) {
      lastEndless = now;
      return;
    }
    watch.lastChange = now;
    if (isProgress) lastProgress = now;
  };

  const look = (now: number) => {
    let looks = 0;
    lookNumber += 1;
    for (const [node, { hasGrown, places }] of changed) {
      looks += 1;
      if (looks > maxLooks) break;
      // A list that grows below the viewport is handled by scrolling.
      const isInSight = (place: Node) => !(place instanceof Element) || isInViewport(place);
      if (places.some(isInView)) note(node, hasGrown && places.some(isInSight), now);
    }
    changed.clear();
    for (const canvas of document.querySelectorAll('canvas')) {
      if (!isInView(canvas)) continue;
      const print = fingerprintCanvas(canvas);
      const before = prints.get(canvas);
      prints.set(canvas, print);
      if (before !== undefined && before !== print) note(canvas, false, now);
    }
  };

  const keyOf = ({ kind, delay }: DueCallbacks) => `${kind} ${delay}`;
  /** Returns the number of runs since the snapshot. For callbacks that are new, counts from now. */
  const runsSince = (then: Map<string, number>, callbacks: DueCallbacks) => {
    const known = then.get(keyOf(callbacks));
    if (known === undefined) then.set(keyOf(callbacks), callbacks.ran);
    return callbacks.ran - (known ?? callbacks.ran);
  };
  const isAwaited = (callbacks: DueCallbacks, now: number, end: number): boolean => {
    const { kind, delay, inMs } = callbacks;
    if (kind === 'navigation') return -inMs < navigationMs;
    if (kind === 'worker') return -inMs < workerMs;
    if (kind === 'answer') return -inMs < nextAnswerMs && callbacks.ran < manyAnswers;
    const sinceChange = runsSince(runsAtChange, callbacks);
    const sinceGrowth = runsSince(runsAtGrowth, callbacks);
    if (inMs > end - now || (kind === 'setInterval' && delay >= slowIntervalMs)) return false;
    if (delay >= longDelayMs) return sinceGrowth === 0;
    // A loop that draws an endless motion does nothing else, so it is ignored sooner.
    const enoughMs = now - lastEndless < maxPauseMs || watch.isIdle === true ? maxPauseMs : quietMs;
    const enoughRuns = kind.endsWith('Frame') ? quietFrames : quietRuns;
    return now - watch.lastChange < enoughMs || sinceChange < enoughRuns;
  };

  /** Time of an automatic refresh to another document, by `performance.now()`. */
  const refreshAt = (): number => {
    const meta = document.querySelector<HTMLMetaElement>('meta[http-equiv="refresh" i]');
    const said = /^\s*([\d.]+)\s*[;,\s]\s*(?:url\s*=\s*)?["']?([^"']+)/i.exec(meta?.content ?? refreshHeader);
    if (said === null) return Number.POSITIVE_INFINITY;
    const [, seconds, address] = said as unknown as readonly [string, string, string];
    const url = URL.parse(address, document.baseURI);
    // A page that reloads itself polls, and is not waited for.
    if (url === null || url.href === location.href) return Number.POSITIVE_INFINITY;
    const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
    return (navigation?.loadEventEnd ?? 0) + Number(seconds) * 1000;
  };

  let isLate: boolean;
  let repeats: boolean;
  for (;;) {
    const { lastChange: changeBefore, lastGrowth: growthBefore } = watch;
    look(performance.now());
    const due = runs ? activity.due() : [];
    const { lastChange, lastGrowth } = watch;
    if (lastChange !== changeBefore) runsAtChange.clear();
    if (lastGrowth !== growthBefore) runsAtGrowth.clear();
    const now = performance.now();
    const isProgressing = now - lastProgress < quietMs;
    const end = startedAt + (isProgressing ? maxProgressMs : maxMs);
    isLate = now >= end;
    const timersEnd = isProgressing ? Math.max(startedAt + maxMs, now + quietMs) : end;
    const awaited =
      due === undefined
        ? now - startedAt < firstChangeMs || now - lastChange < nextChangeMs
        : due.map((callbacks) => isAwaited(callbacks, now, timersEnd)).includes(true);
    // Pending work at the end of the wait was ignored if it repeats.
    repeats = due?.some(({ kind, inMs }) => kind !== 'answer' && inMs < nextChangeMs) === true;
    const refresh = refreshAt();
    const isLeaving = refresh < startedAt + maxMs && now < refresh + navigationMs;
    if (isLate || !(awaited || isLeaving)) break;
    await waits.sleep(pollIntervalMs);
    await waits.untilFrame(frameMs);
  }
  const { lastChange, lastGrowth } = watch;
  const now = performance.now();
  watch.isIdle = now - lastChange >= quietMs;
  const isMoving = isLate && now - lastChange < maxPauseMs;
  const changing = isMoving ? (now - lastGrowth < maxPauseMs ? 'content' : 'animations') : undefined;
  return { changing, lastChange, repeats };
}
