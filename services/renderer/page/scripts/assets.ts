/// <reference lib="dom" />
import type { mayStyle as MayStyle } from './styles.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const own: typeof Own;
/** A helper of the call of {@link waitForAssets}. */
declare const mayStyle: typeof MayStyle;

/** Lets images and frames that wait to be scrolled to load at once, in open shadow trees too. */
export function loadEagerly(): void {
  const visit = (root: Document | ShadowRoot): void => {
    for (const element of root.querySelectorAll('*')) {
      const { shadowRoot } = own(element);
      if (shadowRoot) visit(shadowRoot);
      if (own(element).localName !== 'img' && own(element).localName !== 'iframe') continue;
      if (own(element).getAttribute('loading')?.toLowerCase() === 'lazy') own(element).setAttribute('loading', 'eager');
    }
  };
  visit(document);
}

export interface ImageCounts {
  readonly loaded: number;
  readonly failed: number;
  readonly pending: number;
}

/**
 * Whether an image has an address to load from. One with only `srcset` or a `<source>` has no `currentSrc` while it loads. A helper of the
 * calls of this file's functions.
 */
export function hasSource(image: HTMLImageElement): boolean {
  return image.currentSrc !== '' || image.src !== '' || !image.complete;
}

/** What has become of the `<img>` of the document so far, for pages in which nothing can be waited for. */
export function countImages(): ImageCounts {
  const images = [...document.images].filter(hasSource);
  const complete = images.filter((image) => image.complete);
  const loaded = complete.filter((image) => image.naturalWidth > 0 || image.naturalHeight > 0).length;
  return { loaded, failed: complete.length - loaded, pending: images.length - complete.length };
}

export interface AssetCounts extends ImageCounts {
  /** A web font had not come by then. */
  readonly fontsPending: boolean;
}

/**
 * Waits until the images (of `<img>` with all its kinds of sources, buttons, posters, SVG, and of styles: backgrounds,
 * masks, borders, bullets, those of `::before` and `::after` too) and web fonts of the document have loaded or failed,
 * or their time is up. Looks into open shadow trees and frames of the same site too. Images of one address in styles
 * count once.
 *
 * @param scope `visible` counts what the viewport shows, `all` also what is below
 */
