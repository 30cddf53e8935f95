/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { cssMayUse as CssMayUse } from './styles.ts';
import type { everyElement as EveryElement } from './tree.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const cssMayUse: typeof CssMayUse;
declare const everyElement: typeof EveryElement;

/** Tolerance for rounding, in CSS pixels. */
function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= 2;
}

/** Returns the heights of `::before` and `::after` if they are fixed to the viewport; otherwise NaN. */
function fixedPseudoHeights(element: Element): readonly number[] {
  return ['::before', '::after'].map((pseudo) => {
    const { content, position, height } = getComputedStyle(element, pseudo);
    return position === 'fixed' && content !== 'none' && content !== 'normal' ? Number.parseFloat(height) : Number.NaN;
  });
}

/** Records the positions and heights of fixed boxes while the viewport is tall, for {@link placeFixed}. */
export function noteFixed(): void {
  const boxes = new Map<Element, { readonly top: number; readonly height: number }>();
  const pseudoHeights = new Map<Element, readonly number[]>();
  for (const element of cssMayUse(['fixed'], 'dialog, [popover]') ? everyElement() : []) {
    if (getComputedStyle(element).position === 'fixed') {
      const { top, height } = own(element).getBoundingClientRect();
      boxes.set(element, { top, height });
    }
    const heights = fixedPseudoHeights(element);
    if (heights.some((height) => !Number.isNaN(height))) pseudoHeights.set(element, heights);
  }
  pageState.webcaptureFixed = { viewHeight: innerHeight, boxes, pseudoHeights };
}

/** Returns properties that extend the background of a box downwards by a number of CSS pixels without moving its contents. */
function continuedBackground(style: CSSStyleDeclaration, by: number): Readonly<Record<string, string>> {
  const { backgroundImage, backgroundRepeat } = style;
  // The border extends the box without affecting the layout of its contents. An image is repeated with each viewport height, as a visitor
  // sees it. A gradient is stretched.
  const hasImage = backgroundImage.includes('url(');
  const repeatedDown = backgroundRepeat.replaceAll('no-repeat', 'repeat-y').replaceAll('repeat-x', 'repeat');
  return {
    'border-bottom': `${by}px solid transparent`,
    'border-image': 'none',
    'border-bottom-left-radius': '0',
    'border-bottom-right-radius': '0',
    'background-clip': 'border-box',
    'background-attachment': 'scroll',
    'background-origin': hasImage ? 'padding-box' : 'border-box',
    ...(hasImage ? { 'background-repeat': repeatedDown } : {}),
    transition: 'none',
  };
}

export function setImportant(element: Element, properties: Readonly<Record<string, string>>): void {
  if (!(own(element as HTMLElement).style instanceof CSSStyleDeclaration)) return;
  for (const [name, value] of Object.entries(properties))
    own(element as HTMLElement).style.setProperty(name, value, 'important');
}

/**
 * Returns properties that extend the color of a box downwards by a number of CSS pixels. They set shadows, which do not change the size of
 * the box. Scripts of the page may copy that size to other elements.
 */
function continuedColor(style: CSSStyleDeclaration, height: number, by: number): Readonly<Record<string, string>> {
  const copies = Array.from(
    { length: Math.ceil(by / height) },
    (_, index) => `0 ${Math.min((index + 1) * height, by)}px ${style.backgroundColor}`,
  );
  return {
    'box-shadow': [...copies, ...(style.boxShadow === 'none' ? [] : [style.boxShadow])].join(', '),
    'border-bottom-color': 'transparent',
    'border-bottom-left-radius': '0',
    'border-bottom-right-radius': '0',
    'background-clip': 'border-box',
    transition: 'none',
  };
}

/** Moves a fixed box to a position in CSS pixels from the top of the page. */
export function putAt(element: Element, top: number): void {
  setImportant(element, { transition: 'none', bottom: 'auto', top: '0px' });
  const { top: now } = own(element).getBoundingClientRect();
  setImportant(element, { top: `${top - now}px` });
}

/**
 * Keeps the heights of boxes around a background that becomes taller than they are. What they place at their lower edge stays where it is.
 */
function keepHeights(layers: readonly Element[]): void {
  for (const layer of layers) setImportant(layer, { height: getComputedStyle(layer).height, overflow: 'visible' });
}

