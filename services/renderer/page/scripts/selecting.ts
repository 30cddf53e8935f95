/// <reference lib="dom" />
import type { Compound, ParsedSelector, SelectorPart } from '@webcapture/shared/api/selector.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;

/** A tree in which a selector is matched. */
export type Root = Document | ShadowRoot;

/** Returns the parent in the rendered tree. For a slotted element, this is its slot; for a shadow root, its host. */
export function drawnParent(node: Node): Element | null {
  const { assignedSlot, parentNode } = own(node) as Element;
  const parent = assignedSlot ?? parentNode;
  if (parent === null) return null;
  if (own(parent).nodeType === Node.ELEMENT_NODE) return parent as Element;
  return (parent as Partial<ShadowRoot>).host ?? null;
}

/** Whether the elements are the same, or `outer` contains `inner` in the rendered tree. */
export function holds(outer: Element, inner: Element): boolean {
  for (let at: Element | null = inner; at !== null; at = drawnParent(at)) if (at === outer) return true;
  return false;
}

/** Returns the start and the open shadow roots in it at any depth. */
export function openRoots<R extends Root | Element>(start: R): readonly (R | ShadowRoot)[] {
  const roots: (R | ShadowRoot)[] = [start];
  const { shadowRoot: ofStart } = own(start as Element);
  if (ofStart) roots.push(ofStart);
  for (const root of roots) {
    // `own` is not used, because it takes time on large pages and forms have no shadow root.
    for (const { shadowRoot } of own(root).querySelectorAll(':not(form)')) {
      if (shadowRoot) roots.push(shadowRoot);
    }
  }
  return roots;
}

/** Whether the element is a frame that shows a document. */
export function isFrame(element: Element): boolean {
  return ['iframe', 'frame', 'object'].includes(own(element).localName);
}

/** Returns the document of a frame; null if the frame is of another origin, sandboxed, or did not load. */
export function documentOf(frame: Element): Document | null {
  return isFrame(frame) ? own(frame as HTMLIFrameElement).contentDocument : null;
}

/**
 * Whether the ancestors and siblings of an element match the compounds of the selector before the last one. The caller checks the last
 * compound.
 */
function fitsChain(element: Element, chain: readonly Compound[]): boolean {
  /** For each compound, the elements that do not match. If they were not remembered, the search could take exponential time. */
  const unfit = chain.map(() => new Set<Element>());
  const before = (at: Element, combinator: string): Element | null => {
    if (combinator !== ' ' && combinator !== '>') return own(at).previousElementSibling;
    const { parentElement, parentNode } = own(at);
    return parentElement ?? (parentNode as Partial<ShadowRoot>).host ?? null;
  };
  const fits = (from: Element, at: number): boolean => {
    const compound = chain[at - 1];
    if (compound === undefined) return true;
    const { combinator } = chain[at] as Compound;
    const known = unfit[at] as Set<Element>;
    if (known.has(from)) return false;
    const isNext = combinator === '>' || combinator === '+';
    for (let other = before(from, combinator); other !== null; other = before(other, combinator)) {
      if (own(other).matches(compound.css) && fits(other, at - 1)) return true;
      if (isNext) break;
    }
    known.add(from);
    return false;
  };
  return fits(element, chain.length - 1);
}

/** Sorts elements of a document and its shadow roots in tree order, with the content of a shadow root after its host. */
function inTreeOrder(elements: Iterable<Element>): Element[] {
  const paths = new Map<Element, readonly Element[]>();
  for (const element of elements) {
    const path = [element];
    for (let at: Element | null = element; at !== null;) {
      const root = own(at).getRootNode() as Partial<ShadowRoot>;
      at = root.host ?? null;
      if (at !== null) path.unshift(at);
    }
    paths.set(element, path);
  }
  const compare = (a: readonly Element[], b: readonly Element[]): number => {
    for (let index = 0; ; index += 1) {
      const [one, other] = [a[index], b[index]];
      if (one === undefined) return -1;
      if (other === undefined) return 1;
      if (one === other) continue;
      return own(one).compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
    }
  };
  return [...paths].toSorted(([, a], [, b]) => compare(a, b)).map(([element]) => element);
}

