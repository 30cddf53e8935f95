/// <reference lib="dom" />
import type { finishAnimations as FinishAnimations } from './animations.ts';
import type { PageState, RememberedPseudo, RememberedSize } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/** A helper of the call of {@link rememberSizes}. */
declare const finishAnimations: typeof FinishAnimations;

/**
 * Settles the media queries that ask for the height or the shape of the viewport as they are now: the page is about to
 * be laid out in a much taller one, and is not to take itself for a phone. Stylesheets of other origins stay as they are,
 * for their rules cannot be reached.
 */
export function freezeMediaQueries(): void {
  const asksForHeight = /height|orientation|aspect-ratio/;
  const freeze = (media: MediaList) => {
    if (asksForHeight.test(media.mediaText)) media.mediaText = matchMedia(media.mediaText).matches ? 'all' : 'not all';
  };
  const visit = (rules: CSSRuleList): void => {
    for (const rule of rules) {
      if (rule instanceof CSSMediaRule || rule instanceof CSSImportRule) freeze(rule.media);
      if ('cssRules' in rule) visit(rule.cssRules as CSSRuleList);
      if (rule instanceof CSSImportRule && rule.styleSheet) visitSheet(rule.styleSheet);
    }
  };
  const visitSheet = (sheet: CSSStyleSheet): void => {
    try {
      freeze(sheet.media);
      visit(sheet.cssRules);
    } catch {
      // Of another origin.
    }
  };
  for (const sheet of [...document.styleSheets, ...document.adoptedStyleSheets]) visitSheet(sheet);
}

/**
 * Remembers the sizes that may depend on the height of the viewport, for {@link pinSizes} once that has grown; in open
 * shadow trees too. Not of what is fixed to the viewport: a fixed background is to cover the whole picture. Where a
 * scroller holds the page, only of what is inside of it: what stands around it grows with it.
 *
 * Backgrounds that are attached to the viewport are drawn in their own element from now on, where that is no taller than
 * the viewport: they would be stretched with it.
 */
export function rememberSizes(properties: readonly string[]): void {
  /** Looking at more would take seconds. */
  const maxElements = 20_000;
  const state = pageState;
  const fixed = new Set<Element>();
  const holding = new Set<Element>(state.webcaptureFixed?.map(({ element }) => element));
  const elements: RememberedSize[] = [];
  const pseudos: RememberedPseudo[] = [];
  const attached: HTMLElement[] = [];
  // On its way to another size, nothing tells what it depends on. In this call, as an observer of the page that is called
  // just before may have set a class whose transition has only begun.
  finishAnimations();

  /** Asking for a value takes time. */
  const applies = (property: string, display: string): boolean => {
    if (property.startsWith('grid')) return display.endsWith('grid');
    return display !== 'inline' || property === 'font-size';
  };

  const visit = (root: ParentNode): void => {
    const all = own(root).querySelectorAll<HTMLElement>('*');
    for (let index = 0; index < all.length && elements.length < maxElements; index += 1) {
      const element = all[index];
      if (element === undefined || !(own(element).style instanceof CSSStyleDeclaration)) continue;
      const style = getComputedStyle(element);
      const { parentElement: parent, shadowRoot } = own(element);
      if ((parent !== null && fixed.has(parent)) || style.position === 'fixed') {
        // What stands in a box that holds something is not to grow with it.
        if (!holding.has(element)) fixed.add(element);
        continue;
      }
      if (shadowRoot) visit(shadowRoot);
      const inline = style.display === 'inline';
      const { height } = own(element).getBoundingClientRect();
      if (style.backgroundAttachment.includes('fixed') && height <= innerHeight + 1) attached.push(element);
      const computed = own(element).computedStyleMap();
      elements.push({
        element,
        height,
        classes: own(element).className,
        values: properties.map((property) =>
          applies(property, style.display) ? (computed.get(property)?.toString() ?? '') : '',
        ),
      });
      if (inline) continue;
      for (const pseudo of ['before', 'after'] as const) {
        const its = getComputedStyle(element, `::${pseudo}`);
        if (its.content === 'none' || its.content === 'normal' || its.position === 'fixed') continue;
        pseudos.push({ element, pseudo, values: properties.map((property) => its.getPropertyValue(property)) });
      }
    }
  };
  visit(state.webcaptureScroller?.element ?? document);
  for (const element of attached) {
    // The backgrounds of these two are those of the whole page.
    if (element === document.documentElement || element === document.body) continue;
    own(element).style.setProperty('background-attachment', 'scroll', 'important');
  }
  state.webcaptureMotion?.observer.takeRecords();
  state.webcaptureSizes = { viewHeight: innerHeight, elements, pseudos };
}

/**
 * Gives the sizes that followed the height of the viewport (`100vh`, a share of the root's height, a script that copies
 * `innerHeight`) their value from before it grew, in px.
 *
 * @param properties those that were remembered
 * @returns how many elements were changed
 */
