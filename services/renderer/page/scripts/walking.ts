/// <reference lib="dom" />

/** How an element affects the text: `block` starts and ends a line. */
type Box = 'block' | 'inline';

/** Receives the visible content of a page in document order. */
export interface PageWriter {
  /** Starts an element. The returned function is called at its end. */
  readonly enter: (element: Element, tag: string, box: Box) => (() => void) | undefined;
  /** @param isShown false if the image takes space but is invisible */
  readonly image: (image: Element, isShown: boolean) => void;
  readonly lineBreak: () => void;
  /** @param keepsLines whether line breaks are shown, as in `white-space: pre` */
  readonly text: (text: string, keepsLines: boolean) => void;
  /** Whether the writer accepts no further content. */
  readonly isFull: () => boolean;
}

/** An element whose children are being walked. */
interface Walked {
  readonly isShown: boolean;
  readonly keepsLines: boolean;
  readonly ends: readonly (() => void)[];
  /** The assigned nodes of a slot; null for other elements, whose children are reached by `next`. */
  readonly children: readonly Node[] | null;
  at: number;
  next: Node | null;
  /** The only child of a closed `details` that is shown. */
  readonly only: Element | null;
}

/**
 * Returns a function that reads a property of a node by the getter of its prototype. The node's own property may be shadowed by fields of a
 * form or images of a document.
 */
export function readerOf<T>(type: { readonly prototype: object }, name: string): (node: Node) => T {
  const { get } = Object.getOwnPropertyDescriptor(type.prototype, name) as { get: () => unknown };
  return (node) => get.call(node) as T;
}

/** Removes control characters, which JSON would encode with six characters each, and halves of surrogate pairs. */
export function withoutControls(text: string): string {
  return text.toWellFormed().replaceAll(/[^\P{Cc}\t\n\f\r]/gu, '');
}

/**
 * Walks through the visible document, including open shadow roots but without frames. Does not recurse, because a page may nest its
 * elements to any depth.
 *
 * @param end by `performance.now()`
 * @param root the element to walk through. By default, it is the root of the document.
 * @returns whether the end was reached
 */
export function walkPage(
  writers: readonly PageWriter[],
  end: number,
  root = Document.prototype.querySelector.call(document, ':root'),
): boolean {
  /** Elements whose content is not shown, or is not text of the page. */
  const skipped = new Set(
    'audio canvas datalist embed frame frameset head iframe img input meter object option progress rp script select style svg template textarea title video'.split(
      ' ',
    ),
  );
  const stepsBetweenLooks = 256;
  const nodeType = readerOf<number>(Node, 'nodeType');
  const firstChild = readerOf<Node | null>(Node, 'firstChild');
  const nextSibling = readerOf<Node | null>(Node, 'nextSibling');
  const localName = readerOf<string>(Element, 'localName');
  const shadowRoot = readerOf<ShadowRoot | null>(Element, 'shadowRoot');
  const dataOf = readerOf<string>(CharacterData, 'data');
  const inlineDisplay = /^(?:inline|contents|ruby|math)/;

  const firstSummary = (details: Node): Element | null => {
    for (let child = firstChild(details); child !== null; child = nextSibling(child)) {
      if (nodeType(child) === Node.ELEMENT_NODE && localName(child) === 'summary') return child as Element;
    }
    return null;
  };
  /** Returns the children in the rendered tree. */
  const childrenOf = (element: Element): Pick<Walked, 'children' | 'next'> => {
    if (element instanceof HTMLSlotElement) {
      const assigned = HTMLSlotElement.prototype.assignedNodes.call(element);
      if (assigned.length > 0) return { children: assigned, next: null };
    }
    return { children: null, next: firstChild(shadowRoot(element) ?? element) };
  };
  const enter = (element: Element): Walked | null => {
    const tag = localName(element);
    if (tag === 'br') for (const writer of writers) writer.lineBreak();
    const isImage = tag === 'img';
    if (skipped.has(tag) && !isImage) return null;
    const { display, visibility, contentVisibility, whiteSpaceCollapse } = getComputedStyle(element);
    if (display === 'none') return null;
    // If scripts are enabled, a `noscript` element has no box, although its style does not show that.
    if (tag === 'noscript' && Element.prototype.getClientRects.call(element).length === 0) return null;
    const isShown = visibility === 'visible';
    if (isImage) {
      for (const writer of writers) writer.image(element, isShown);
      return null;
    }
    const box = inlineDisplay.test(display) ? 'inline' : 'block';
    const ends = writers.flatMap((writer) => writer.enter(element, tag, box) ?? []);
    const isClosed = tag === 'details' && !Element.prototype.hasAttribute.call(element, 'open');
    return {
      isShown,
      keepsLines: whiteSpaceCollapse.startsWith('preserve'),
      ends,
      at: 0,
      only: isClosed ? firstSummary(element) : null,
      ...(contentVisibility === 'hidden' || (isClosed && firstSummary(element) === null)
        ? { children: [], next: null }
        : childrenOf(element)),
    };
  };
  const nextChild = (walked: Walked): Node | null => {
    if (walked.children !== null) return walked.children[walked.at++] ?? null;
    const child = walked.next;
    if (child !== null) walked.next = nextSibling(child);
    return child;
  };

  const first = root === null ? null : enter(root);
  const path: Walked[] = first === null ? [] : [first];
  let isWhole = true;
  for (let step = 1; path.length > 0; step += 1) {
    const isLate = step % stepsBetweenLooks === 0 && performance.now() > end;
    if (isLate || writers.every((writer) => writer.isFull())) {
      isWhole = false;
      break;
    }
    const parent = path.at(-1) as Walked;
    const child = nextChild(parent);
    if (child === null) {
      for (const finish of parent.ends) finish();
      path.pop();
      continue;
    }
    if (parent.only !== null && child !== parent.only) continue;
    const type = nodeType(child);
    if (type === Node.ELEMENT_NODE) {
      const entered = enter(child as Element);
      if (entered !== null) path.push(entered);
    } else if (type === Node.TEXT_NODE && parent.isShown) {
      const text = dataOf(child);
      for (const writer of writers) writer.text(text, parent.keepsLines);
    }
  }
  for (const { ends } of path.toReversed()) for (const finish of ends) finish();
  return isWhole;
}

