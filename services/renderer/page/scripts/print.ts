/// <reference lib="dom" />
/**
 * Overrules what the page's own rules say of paper and margins and, for a single page, of page breaks. A constructed
 * style sheet comes after all others, and no policy of the page forbids it.
 *
 * @param margin in millimetres
 */
export function usePaperAskedFor(
  margin: Readonly<Record<'top' | 'right' | 'bottom' | 'left', number>>,
  isSinglePage: boolean,
): void {
  const { top, right, bottom, left } = margin;
  const rules = [`@page { size: auto !important; margin: ${top}mm ${right}mm ${bottom}mm ${left}mm !important }`];
  if (isSinglePage) {
    // Two parts of which one asks for a kind of page of its own are on two pages.
    rules.push(
      '*, ::before, ::after { break-before: auto !important; break-after: auto !important; page: auto !important }',
    );
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules.join('\n'));
  document.adoptedStyleSheets.push(sheet);
}

/**
 * Makes every WebGL canvas keep what it has drawn: else it is empty once it has been shown, and blank on paper. Its
 * source runs in the page before its own scripts.
 */
export function keepDrawings(): void {
  for (const { prototype } of [HTMLCanvasElement, OffscreenCanvas]) {
    prototype.getContext = new Proxy(prototype.getContext, {
      apply: (getContext, canvas, [kind, attributes]: [unknown, object?]) =>
        Reflect.apply<unknown, unknown[], unknown>(
          getContext as never,
          canvas,
          /webgl/.test(String(kind)) ? [kind, { ...attributes, preserveDrawingBuffer: true }] : [kind, attributes],
        ),
    });
  }
}
