/// <reference lib="dom" />
import type { own as Own } from './own.ts';
import type { drawnParent as DrawnParent, Root } from './selecting.ts';

declare const own: typeof Own;
/** A function that the caller sends to the page together with the functions of this file. */
declare const drawnParent: typeof DrawnParent;

/**
 * Returns the box of an element in its document's viewport. For an element without a box (`display: contents`), or with an empty box that
 * does not clip, returns the box around its content.
 */
export function boxOf(element: Element): DOMRect {
  const maxNodes = 1000;
  const hasArea = ({ width, height }: DOMRect) => width > 0 && height > 0;
  const boxes: DOMRect[] = [];
  const nodes: Node[] = [element];
  for (const node of nodes) {
    if (nodes.length > maxNodes) break;
    if (own(node).nodeType === Node.TEXT_NODE) {
      if (getComputedStyle(drawnParent(node) as Element).visibility !== 'visible') continue;
      const range = (own(node).ownerDocument as Document).createRange();
      range.selectNode(node);
      boxes.push(range.getBoundingClientRect());
    }
    if (own(node).nodeType !== Node.ELEMENT_NODE) continue;
    const each = node as Element;
    const box = own(each).getBoundingClientRect();
    if (hasArea(box)) {
      if (own(each).checkVisibility({ visibilityProperty: true })) boxes.push(box);
      continue;
    }
    const { display, overflowX, overflowY } = getComputedStyle(each);
    if (display === 'none') continue;
    if (display !== 'contents' && (overflowX !== 'visible' || overflowY !== 'visible')) continue;
    const slotted = own(each as Partial<HTMLSlotElement>).assignedNodes?.() ?? [];
    nodes.push(...(slotted.length > 0 ? slotted : own(own(each).shadowRoot ?? each).childNodes));
  }
  const shown = boxes.filter(hasArea);
  if (shown.length === 0) return own(element).getBoundingClientRect();
  const [left, top] = [Math.min(...shown.map((box) => box.left)), Math.min(...shown.map((box) => box.top))];
  const [right, bottom] = [Math.max(...shown.map((box) => box.right)), Math.max(...shown.map((box) => box.bottom))];
  return new DOMRect(left, top, right - left, bottom - top);
}

/** Whether an element has a box and is not hidden. Opacity does not matter. */
export function isVisible(element: Element): boolean {
  const hasArea = ({ width, height }: DOMRect) => width > 0 && height > 0;
  if (hasArea(own(element).getBoundingClientRect())) return own(element).checkVisibility({ visibilityProperty: true });
  // The box around the content includes visible elements only.
  return boxOf(element).width > 0;
}

/**
 * Scrolls an element into view, in all scroll containers and frames around it. If the element has no box, scrolls to the first box inside
 * it.
 */
export function scrollToBox(element: Element, block: ScrollLogicalPosition, inline: ScrollLogicalPosition): void {
  const hasOwnBox = own(element).getClientRects().length > 0;
  const boxed = hasOwnBox ? element : [...own(element).querySelectorAll('*')].find(isVisible);
  own(boxed ?? element).scrollIntoView({ block, inline, behavior: 'instant' });
}

/** A document that contains the element: either its own document, or one of a frame around that. */
export interface Level {
  readonly document: Document;
  readonly view: Window;
  /** The element, or the frame in this document that contains the element. */
  readonly target: Element;
}

/** Returns the documents that contain an element, its own document first. */
export function levelsOf(element: Element): readonly Level[] {
  const levels: Level[] = [];
  for (let target: Element | null = element; target !== null;) {
    const { ownerDocument }: Element = own(target);
    const view: Window | null = ownerDocument.defaultView;
    if (view === null) break;
    levels.push({ document: ownerDocument, view, target });
    target = view.frameElement;
  }
  return levels;
}

/**
 * Returns two things: the matrix from a frame's viewport to the viewport of the document that contains the frame, and the size of the
 * frame's viewport. 3D transforms are approximated by the scale of the frame's outer box.
 */