/** A writer that returns what it wrote. */
export interface TextWriter extends PageWriter {
  readonly written: () => string;
}

/** Writes the text of a page like `innerText`: each block on a line, an empty line around a paragraph, and a tab between cells. */
export function writeText(maxLength: number): TextWriter {
  const paragraphs = new Set([
    'blockquote',
    'dl',
    'figure',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'ol',
    'p',
    'pre',
    'ul',
  ]);
  const previousElement = readerOf<Element | null>(Element, 'previousElementSibling');
  const pieces: string[] = [];
  let length = 0;
  /** Separators between the previous text and the next one. */
  let lines = 0;
  let breaks = 0;
  let isTab = false;
  let isSpace = false;
  const put = (text: string) => {
    const newlines = Math.min(2, Math.max(lines, breaks));
    const gap = newlines > 0 ? '\n'.repeat(newlines) : isTab ? '\t' : isSpace ? ' ' : '';
    const piece = length === 0 ? text : gap + text;
    [lines, breaks, isTab, isSpace] = [0, 0, false, false];
    pieces.push(piece);
    length += piece.length;
  };
  const separate = (count: number) => {
    lines = Math.max(lines, count);
  };
  return {
    enter: (element, tag, box) => {
      if (tag === 'td' || tag === 'th') {
        if (previousElement(element) !== null) isTab = true;
        return undefined;
      }
      if (box === 'inline') return undefined;
      const count = paragraphs.has(tag) ? 2 : 1;
      separate(count);
      return () => separate(count);
    },
    image: () => undefined,
    lineBreak: () => {
      breaks += 1;
    },
    text: (whole, keepsLines) => {
      const text = whole.slice(0, Math.max(0, maxLength - length) + 1);
      if (keepsLines) {
        if (text !== '') put(text);
        return;
      }
      const plain = text.replaceAll(/[ \t\n\r\f]+/g, ' ');
      if (plain.startsWith(' ')) isSpace = true;
      if (plain === '' || plain === ' ') return;
      put(plain.replaceAll(/^ | $/g, ''));
      isSpace = plain.endsWith(' ');
    },
    isFull: () => length > maxLength,
    written: () => pieces.join(''),
  };
}