/** Whether an element is as large as its parent, with or without the padding. */
function fillsParent(element: Element): boolean {
  const parent = own(element).parentElement as Element;
  const { width, height } = own(element).getBoundingClientRect();
  const { clientWidth, clientHeight } = own(parent);
  const { paddingTop, paddingRight, paddingBottom, paddingLeft } = getComputedStyle(parent);
  const [besides, aboveAndBelow] = [
    Number.parseFloat(paddingLeft) + Number.parseFloat(paddingRight),
    Number.parseFloat(paddingTop) + Number.parseFloat(paddingBottom),
  ];
  return (
    (isNear(width, clientWidth) && isNear(height, clientHeight)) ||
    (isNear(width, clientWidth - besides) && isNear(height, clientHeight - aboveAndBelow))
  );
}

/** Extends the background of a box as tall as the viewport to the end of the page. */
function reachDown(element: Element, by: number): void {
  const { top } = own(element).getBoundingClientRect();
  const isPicture = (at: Element) => ['img', 'video', 'canvas'].includes(own(at).localName);
  const isPainted = (at: Element) => {
    const { backgroundColor, backgroundImage } = getComputedStyle(at);
    return backgroundColor !== 'rgba(0, 0, 0, 0)' || backgroundImage !== 'none';
  };
  /** The box and the boxes that fill it, from the outside to the inside. The last one has the background or is a picture. */
  const layers: Element[] = [];
  for (let at: Element | undefined = element; at !== undefined;) {
    layers.push(at);
    if (isPainted(at) || isPicture(at)) break;
    at = [...own(at).children].find(fillsParent);
  }
  const painted = layers.at(-1) as Element;
  if (!isPainted(painted) && !isPicture(painted)) return;
  const { width, height } = own(painted).getBoundingClientRect();
  if (isPicture(painted)) {
    // A picture that does not cover the viewport is content, not a background.
    if (width < innerWidth - 2) return;
    keepHeights(layers.slice(0, -1));
    setImportant(painted, { height: `${height + by}px`, 'max-height': 'none', bottom: 'auto' });
    putAt(element, top);
    return;
  }
  keepHeights(layers.slice(0, -1));
  const style = getComputedStyle(painted);
  const inner = (size: number, ...around: string[]) =>
    `${around.reduce((left, value) => left - Number.parseFloat(value), size)}px`;
  setImportant(painted, {
    width: inner(own(painted).clientWidth, style.paddingLeft, style.paddingRight),
    height: inner(own(painted).clientHeight, style.paddingTop, style.paddingBottom),
    'min-height': '0',
    'max-height': 'none',
    'max-width': 'none',
    'box-sizing': 'content-box',
    flex: 'none',
    ...(style.backgroundImage === 'none'
      ? continuedColor(style, height, by)
      : continuedBackground(style, by + Number.parseFloat(style.borderBottomWidth))),
  });
  putAt(element, top);
}

/**
 * Does the same as {@link reachDown} for pseudo-elements. They have no `style` property, so rules of a style sheet select their elements by
 * an attribute.
 */
function reachDownPseudos(pseudoHeights: ReadonlyMap<Element, readonly number[]>, grown: number, by: number): void {
  const mark = 'data-webcapture-fixed';
  let marked = 0;
  for (const [element, heights] of pseudoHeights) {
    const now = fixedPseudoHeights(element);
    ['::before', '::after'].forEach((pseudo, index) => {
      const height = now[index] ?? Number.NaN;
      if (!isNear((heights[index] ?? Number.NaN) - height, grown)) return;
      const root = own(element).getRootNode() as Document | ShadowRoot;
      const rules = {
        'box-sizing': 'content-box',
        height: `${height}px`,
        bottom: 'auto',
        ...continuedBackground(getComputedStyle(element, pseudo), by),
      };
      if (!own(element).hasAttribute(mark)) own(element).setAttribute(mark, `${marked++}`);
      const selector = `[${mark}="${own(element).getAttribute(mark)}"]`;
      const text = Object.entries(rules).map(([name, value]) => `${name}: ${value} !important;`);
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(`${selector}${selector}${pseudo} { ${text.join('')} }`);
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    });
  }
}

