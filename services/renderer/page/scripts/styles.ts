/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/** Tells {@link mayStyle} that there is a style sheet which the page's own list does not name. */
export function noteAddedStyle(): void {
  pageState.webcaptureHasAddedStyle = true;
}

/**
 * Whether anything may style elements of the document in a certain way. What styles them is read, which takes far less time than
 * asking each element how it looks. True where that cannot be told: sheets of other origins, shadow trees, many rules.
 *
 * @param words parts of a rule or of a `style` attribute that do it; in lower case
 * @param attributes selectors of elements that are styled so by another attribute
 */
export function mayStyle(words: readonly string[], ...attributes: readonly string[]): boolean {
  /** Reading more of them takes as long as what it saves. */
  const maxRules = 400;
  if (pageState.webcaptureHasAddedStyle === true) return true;
  const inline = words.map((word) => `[style*="${word}" i]`);
  if (document.querySelector([...attributes, ...inline].join()) !== null) return true;
  let rules = 0;
  const says = (sheet: CSSStyleSheet | null): boolean => {
    // One that an import names and that is not there.
    if (sheet === null) return true;
    for (const rule of sheet.cssRules) {
      rules += 1;
      if (rules > maxRules) return true;
      // Its address is that of a font.
      if (rule instanceof CSSFontFaceRule) continue;
      if (rule instanceof CSSImportRule) {
        if (says(rule.styleSheet)) return true;
        continue;
      }
      const text = rule.cssText.toLowerCase();
      if (words.some((word) => text.includes(word))) return true;
    }
    return false;
  };
  try {
    if (document.getAnimations().length > 0) return true;
    if ([...document.styleSheets, ...document.adoptedStyleSheets].some(says)) return true;
  } catch {
    // A sheet of another origin.
    return true;
  }
  // The sheets of a shadow tree style its host too, and a custom element may have one that cannot be seen.
  for (const element of document.querySelectorAll('*')) {
    if (own(element).shadowRoot !== null || own(element).localName.includes('-')) return true;
  }
  return false;
}
