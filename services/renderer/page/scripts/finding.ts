/// <reference lib="dom" />
import type { WaitFor } from '@webcapture/shared/api/option-schemas.ts';
import type { ParsedSelector } from '@webcapture/shared/api/selector.ts';
import type { isVisible as IsVisible } from './boxes.ts';
import type {
  documentOf as DocumentOf,
  isFrame as IsFrame,
  matchesIn as MatchesIn,
  openRoots as OpenRoots,
  selectAll as SelectAll,
} from './selecting.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const own: typeof Own;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const documentOf: typeof DocumentOf;
declare const isFrame: typeof IsFrame;
declare const isVisible: typeof IsVisible;
declare const matchesIn: typeof MatchesIn;
declare const openRoots: typeof OpenRoots;
declare const selectAll: typeof SelectAll;

/** `refused` means that the browser does not support the selector. */
export type Found = 'found' | 'missed' | 'refused';

/** The target of a search: matching elements, or a text. */
export interface Sought {
  readonly parts?: ParsedSelector;
  readonly text?: string;
  readonly state: WaitFor['state'];
}

/**
 * Waits until the target of the search is in the wanted state. Makes lazy frames load if the search includes them.
 *
 * @param timeoutMs 0 to check once
 */
export async function untilFound({ parts, text, state }: Sought, timeoutMs: number): Promise<Found> {
  const lookIntervalMs = 50;
  /** Maximum share of the page's time for checks, because each check of the text of a large page forces a layout. */
  const maxShare = 0.25;
  const plain = (value: string) => value.replaceAll(/\s+/g, ' ').toLowerCase();

  const enters = (frame: Element): boolean => {
    if (own(frame).getAttribute('loading')?.toLowerCase() === 'lazy') own(frame).setAttribute('loading', 'eager');
    return state === 'attached' || isVisible(frame);
  };
  const shownIn = (element: Element) => (own(element).checkVisibility() ? own(element as HTMLElement).innerText : '');
  const isThere = (): boolean => {
    if (parts !== undefined) {
      const { elements, isUnreadable } = selectAll(parts, { enters });
      if (state === 'attached') return elements.length > 0;
      const isShown = elements.some(isVisible);
      return state === 'visible' ? isShown : !isShown && !isUnreadable;
    }
    const wanted = plain(text as string).trim();
    const body = document.body ?? document.documentElement;
    const roots = openRoots(body).slice(1) as readonly ShadowRoot[];
    const texts =
      state === 'attached'
        ? [own(body).textContent, ...roots.map((root) => root.textContent)]
        : [own(body).innerText, ...roots.map((root) => [...root.children].map(shownIn).join('\n'))];
    return texts.some((each) => plain(each ?? '').includes(wanted)) === (state !== 'hidden');
  };

  const end = performance.now() + timeoutMs;
  for (;;) {
    const lookedAt = performance.now();
    try {
      if (isThere()) return 'found';
    } catch (error) {
      // An error that a frame throws is not an instance of this window's `DOMException`.
      if ((error as Error).name === 'SyntaxError') return 'refused';
      throw error;
    }
    const now = performance.now();
    if (now >= end) return 'missed';
    await waits.sleep(Math.min(end - now, Math.max(lookIntervalMs, (now - lookedAt) / maxShare)));
  }
}

/** The extent of a search for a selector that no visible element matches. */
export type Search =
  | {
      readonly kind: 'elements';
      /** Number of matching elements that are not visible. */
      readonly matches: number;
      readonly documents: number;
      readonly shadowRoots: number;
      /** Number of frames in these documents. */
      readonly frames: number;
      /** Selectors of nested frames, outermost first, that contain a match; null if there is none. */
      readonly inFrame: readonly string[] | null;
    }
  | {
      /**
       * `none` means that a part before the last one matches no element; `noFrame`, that it matches elements that are not frames;
       * `unreadable`, that it matches frames that cannot be read.
       */
      readonly kind: 'none' | 'noFrame' | 'unreadable';
      readonly part: number;
    };

/** Counts what a search for a selector includes, and looks for a match in frames that the search does not include. */
export function describeSearch(parts: ParsedSelector): Search {
  const maxFrames = 100;
  for (let part = 0; part < parts.length - 1; part += 1) {
    const { elements } = selectAll(parts.slice(0, part + 1));
    if (elements.length === 0) return { kind: 'none', part };
    const frames = elements.filter(isFrame);
    if (frames.length === 0) return { kind: 'noFrame', part };
    if (frames.every((frame) => documentOf(frame) === null)) return { kind: 'unreadable', part };
  }
  const { elements, documents } = selectAll(parts);
  const roots = documents.flatMap((each) => openRoots(each));
  const last = parts.slice(-1);
  const framesIn = (each: readonly (Document | ShadowRoot)[]) =>
    each.flatMap((root) => [...root.querySelectorAll('iframe, frame, object')]).slice(0, maxFrames);
  const nameOf = (frame: Element): string => {
    const { localName } = own(frame);
    for (const name of ['id', 'name', 'src', 'data']) {
      const value = own(frame).getAttribute(name);
      if (value === null || !/^[\w./:?=&%-]{1,100}$/.test(value)) continue;
      return name === 'id' && /^[a-z_][\w-]*$/i.test(value)
        ? `${localName}#${value}`
        : `${localName}[${name}="${value}"]`;
    }
    return localName;
  };
  const frames = framesIn(roots);
  const paths = frames.map((frame) => [frame]);
  let inFrame: readonly string[] | null = null;
  for (const path of elements.length === 0 ? paths : []) {
    const inner = documentOf(path.at(-1) as Element);
    if (inner === null) continue;
    if (last.some((part) => matchesIn(inner, part).length > 0)) {
      inFrame = path.map(nameOf);
      break;
    }
    if (paths.length < maxFrames) paths.push(...framesIn(openRoots(inner)).map((frame) => [...path, frame]));
  }
  return {
    kind: 'elements',
    matches: elements.length,
    documents: documents.length,
    shadowRoots: roots.length - documents.length,
    frames: frames.length,
    inFrame,
  };
}
