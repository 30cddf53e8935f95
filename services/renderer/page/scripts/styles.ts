/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/** Informs {@link cssMayUse} of a style sheet that is not in the document's lists. */
export function noteAddedStyle(): void {
  pageState.webcaptureHasAddedStyle = true;
}

/**
 * Whether any rule may style elements of the document in a certain way. Reads the rules, which is much faster than reading the computed
 * style of each element. Returns true if unknown: sheets of other origins, shadow roots, many rules.
 *
 * @param words texts in a rule or a `style` attribute with that effect, in lower case
 * @param attributes selectors of elements that other attributes style in that way
 */
export function cssMayUse(words: readonly string[], ...attributes: readonly string[]): boolean {
  /** Reading more rules takes as long as it saves. */
  const maxRules = 400;
  if (pageState.webcaptureHasAddedStyle === true) return true;
  const inline = words.map((word) => `[style*="${word}" i]`);
  if (document.querySelector([...attributes, ...inline].join()) !== null) return true;
  let rules = 0;
  const says = (sheet: CSSStyleSheet | null): boolean => {
    // An imported sheet that did not load.
    if (sheet === null) return true;
    for (const rule of sheet.cssRules) {
      rules += 1;
      if (rules > maxRules) return true;
      // Its URL belongs to a font.
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
  // The sheets of a shadow root style its host too, and a custom element may have a closed one.
  for (const element of document.querySelectorAll('*')) {
    if (own(element).shadowRoot !== null || own(element).localName.includes('-')) return true;
  }
  return false;
}