/** Returns the matching elements of a document, or within an element, and of its open shadow roots, in tree order. */
export function matchesIn<S extends Document | Element>(
  start: S,
  { css, chains }: SelectorPart,
  roots: readonly (S | ShadowRoot)[] = openRoots(start),
): readonly Element[] {
  const lists = roots.map((root) => [...own(root).querySelectorAll(css)]);
  const found = new Set(lists.flat());
  const lasts = chains.map((chain) => (chain.at(-1) as Compound).css);
  const inner = chains.length === 0 ? [] : roots.slice(1);
  // If an element is in the document, all its ancestors are too. Therefore `querySelectorAll` finds all of them.
  for (const element of inner.flatMap((root) => [...root.querySelectorAll(lasts.join())])) {
    const fits = (chain: readonly Compound[], index: number) =>
      own(element).matches(lasts[index] as string) && fitsChain(element, chain);
    if (chains.some(fits)) found.add(element);
  }
  return (lists[0] as Element[]).length === found.size ? [...found] : inTreeOrder(found);
}

/** How a selector is matched. */
export interface SelectOptions {
  /** Whether to search in a matching frame. By default, every frame is searched. */
  readonly enters?: (frame: Element) => boolean;
  /** The document in which the first part is matched. By default, it is the page's document. */
  readonly start?: Document;
  /** Returns a document and its open shadow roots. */
  readonly rootsOf?: (document: Document) => readonly Root[];
}

/** The documents in which the last part of a selector is matched. */
export interface Entered {
  readonly documents: readonly Document[];
  /** Whether an earlier part of the selector matched a frame whose document cannot be read. */
  readonly isUnreadable: boolean;
}

/** @throws DOMException SyntaxError if the browser does not support a part */
export function assertKnown(parts: ParsedSelector): void {
  for (const { css } of parts) document.createDocumentFragment().querySelector(css);
}

/**
 * Finds the documents of the frames that the parts before the last one match.
 *
 * @throws DOMException SyntaxError if the browser does not support a part
 */
export function enterFrames(
  parts: ParsedSelector,
  { enters = () => true, start = document, rootsOf = openRoots }: SelectOptions = {},
): Entered {
  // Checks all parts, including those that the search does not reach.
  assertKnown(parts);
  let documents: readonly Document[] = [start];
  for (const part of parts.slice(0, -1)) {
    const entered = documents.flatMap((each) => matchesIn(each, part, rootsOf(each))).filter(enters);
    documents = entered.flatMap((frame) => documentOf(frame) ?? []);
    if (documents.length === 0) return { documents, isUnreadable: entered.length > 0 };
  }
  return { documents, isUnreadable: false };
}

/** Finds the matching elements in the documents of {@link enterFrames}. */
export function selectAll(
  parts: ParsedSelector,
  options: SelectOptions = {},
): Entered & { readonly elements: readonly Element[] } {
  const entered = enterFrames(parts, options);
  const rootsOf = options.rootsOf ?? openRoots;
  const last = parts.at(-1) as SelectorPart;
  return { ...entered, elements: entered.documents.flatMap((each) => matchesIn(each, last, rootsOf(each))) };
}

/**
 * Returns a function that finds the open shadow roots of each document only once. The result is valid while the page's scripts do not run.
 */
export function rememberRoots(): (document: Document) => readonly Root[] {
  const known = new Map<Document, readonly Root[]>();
  return (each) => {
    const roots = known.get(each) ?? openRoots(each);
    known.set(each, roots);
    return roots;
  };
}

/** Functions of this file that must be sent to the page with every function that selects elements. */
export const selecting = [
  drawnParent,
  holds,
  openRoots,
  isFrame,
  documentOf,
  fitsChain,
  inTreeOrder,
  matchesIn,
  assertKnown,
  enterFrames,
  selectAll,
  rememberRoots,
] as const;