function frameMatrix(frame: Element): {
  readonly matrix: DOMMatrix;
  readonly width: number;
  readonly height: number;
} {
  const outer = own(frame).getBoundingClientRect();
  const { offsetWidth, offsetHeight, clientLeft, clientTop, clientWidth, clientHeight } = own(frame as HTMLElement);
  let turn = new DOMMatrix().scale(own(frame as Element & { currentCSSZoom: number }).currentCSSZoom);
  for (let at: Element | null = frame; at !== null; at = drawnParent(at)) {
    const { rotate, scale, transform } = getComputedStyle(at);
    const angle = /^[\d.e+-]+deg/.test(rotate) ? `rotate(${rotate})` : '';
    const factors = scale === 'none' ? '' : `scale(${scale.split(' ').slice(0, 2).join()})`;
    const { a, b, c, d } = new DOMMatrix(`${angle} ${factors} ${transform === 'none' ? '' : transform}`.trim());
    turn = new DOMMatrix([a, b, c, d, 0, 0]).multiply(turn);
  }
  const { a, b, c, d } = turn;
  const [width, height] = [
    Math.abs(a) * offsetWidth + Math.abs(c) * offsetHeight,
    Math.abs(b) * offsetWidth + Math.abs(d) * offsetHeight,
  ];
  // Sizes are compared with a tolerance, because box sizes are rounded.
  const isPlane =
    Math.abs(width - outer.width) < 0.02 * width + 1 && Math.abs(height - outer.height) < 0.02 * height + 1;
  if (!isPlane)
    turn = new DOMMatrix([outer.width / (offsetWidth || 1), 0, 0, outer.height / (offsetHeight || 1), 0, 0]);
  const { paddingLeft, paddingTop, paddingRight, paddingBottom } = getComputedStyle(frame);
  const [left = 0, top = 0, right = 0, bottom = 0] = [paddingLeft, paddingTop, paddingRight, paddingBottom].map(
    (padding) => Number.parseFloat(padding) || 0,
  );
  return {
    matrix: new DOMMatrix()
      .translate(outer.x + outer.width / 2, outer.y + outer.height / 2)
      .multiply(turn)
      .translate(clientLeft + left - offsetWidth / 2, clientTop + top - offsetHeight / 2),
    width: clientWidth - left - right,
    height: clientHeight - top - bottom,
  };
}

/** Converts a box in a frame's viewport to the bounding box in the viewport of the document that contains the frame. */
export function throughFrame(frame: Element, { left, right, top, bottom }: DOMRect): DOMRect {
  const { matrix } = frameMatrix(frame);
  const corners = [left, right].flatMap((x) => [top, bottom].map((y) => matrix.transformPoint({ x, y })));
  const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return new DOMRect(x, y, Math.max(...xs) - x, Math.max(...ys) - y);
}

/** Returns the box of an element in the viewport of each level, clipped to the frames around it. */
export function boxesAtLevels(element: Element, levels: readonly Level[]): readonly DOMRect[] {
  const boxes = [boxOf(element)];
  for (const { target: frame } of levels.slice(1)) {
    const inner = boxes.at(-1) as DOMRect;
    const { width, height } = frameMatrix(frame);
    const [left, top] = [Math.max(inner.left, 0), Math.max(inner.top, 0)];
    const [right, bottom] = [Math.min(inner.right, width), Math.min(inner.bottom, height)];
    boxes.push(throughFrame(frame, new DOMRect(left, top, Math.max(0, right - left), Math.max(0, bottom - top))));
  }
  return boxes;
}

/** Returns the elements at a point of a document's viewport, topmost first, including those in open shadow roots. */
export function hitsAt(root: Root, x: number, y: number): readonly Element[] {
  return root
    .elementsFromPoint(x, y)
    .filter((hit) => own(hit).getRootNode() === root)
    .flatMap((hit) => {
      const { shadowRoot } = own(hit);
      return shadowRoot ? [...hitsAt(shadowRoot, x, y), hit] : [hit];
    });
}

/** Functions of this file that must be sent to the page with every function that measures elements in frames and shadow roots. */
export const boxing = [
  boxOf,
  isVisible,
  scrollToBox,
  levelsOf,
  frameMatrix,
  throughFrame,
  boxesAtLevels,
  hitsAt,
] as const;