export async function waitForAssets(scope: 'visible' | 'all', imageMs: number, fontMs: number): Promise<AssetCounts> {
  /** Reading styles costs time on very large documents. */
  const maxStyled = 5000;
  let styled = 0;
  /** Whether a style of the document may name an image. */
  let namesImages = true;
  const start = performance.now();
  const probes = new Map<string, HTMLImageElement>();

  const counts = (element: Element): boolean => {
    if (scope === 'visible') {
      // Costs less to ask, and leaves most of a long page out.
      const { top, left, bottom, right } = own(element).getBoundingClientRect();
      const view = own(element).ownerDocument.defaultView ?? window;
      if (bottom < 0 || right < 0 || top >= view.innerHeight || left >= view.innerWidth) return false;
    }
    return !own(element).checkVisibility || own(element).checkVisibility();
  };

  /** A second image of the same address, asked for in the same way, shares the load of the first, and tells of it. */
  const probe = (address: string, crossOrigin: string | null): HTMLImageElement => {
    let image = probes.get(address);
    if (image === undefined) {
      image = new Image();
      image.crossOrigin = crossOrigin;
      image.src = address;
      probes.set(address, image);
    }
    return image;
  };

  /** The address of an image that is one by its element. */
  const ownAddress = (element: Element): string => {
    switch (own(element).localName) {
      case 'video':
        return (element as HTMLVideoElement).poster;
      case 'input':
        return (element as HTMLInputElement).type === 'image' ? (element as HTMLInputElement).src : '';
      case 'image': {
        const named = (element as SVGImageElement).href?.baseVal ?? '';
        const isAddress = named !== '' && URL.canParse(named, own(element).baseURI);
        return isAddress ? new URL(named, own(element).baseURI).href : '';
      }
      default:
        return '';
    }
  };

  /** The addresses that a style names. An `image-set` names more than the browser asks for, and is left out. */
  const named = (value: string): string[] =>
    value.includes('url("http') && !value.includes('image-set(')
      ? [...value.matchAll(/url\("(https?:.*?)"\)/g)].map(([, address]) => address ?? '')
      : [];

  const stylesOf = (element: Element): CSSStyleDeclaration[] => {
    const around = ['::before', '::after'].map((name) => getComputedStyle(element, name));
    const drawn = around.filter(({ content }) => content !== 'none' && content !== 'normal');
    return [getComputedStyle(element), ...drawn];
  };

  /** Images of an element's styles, and of what it is, as long as it is in sight. */
  const probesOf = (element: Element): HTMLImageElement[] => {
    const address = ownAddress(element);
    const plain = /^https?:/.test(address) ? [address] : [];
    const isStyled = namesImages || own(element).ownerDocument !== document;
    if (!isStyled && plain.length === 0) return [];
    // Where a thing is costs less to ask than how it looks.
    if (scope === 'visible' && !counts(element)) return [];
    const masks: string[] = [];
    if (isStyled) styled += 1;
    for (const style of isStyled && styled <= maxStyled ? stylesOf(element) : []) {
      plain.push(...named(style.backgroundImage), ...named(style.borderImageSource), ...named(style.content));
      if (style.display === 'list-item') plain.push(...named(style.listStyleImage));
      // With a fragment it is a part of a document, and no image.
      masks.push(...named(style.maskImage).filter((address) => !address.includes('#')));
    }
    if (plain.length + masks.length === 0 || !counts(element)) return [];
    return [...plain.map((address) => probe(address, null)), ...masks.map((address) => probe(address, 'anonymous'))];
  };

  const collect = () => {
    styled = 0;
    namesImages = mayStyle(['url('], '[background], [mask]');
    // Lays the page out, so that its fonts are asked for.
    own(document.querySelector(':root'))?.getBoundingClientRect();
    const images = new Set<HTMLImageElement>();
    const fonts: FontFaceSet[] = [];
    const visit = (root: Document | ShadowRoot): void => {
      if ('fonts' in root) fonts.push(root.fonts);
      for (const element of root.querySelectorAll('*')) {
        const { shadowRoot } = own(element);
        if (shadowRoot) visit(shadowRoot);
        const { contentDocument } = own(element as HTMLIFrameElement);
        if (contentDocument && counts(element)) visit(contentDocument);
        const image = own(element).localName === 'img' ? (element as HTMLImageElement) : undefined;
        if (image && hasSource(image) && counts(image)) images.add(image);
        for (const probed of probesOf(element)) images.add(probed);
      }
    };
    visit(document);
    return { images: [...images], fonts };
  };

  const settled = (image: HTMLImageElement) =>
    new Promise<void>((resolve) => {
      image.addEventListener('load', () => resolve(), { once: true });
      image.addEventListener('error', () => resolve(), { once: true });
      if (image.complete) resolve();
    });

  /** Resolves when all have come, or `maxMs` after the start; false when that is over, or nothing is missing. */
  const wait = async (missing: readonly PromiseLike<unknown>[], maxMs: number): Promise<boolean> => {
    const left = maxMs - (performance.now() - start);
    if (missing.length === 0 || left <= 0) return false;
    await Promise.race([Promise.all(missing), waits.sleep(left)]);
    return true;
  };

  for (;;) {
    const { images, fonts } = collect();
    // Fonts have been asked for when the page was laid out; their status is true.
    const ready = fonts.map((set) => set.ready);
    const missingFonts = ready.filter((_, index) => fonts[index]?.status === 'loading');
    const missing = images.filter((image) => !image.complete);
    const waited = await Promise.all([wait(missing.map(settled), imageMs), wait(missingFonts, fontMs)]);
    if (waited.includes(true)) {
      // What has come may have brought more, or moved others into sight, once the page has had its turn.
      await waits.sleep(0);
      continue;
    }
    const complete = images.filter((image) => image.complete);
    const loaded = complete.filter((image) => image.naturalWidth > 0 || image.naturalHeight > 0).length;
    return {
      loaded,
      failed: complete.length - loaded,
      pending: missing.length,
      fontsPending: missingFonts.length > 0,
    };
  }
}