/** Moves a page background that is attached to the viewport into a box of ours. Otherwise its size would follow the viewport. */
function reachDownCanvas(by: number): void {
  const { body, documentElement: root } = document;
  const hasImage = (element: Element | null) =>
    element !== null && getComputedStyle(element).backgroundImage !== 'none';
  const source = hasImage(root) ? root : hasImage(body) ? body : null;
  if (source === null || !getComputedStyle(source).backgroundAttachment.includes('fixed')) return;
  const style = getComputedStyle(source);
  const layer = document.createElement('div');
  setImportant(layer, {
    all: 'initial',
    position: 'absolute',
    top: '0px',
    left: '0px',
    width: `${own(root).clientWidth}px`,
    height: `${innerHeight}px`,
    'z-index': '-2147483648',
    'background-image': style.backgroundImage,
    'background-position': style.backgroundPosition,
    'background-size': style.backgroundSize,
    'background-blend-mode': style.backgroundBlendMode,
    ...continuedBackground(style, by),
  });
  setImportant(source, { 'background-image': 'none' });
  own(root).append(layer);
}

/** Attaches a fixed background to its element instead of the viewport, and puts a sticky box at its place in the page. */
function placeInFlow(element: Element): void {
  const scrollsPage = (at: Element) => pageState.webcaptureScroller?.panes.some((pane) => pane.element === at) === true;
  const { backgroundAttachment, position, bottom } = getComputedStyle(element);
  if (backgroundAttachment.includes('fixed')) setImportant(element, { 'background-attachment': 'scroll' });
  if (position !== 'sticky' || bottom === 'auto') return;
  for (let at = own(element).parentElement; at !== null; at = own(at).parentElement) {
    if (at === document.body || at === document.documentElement || scrollsPage(at)) break;
    // Inside a scroll container, a sticky box stays where a visitor sees it.
    if (!['visible', 'clip'].includes(getComputedStyle(at).overflowY)) return;
  }
  setImportant(element, { position: 'relative', inset: 'auto' });
}

/** Functions of this file that must be sent to the page together with {@link placeFixed} or {@link noteFixed}. */
export const fixedHelpers = [
  isNear,
  fixedPseudoHeights,
  continuedBackground,
  continuedColor,
  setImportant,
  putAt,
  keepHeights,
  fillsParent,
  reachDown,
  reachDownPseudos,
  reachDownCanvas,
  placeInFlow,
] as const;

/**
 * Places fixed boxes in the full-page picture, depending on what they did in the tall viewport. A box that became taller with the viewport
 * is a background or a sidebar: its background extends to the end of the page, and its contents stay in the first viewport. A box that kept
 * its distance to the lower edge moves to the end of the page. All other boxes stay in the first viewport.
 *
 * @param pageHeight in CSS pixels
 */
export function placeFixed(pageHeight: number): void {
  const noted = pageState.webcaptureFixed;
  const by = pageHeight - innerHeight;
  if (noted === undefined || by <= 0 || !cssMayUse(['fixed', 'sticky'], 'dialog, [popover]')) return;
  const panes = pageState.webcaptureScroller?.panes ?? [];
  const holdsPage = (element: Element) =>
    panes.some((pane) => own(element).contains(pane.element) || own(pane.element).contains(element));
  const grown = noted.viewHeight - innerHeight;
  reachDownCanvas(by);
  for (const element of everyElement()) {
    if (getComputedStyle(element).position !== 'fixed') {
      placeInFlow(element);
      continue;
    }
    if (holdsPage(element)) continue;
    const tall = noted.boxes.get(element);
    const { top, height } = own(element).getBoundingClientRect();
    const follows = (before: number, after: number) => grown > 0 && isNear(after - before, grown);
    if (tall !== undefined && height > 0 && follows(height, tall.height)) reachDown(element, by);
    else if (tall !== undefined && follows(top, tall.top)) putAt(element, top + by);
    // A box below the viewport has not appeared yet.
    else if (top >= innerHeight) setImportant(element, { visibility: 'hidden' });
  }
  reachDownPseudos(noted.pseudoHeights, grown, by);
  pageState.webcaptureMotion?.observer.takeRecords();
}
