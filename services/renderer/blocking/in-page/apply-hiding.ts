/// <reference lib="dom" />

/** On the global object of our own world in the page: what was adopted before. */
interface HidingWorld {
  webcaptureSheets?: Map<string, CSSStyleSheet>;
}

/**
 * Adopts style sheets by name, each instead of its predecessor, and removes what is left of blocked images. (The page's
 * content security policy applies to style elements, not to constructed sheets.)
 *
 * @param images addresses of blocked images
 * @returns how many visible boxes each sheet removed
 */
export function applyHiding(
  styles: Readonly<Record<string, string>>,
  images: readonly string[],
): Record<string, number> {
  const adopted = ((globalThis as HidingWorld).webcaptureSheets ??= new Map());
  const removed: Record<string, number> = {};

  const hide = (element: Element) => {
    if ('style' in element) (element as HTMLElement).style.setProperty('display', 'none', 'important');
  };

  /** One selector that the browser does not understand voids the whole list that it stands in, or even what follows. */
  const parse = (text: string): CSSStyleSheet => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    if (sheet.cssRules.length === text.split('{').length - 1) return sheet;
    sheet.replaceSync('');
    for (const [, selectors = '', style = ''] of text.matchAll(/([^{}]+)\{([^}]*)\}/g)) {
      for (const selector of selectors.split(',\n')) {
        try {
          sheet.insertRule(`${selector} {${style}}`, sheet.cssRules.length);
        } catch {
          // The others are of use without it.
        }
      }
    }
    return sheet;
  };

  for (const [name, text] of Object.entries(styles)) {
    const sheet = parse(text);
    const boxes = [...sheet.cssRules]
      .filter((rule) => rule instanceof CSSStyleRule && rule.style.display === 'none')
      .flatMap((rule) => [...document.querySelectorAll((rule as CSSStyleRule).selectorText)])
      .filter((element) => element.checkVisibility());
    const previous = adopted.get(name);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets.filter((other) => other !== previous), sheet];
    adopted.set(name, sheet);
    // A style attribute with !important outranks every sheet.
    for (const element of boxes) if (element.checkVisibility()) hide(element);
    removed[name] = boxes.length;
  }

  if (images.length > 0) {
    const blocked = new Set(images);
    for (const image of document.images) if (blocked.has(image.currentSrc || image.src)) hide(image);
  }
  return removed;
}
