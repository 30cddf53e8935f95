/// <reference lib="dom" />
import type { shareInSight as ShareInSight } from './scenes.ts';
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/** A helper of the call of {@link compareWithSeen}. */
declare const shareInSight: typeof ShareInSight;

/** Chooses texts, pictures and controls, spread over the page: what a person sees of them is told by {@link compareWithSeen}. */
export function sampleContents(): void {
  const maxSample = 300;
  const holdsText = (element: Element) =>
    [...own(element).childNodes].some(
      (node) => own(node).nodeType === Node.TEXT_NODE && (own(node).textContent ?? '').trim() !== '',
    );
  const candidates = [...document.querySelectorAll('body *')].filter(
    (element) =>
      !['script', 'style', 'noscript', 'option', 'br', 'title'].includes(own(element).localName) &&
      (['img', 'button', 'canvas', 'video', 'input'].includes(own(element).localName) || holdsText(element)),
  );
  const every = Math.max(1, candidates.length / maxSample);
  const sample = Array.from(
    { length: Math.min(maxSample, candidates.length) },
    (_, n) => candidates[Math.floor(n * every)],
  );
  const state = pageState;
  state.webcaptureSeen = {
    sample: sample.filter((element) => element !== undefined),
    seen: new Set(),
    atTop: new Set(),
    places: [],
  };
  for (const element of state.webcaptureSeen.sample) {
    const { top, bottom } = own(element).getBoundingClientRect();
    const isInView = top >= 0 && bottom <= innerHeight;
    if (isInView && own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true })) {
      state.webcaptureSeen.seen.add(element);
    }
  }
}

/** Remembers where the sample is, and where panes that scroll by themselves stand: at the top of the page, before its viewport grows. */
export function rememberPlaces(): void {
  const state = pageState;
  const { webcaptureSeen: seen, webcaptureScroller: scroller } = state;
  if (seen) {
    seen.places = seen.sample.map((element) => own(element).getBoundingClientRect().top);
    for (const element of seen.sample) {
      const { top, bottom } = own(element).getBoundingClientRect();
      const isInView = top < innerHeight && bottom > 0;
      if (isInView && own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true }))
        seen.atTop.add(element);
    }
  }
  const roots: (Element | null | undefined)[] = [
    document.documentElement,
    document.scrollingElement,
    scroller?.element,
  ];
  state.webcapturePanes = [...document.querySelectorAll('*')]
    .filter((element) => own(element).scrollTop > 0 && !roots.includes(element))
    .map((element) => ({
      element,
      top: own(element).scrollTop,
      isAtEnd: own(element).scrollTop >= own(element).scrollHeight - own(element).clientHeight - 1,
    }));
}

/** Puts panes back to where the page had them. */
export function restorePanes(): void {
  for (const { element, top, isAtEnd } of pageState.webcapturePanes ?? []) {
    const wanted = isAtEnd ? own(element).scrollHeight - own(element).clientHeight : top;
    if (Math.abs(own(element).scrollTop - wanted) > 1) own(element).scrollTo({ top: wanted, behavior: 'instant' });
  }
}

/** What has become of the sample since {@link rememberPlaces}. */
export interface Difference {
  /** Elements that were in sight as the page was scrolled. */
  readonly seen: number;
  /** Of those, how many cannot be seen any more. */
  readonly lost: number;
  /** Of those, how many stand elsewhere by more than half of the viewport that a person has. */
  readonly moved: number;
  /** The share of the viewport that scenes cover on the way which cannot be seen now, or stand elsewhere; each of several may cover all of it. */
  readonly lostScenes: number;
}

/** @param viewHeight of the viewport that a person has, in CSS pixels */
export function compareWithSeen(viewHeight: number): Difference {
  const { webcaptureSeen: state, webcaptureScenes: scenes = [] } = pageState;
  if (state === undefined) return { seen: 0, lost: 0, moved: 0, lostScenes: 0 };
  const isFixed = (element: Element): boolean => {
    for (let at: Element | null = element; at !== null; at = own(at).parentElement) {
      const { position } = getComputedStyle(at);
      if (position === 'fixed' || position === 'sticky') return true;
    }
    return false;
  };
  let [seen, lost, moved] = [0, 0, 0];
  state.sample.forEach((element, index) => {
    // What is fixed is seen everywhere, and counts as it is at the top.
    const counts = isFixed(element) ? state.atTop.has(element) : state.seen.has(element);
    if (!counts || !own(element).isConnected) return;
    seen += 1;
    if (!own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true })) lost += 1;
    else if (
      !isFixed(element) &&
      Math.abs(own(element).getBoundingClientRect().top - (state.places[index] ?? 0)) > viewHeight / 2
    )
      moved += 1;
  });
  const lostScenes = scenes
    .filter(({ element }) => !scenes.some((inner) => inner.element !== element && own(element).contains(inner.element)))
    .filter(
      ({ element, top }) =>
        shareInSight(element) === 0 || Math.abs(own(element).getBoundingClientRect().top - top) > viewHeight / 2,
    )
    .reduce((sum, { share }) => sum + Math.max(0, share), 0);
  return { seen, lost, moved, lostScenes };
}

/**
 * Lets {@link hideResizes} keep `resize` from the page. Runs before the page's own scripts: of the listeners of a window,
 * those that were there first are called first.
 */
export function interceptResizes(): void {
  addEventListener('resize', (event) => {
    if (pageState.webcaptureHidesResizes === true) event.stopImmediatePropagation();
  });
}

/**
 * Keeps `resize` from the page, or no longer: a person who looks at it never resizes the window. A canvas that covers the
 * viewport is drawn anew by its script when that grows, and hears of it.
 */
export function hideResizes(hide: boolean): void {
  const minShare = 0.9;
  const covers = (canvas: HTMLCanvasElement) => {
    const { width, height } = canvas.getBoundingClientRect();
    return width >= innerWidth * minShare && height >= innerHeight * minShare;
  };
  pageState.webcaptureHidesResizes = hide && ![...document.querySelectorAll('canvas')].some(covers);
}

/**
 * Leaves full screen and picture-in-picture as soon as a page enters them, as a person does with the Escape key. Runs before the page's own
 * scripts.
 */
export function stayInWindow(): void {
  const leave = (exit: 'exitFullscreen' | 'exitPictureInPicture') =>
    void Document.prototype[exit].call(document).catch(() => undefined);
  for (const event of ['fullscreenchange', 'webkitfullscreenchange'])
    addEventListener(event, () => leave('exitFullscreen'), true);
  addEventListener('enterpictureinpicture', () => leave('exitPictureInPicture'), true);
}
