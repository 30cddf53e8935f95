/// <reference lib="dom" />

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
