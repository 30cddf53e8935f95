/// <reference lib="dom" />
import type { ConsentWorld } from './consent.ts';
import type { own as Own } from '../../page/scripts/own.ts';

declare const own: typeof Own;

/** Keys for the lookup of rules that hide elements. */
export interface PageFeatures {
  readonly url: string;
  readonly classes: string[];
  readonly ids: string[];
  /** Values of the `href` attributes of links. */
  readonly hrefs: string[];
  /** Selectors of the consent dialogs that autoconsent knows; empty if autoconsent does not run. */
  readonly dialogs: string[];
}

export function collectFeatures(): PageFeatures {
  const maxFeatures = 20_000;
  const classes = new Set<string>();
  const ids = new Set<string>();
  const hrefs = new Set<string>();
  for (const element of document.querySelectorAll('[class], [id], a[href]')) {
    if (classes.size + ids.size + hrefs.size > maxFeatures) break;
    for (const name of own(element).classList) classes.add(name);
    if (own(element).id) ids.add(own(element).id);
    const href = own(element).getAttribute('href');
    if (href && own(element).localName === 'a') hrefs.add(href);
  }
  // If the consent scripts do not run, an element with this id may define the name.
  const dialogs = Object.hasOwn(globalThis, 'webcaptureConsent')
    ? ((globalThis as ConsentWorld).webcaptureConsent?.selectors() ?? [])
    : [];
  return { url: location.href, classes: [...classes], ids: [...ids], hrefs: [...hrefs], dialogs };
}

/**
 * The global object of the isolated world in the page. It holds the adopted sheets under a symbol, which the id of an element cannot
 * define.
 */
interface HidingWorld {
  [sheets: symbol]: Map<string, CSSStyleSheet> | undefined;
}

/**
 * Adopts style sheets by name, replacing earlier ones of the same name, and removes the boxes of blocked images. Constructed sheets are
 * used because the page's content security policy applies to style elements.
 *
 * @param images addresses of blocked images
 * @returns the number of visible boxes that each sheet removed
 */
export function applyHiding(
  styles: Readonly<Record<string, string>>,
  images: readonly string[],
): Record<string, number> {
  const adopted = ((globalThis as HidingWorld)[Symbol.for('webcapture.sheets')] ??= new Map<string, CSSStyleSheet>());
  const removed: Record<string, number> = {};

  const hide = (element: Element) => {
    if ('style' in element) own(element as HTMLElement).style.setProperty('display', 'none', 'important');
  };

  /**
   * Parses a style sheet. If the browser does not support one selector, it drops the whole list of selectors, or even the rules after it.
   * In this case each selector is parsed separately.
   */
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
          // The browser does not support this selector. The other selectors are valid without it.
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
      .filter((element) => own(element).checkVisibility());
    const previous = adopted.get(name);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets.filter((other) => other !== previous), sheet];
    adopted.set(name, sheet);
    // A style attribute with !important overrides every sheet.
    for (const element of boxes) if (own(element).checkVisibility()) hide(element);
    removed[name] = boxes.length;
  }

  if (images.length > 0) {
    const blocked = new Set(images);
    for (const image of document.images) if (blocked.has(image.currentSrc || image.src)) hide(image);
  }
  return removed;
}

/**
 * Hides two kinds of elements that keep their position over the page when it scrolls. Consent banners mention cookies or consent, and have
 * a button to accept or reject. Overlays of newsletters mention a newsletter or a discount, and have a field for an email address, but none
 * for a password. The search probes points of the viewport, so its cost does not depend on the size of the page. It includes open shadow
 * trees.
 *
 * @param listed the number of overlays that are hidden already
 * @returns the number of hidden elements, including those
 */
