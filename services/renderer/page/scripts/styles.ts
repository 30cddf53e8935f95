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
 * style of each element. Returns true if this is unknown because of sheets of other origins, shadow roots, or too many rules.
 *
 * @param words texts in a rule or a `style` attribute with that effect, in lower case
 * @param attributes selectors of elements that other attributes style in that way
 */
export function cssMayUse(words: readonly string[], ...attributes: readonly string[]): boolean {
  /** Maximum number of rules. Reading more takes as long as it saves. */
  const maxRules = 400;
  if (pageState.webcaptureHasAddedStyle === true) return true;
  const inline = words.map((word) => `[style*="${word}" i]`);
  if (document.querySelector([...attributes, ...inline].join()) !== null) return true;
  let rules = 0;
  const says = (sheet: CSSStyleSheet | null): boolean => {
    // The rule imports a sheet that did not load.
    if (sheet === null) return true;
    for (const rule of sheet.cssRules) {
      rules += 1;
      if (rules > maxRules) return true;
      // The URL belongs to a font and not to an image.
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
    // The sheet is of another origin, so its rules cannot be read.
    return true;
  }
  // The sheets of a shadow root style its host too. A custom element may have a closed shadow root.
  for (const element of document.querySelectorAll('*')) {
    if (own(element).shadowRoot !== null || own(element).localName.includes('-')) return true;
  }
  return false;
}