export function pinSizes(properties: readonly string[]): number {
  const state = pageState;
  const sizes = state.webcaptureSizes;
  if (sizes === undefined || sizes.viewHeight === innerHeight) return 0;
  const { viewHeight, elements } = sizes;
  const grown = innerHeight - viewHeight;
  const shapeOf = (value: string) => value.replaceAll(/-?[\d.]+px/g, '#');
  /** In step with the viewport, as `50vh` is, or by as much, as `calc(100vh - 10px)` is. */
  const follows = (before: string, after: string) => {
    const [from, to] = [Number.parseFloat(before), Number.parseFloat(after)];
    return Math.abs(to - from - grown) <= 1 || Math.abs(to / from / (innerHeight / viewHeight) - 1) < 0.02;
  };
  const toggled = new Set(
    elements.filter(({ element, classes }) => own(element).className !== classes).map(({ element }) => element),
  );
  const isToggled = (element: HTMLElement) => {
    if (toggled.size === 0) return false;
    let at: HTMLElement | null = element;
    while (at !== null && !toggled.has(at)) at = own(at).parentElement;
    return at !== null;
  };
  const pins: { element: HTMLElement; property: string; value: string }[] = [];

  // All are read before one is changed: each change would have the page laid out again.
  for (const { element, height, values } of elements) {
    if (!own(element).isConnected) continue;
    const computed = own(element).computedStyleMap();
    properties.forEach((property, index) => {
      const before = values[index] ?? '';
      if (!before.includes('px')) return;
      const after = computed.get(property)?.toString() ?? '';
      if (before === after || shapeOf(before) !== shapeOf(after)) return;
      // Scripts change sizes for other reasons too: a grid grows as its images come in, a part unfolds when it is seen.
      const scripted = own(element).style.getPropertyValue(property) === after || isToggled(element);
      if (!scripted || follows(before, after)) pins.push({ element, property, value: before });
    });
    // Heights that are a share of the root's, or stretched, are not seen in computed values.
    const stretched = Math.abs(height - viewHeight) <= 1;
    if (stretched && Math.abs(own(element).getBoundingClientRect().height - innerHeight) <= 1) {
      pins.push({ element, property: 'height', value: `${height}px` });
    }
  }
  for (const { element, property, value } of pins) own(element).style.setProperty(property, value, 'important');
  state.webcaptureMotion?.observer.takeRecords();
  return new Set(pins.map(({ element }) => element)).size;
}

/**
 * Does for `::before` and `::after` what {@link pinSizes} does for elements. They have no style of their own to set: a
 * stylesheet names their elements by a mark.
 *
 * @param properties those that were remembered
 * @returns how many pseudo-elements were changed
 */
export function pinPseudos(properties: readonly string[]): number {
  const sizes = pageState.webcaptureSizes;
  if (sizes === undefined || sizes.viewHeight === innerHeight) return 0;
  const mark = 'data-webcapture-pinned';
  const { viewHeight, pseudos } = sizes;
  const grown = innerHeight - viewHeight;
  const pins: { element: HTMLElement; pseudo: string; rules: string[] }[] = [];

  for (const { element, pseudo, values } of pseudos) {
    const style = getComputedStyle(element, `::${pseudo}`);
    const rules: string[] = [];
    properties.forEach((property, index) => {
      const before = Number.parseFloat(values[index] ?? '');
      const after = Number.parseFloat(style.getPropertyValue(property));
      // Used values change with everything around them: only what changed just as the viewport did followed it.
      const asMuch = Math.abs(after - before - grown) <= 1;
      const inStep = before > 0 && Math.abs(after / before / (innerHeight / viewHeight) - 1) < 0.02;
      if (asMuch || inStep) rules.push(`${property}: ${before}px !important;`);
    });
    const height = Number.parseFloat(values[properties.indexOf('height')] ?? '');
    if (style.backgroundAttachment.includes('fixed') && height <= viewHeight + 1) {
      rules.push('background-attachment: scroll !important;');
    }
    if (rules.length > 0) pins.push({ element, pseudo, rules });
  }

  const sheets = new Map<Document | ShadowRoot, CSSStyleSheet>();
  pins.forEach(({ element, pseudo, rules }) => {
    const root = own(element).getRootNode();
    if (!(root instanceof Document || root instanceof ShadowRoot)) return;
    let sheet = sheets.get(root);
    if (sheet === undefined) {
      sheet = new CSSStyleSheet();
      sheets.set(root, sheet);
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    }
    if (!own(element).hasAttribute(mark))
      own(element).setAttribute(mark, `${pseudos.findIndex((one) => one.element === element)}`);
    const selector = `[${mark}="${own(element).getAttribute(mark)}"]`;
    sheet.insertRule(`${selector}${selector}::${pseudo} { ${rules.join(' ')} }`);
  });
  pageState.webcaptureMotion?.observer.takeRecords();
  return pins.length;
}