export function hideOverlays(
  kinds: { readonly cookieBanners: boolean; readonly newsletters: boolean },
  listed: number,
): number {
  const subject = new RegExp(
    'cookie|consent|gdpr|ccpa|tracking|privacy|datenschutz|privatsphäre|confidentialité|privacidad|riservatezza' +
      '|informasjonskaps|evästee|sütik|ciastecz|çerez|куки|クッキー|쿠키|隐私|隱私',
    'i',
  );
  const choice = new RegExp(
    '^(i )?(accept|agree|allow|reject|decline|refuse|deny|disagree|consent|got it|ok|okay|understood|manage|customi[sz]e' +
      '|necessary|essential)|accept all|allow all|reject all|only (necessary|essential)|cookie settings|preferences' +
      '|akzeptier|zustimm|ablehn|einverstanden|verstanden|einstellungen|accepte|refuse|autoriser|paramétrer|aceptar' +
      '|rechazar|configurar|entendido|aceitar|rejeitar|accetta|rifiuta|akkoord|accepteren|weigeren|acceptera|avvisa' +
      '|neka|godta|godkänn|tillad|afvis|hyväksy|hylkää|akceptuj|zgadzam|odrzuć|přijm|souhlas|odmítn|elfogad|elutasít' +
      '|refuz|приемам|принять|соглас|прийняти|kabul|reddet|αποδοχή|απόρριψη|同意|接受|拒绝|拒絕|許可|拒否|동의|허용|거부',
    'i',
  );
  const offer = new RegExp(
    'newsletter|subscri|mailing list|sign up|join (us|our|the)|stay (in touch|up to date|updated|informed)|updates|inbox|% off|discount' +
      '|abonn|anmeld|rabatt|inscri|actualités|suscr|boletín|descuento|iscriv|sconto|assine|inscreva|desconto|nieuwsbrief|korting' +
      '|nyhetsbrev|nyhedsbrev|uutiskirje|zapisz|odběr|hírlevél|рассылк|подпис|bülten|メルマガ|ニュースレター|뉴스레터|订阅|訂閱',
    'i',
  );
  const emailField =
    'input[type="email"], input[autocomplete="email"], input[name*="email" i], input[id*="email" i], input[placeholder*="mail" i]';
  const frameHint = /consent|cookie|gdpr|ccpa|cmp\b|privacy-?(mgmt|center|manager)|sp_message|trustarc|truste/i;
  const buttons = 'button, [role="button"], input[type="button"], input[type="submit"], a';
  const dialogs = 'dialog[open], [role="dialog"], [role="alertdialog"], [aria-modal="true"]';
  const maxTextLength = 6000;
  const maxLabelLength = 60;
  const minPageText = 100;

  /** Returns the element and the open shadow trees in it. */
  const rootsOf = (element: Element): (Element | ShadowRoot)[] => {
    const { shadowRoot: first } = own(element);
    const shadows = first === null ? [] : [first];
    const inner = [element, ...shadows].flatMap((root) =>
      [...own(root).querySelectorAll('*')].flatMap((inside) => own(inside).shadowRoot ?? []),
    );
    return [element, ...shadows, ...inner];
  };
  const queryAll = (element: Element, selector: string): HTMLElement[] =>
    rootsOf(element).flatMap((root) => [...own(root).querySelectorAll<HTMLElement>(selector)]);
  const has = (element: Element, selector: string) => queryAll(element, selector).length > 0;
  const textOf = (element: Element): string =>
    rootsOf(element)
      .flatMap((root) => (root instanceof Element ? [root] : [...root.children]))
      .map((part) => (part instanceof HTMLElement && !own(part).matches('style, script') ? own(part).innerText : ''))
      .join('\n')
      .trim();

  const topmost = (x: number, y: number): Element | null => {
    let element = document.elementFromPoint(x, y);
    for (;;) {
      const inner: Element | null | undefined = own(element)?.shadowRoot?.elementFromPoint(x, y);
      if (!inner || inner === element) return element;
      element = inner;
    }
  };

  /** Returns the outermost ancestor that keeps its position when the page scrolls, or that is a dialog. */
  const layerOf = (element: Element): HTMLElement | null => {
    let layer: HTMLElement | null = null;
    let at: Element | null = element;
    while (at !== null && at !== document.body && at !== document.documentElement) {
      const { position } = getComputedStyle(at);
      const staysInPlace = position === 'fixed' || position === 'sticky' || own(at).matches(dialogs);
      if (staysInPlace && at instanceof HTMLElement) layer = at;
      const root: Node = own(at).getRootNode();
      at = own(at).parentElement ?? (root instanceof ShadowRoot ? root.host : null);
    }
    return layer;
  };

  const labelOf = (button: HTMLElement): string =>
    (
      own(button).innerText ||
      own(button as HTMLInputElement).value ||
      own(button).getAttribute('aria-label') ||
      ''
    ).trim();

  const coversAll = (layer: HTMLElement): boolean => {
    const { width, height } = own(layer).getBoundingClientRect();
    return width >= innerWidth * 0.95 && height >= innerHeight * 0.95;
  };

  /** If an element covers an otherwise empty page, it is the page itself. */
  const isPage = (layer: HTMLElement, text: string): boolean =>
    coversAll(layer) && own(document.body).innerText.trim().length - text.length < minPageText;

  const isOverPage = (layer: HTMLElement): boolean =>
    !own(layer).matches('nav, header, main, article') && !has(layer, 'main, article, nav');

  const isNewsletter = (layer: HTMLElement): boolean => {
    // A sticky box with such a form is usually a part of the page, such as a sidebar.
    if (!isOverPage(layer) || getComputedStyle(layer).position === 'sticky') return false;
    const text = textOf(layer);
    if (text.length > maxTextLength || isPage(layer, text)) return false;
    const fields = queryAll(layer, emailField);
    const labels = [...fields, ...queryAll(layer, buttons)].map(
      (element) => own(element).getAttribute('placeholder') ?? own(element).getAttribute('aria-label') ?? '',
    );
    return fields.length > 0 && !has(layer, 'input[type="password"]') && offer.test([text, ...labels].join('\n'));
  };

  const isBanner = (layer: HTMLElement): boolean => {
    if (!isOverPage(layer)) return false;
    const text = textOf(layer);
    const frame = layer instanceof HTMLIFrameElement ? layer : queryAll(layer, 'iframe')[0];
    if (text === '' && frame instanceof HTMLIFrameElement) {
      const names = [frame.src, frame.id, frame.name, frame.title, own(layer).id, own(layer).className];
      return frameHint.test(names.join(' '));
    }
    if (text.length > maxTextLength || !subject.test(text)) return false;
    if (isPage(layer, text)) return false;
    return queryAll(layer, buttons).some((button) => {
      const label = labelOf(button);
      return label.length <= maxLabelLength && choice.test(label);
    });
  };

  const isBackdrop = (layer: HTMLElement): boolean => {
    return coversAll(layer) && textOf(layer) === '' && !has(layer, 'img, video, canvas, svg, iframe, input');
  };

  const isUnwanted = (layer: HTMLElement): boolean =>
    (kinds.cookieBanners && isBanner(layer)) || (kinds.newsletters && isNewsletter(layer));

  let hidden = listed;
  // An element behind an overlay (a backdrop, a second overlay) becomes visible only when the overlay is hidden.
  for (let round = 0; round < 4; round += 1) {
    const found = new Set<HTMLElement>();
    for (const x of [0.03, 0.25, 0.5, 0.75, 0.97]) {
      for (const y of [0.02, 0.12, 0.3, 0.5, 0.7, 0.85, 0.93, 0.98]) {
        const element = topmost(x * innerWidth, y * innerHeight);
        const layer = element && layerOf(element);
        if (layer && (isUnwanted(layer) || (hidden > 0 && isBackdrop(layer)))) found.add(layer);
      }
    }
    for (const layer of found) own(layer).style.setProperty('display', 'none', 'important');
    hidden += found.size;
    if (found.size === 0) break;
  }
  return hidden;
}

/** Removes the effects of overlays on the page behind them: locked scrolling, a pinned body, a blur. */
export function unlockScrolling(): void {
  const root = document.documentElement;
  const body = document.body as HTMLElement | null;
  const set = (element: HTMLElement, property: string, value: string) =>
    own(element).style.setProperty(property, value, 'important');

  for (const element of body === null ? [root] : [root, body]) {
    const { overflowX, overflowY, position } = getComputedStyle(element);
    if (overflowY === 'hidden' || overflowY === 'clip') {
      set(element, 'overflow', 'visible');
      // Content that overflows at the side stays clipped, and the body does not become a scroll container.
      if (element === body && (overflowX === 'hidden' || overflowX === 'clip')) set(element, 'overflow-x', 'clip');
    }
    if (position === 'fixed') {
      set(element, 'position', 'static');
      set(element, 'top', 'auto');
    }
  }
  for (const element of [root, ...(body === null ? [] : [body, ...own(body).children])]) {
    if (element instanceof HTMLElement && getComputedStyle(element).filter.includes('blur'))
      set(element, 'filter', 'none');
  }
}
