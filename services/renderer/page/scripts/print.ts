/// <reference lib="dom" />
import type { scriptsHaveEnded as ScriptsHaveEnded } from './activity.ts';
import type { cssMayUse as CssMayUse } from './styles.ts';
import type { everyElement as EveryElement } from './tree.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;

/** Functions that the caller sends to the page together with the functions of this file. */
declare const everyElement: typeof EveryElement;
declare const scriptsHaveEnded: typeof ScriptsHaveEnded;
declare const cssMayUse: typeof CssMayUse;

/**
 * Whether the page cannot react to a new layout, to scrolling or to coming into view. Its scripts, if any, must have ended. It must have no
 * frames, no images that depend on its size, and no parts that are rendered only in view. Such a page needs no preparation for printing.
 */
export function isInert(): boolean {
  if (!scriptsHaveEnded()) {
    if (document.scripts.length > 0 || document.querySelector('canvas') !== null) return false;
    // Detects scripts that have removed themselves from the document.
    const wasScripted = performance
      .getEntriesByType('resource')
      .some((entry) => (entry as PerformanceResourceTiming).initiatorType === 'script');
    if (wasScripted) return false;
  }
  const reacting = 'iframe, frame, object, embed, picture, img[srcset], img[sizes], video, audio, animate, set';
  if (document.querySelector(reacting) !== null) return false;
  const handlers = new XPathEvaluator().evaluate('//@*[starts-with(local-name(), "on")]', document, null, 9);
  const hasHandler = handlers.singleNodeValue !== null;
  return !hasHandler && !cssMayUse(['content-visibility', 'animation', 'transition', '@container'], 'details');
}

/**
 * Overrides the page's rules for paper size and margins. For a single page, also overrides its rules for page breaks. The sheet is
 * constructed: such sheets come after all others, and the page's content security policy does not apply to them.
 *
 * @param margin in millimeters; null to keep the margins of the page's rules
 * @param keepsPageSize whether the paper size of the page's rules applies
 */
export function usePaperAskedFor(
  margin: Readonly<Record<'top' | 'right' | 'bottom' | 'left', number>> | null,
  isSinglePage: boolean,
  keepsPageSize: boolean,
): void {
  const size = keepsPageSize ? '' : 'size: auto !important;';
  const margins = margin && `margin: ${margin.top}mm ${margin.right}mm ${margin.bottom}mm ${margin.left}mm !important`;
  const rules = [`@page { ${size} ${margins ?? ''} }`];
  if (isSinglePage) {
    // Elements with different `page` values would be printed on separate pages.
    rules.push(
      '*, ::before, ::after { break-before: auto !important; break-after: auto !important; page: auto !important }',
    );
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules.join('\n'));
  document.adoptedStyleSheets.push(sheet);
}

/**
 * Keeps the dark color scheme of a page that supports it. When Chromium prints, it uses the light scheme for `color-scheme` and
 * `light-dark()`, even if `prefers-color-scheme` matches dark.
 */
export function keepDarkScheme(): void {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="color-scheme" i]');
  const supported = `${getComputedStyle(document.documentElement).colorScheme} ${meta?.content ?? ''}`;
  if (!/\bdark\b/.test(supported)) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(':root { color-scheme: dark !important }');
  document.adoptedStyleSheets.push(sheet);
}

/** Returns the texts of the headings of the page. */
export function readHeadings(): string[] {
  return everyElement(Number.POSITIVE_INFINITY)
    .filter((element) => own(element).matches('h1, h2, h3, h4, h5, h6, [role="heading"]'))
    .map((element) => ((element as HTMLElement).innerText ?? '').replaceAll(/\s+/g, ' ').trim());
}

/**
 * Makes every WebGL canvas keep its drawing. Otherwise the canvas is cleared after it was shown, and is blank on paper. The source of this
 * function runs in the page before the page's scripts.
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
