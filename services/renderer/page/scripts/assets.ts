/// <reference lib="dom" />
import type { cssMayUse as CssMayUse } from './styles.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const own: typeof Own;
/** A function that the caller sends to the page together with {@link waitForAssets}. */
declare const cssMayUse: typeof CssMayUse;

/** Makes lazy images and frames load immediately, also in open shadow roots. */
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
 * Whether an image has a URL to load. An image with only `srcset` or `<source>` has no `currentSrc` while it loads. The functions of this
 * file use it as a helper.
 */
function hasSource(image: HTMLImageElement): boolean {
  return image.currentSrc !== '' || image.src !== '' || !image.complete;
}

/** Counts images by state. The functions of this file use it as a helper. */
function countStates(images: readonly HTMLImageElement[]): ImageCounts {
  const complete = images.filter((image) => image.complete);
  const loaded = complete.filter((image) => image.naturalWidth > 0 || image.naturalHeight > 0).length;
  return { loaded, failed: complete.length - loaded, pending: images.length - complete.length };
}

/** Counts the document's `<img>` elements by state. Used for pages in which asynchronous functions do not run. */
export function countImages(): ImageCounts {
  return countStates([...document.images].filter(hasSource));
}

/** Functions that must be sent to the page together with a function of this file. */
export const counting = [hasSource, countStates] as const;

export interface AssetCounts extends ImageCounts {
  /** Whether a web font was still loading. */
  readonly fontsPending: boolean;
}

/**
 * Waits until the images and web fonts of the document have loaded or failed, or until their timeout. Images include `<img>` with all kinds
 * of sources, image buttons, posters, SVG images, and images in styles (backgrounds, masks, borders, bullets, `::before` and `::after`).
 * The search includes open shadow roots and same-origin frames. Style images with the same URL count once.
 *
 * @param scope `visible` counts what the viewport shows; `all` also counts what is below
 */
export async function waitForAssets(scope: 'visible' | 'all', imageMs: number, fontMs: number): Promise<AssetCounts> {
  /** Maximum number of elements whose styles are read. It limits the time for very large documents. */
  const maxStyled = 5000;
  let styled = 0;
  /** Whether a style of the document may name an image. */
  let namesImages = true;
  const start = performance.now();
  const probes = new Map<string, HTMLImageElement>();

  const counts = (element: Element): boolean => {
    if (scope === 'visible') {
      // Positions are read first, because that is fast and excludes most of a long page.
      const { top, left, bottom, right } = own(element).getBoundingClientRect();
      const view = own(element).ownerDocument.defaultView ?? window;
      if (bottom < 0 || right < 0 || top >= view.innerHeight || left >= view.innerWidth) return false;
    }
    return own(element).checkVisibility();
  };

  /** Loads a second image with the same URL and mode. It shares the request of the first image and reports the result of that request. */
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

  /** Returns the image URL of an element that shows an image by itself; empty or undefined if there is none. */
  const ownAddress = (element: Element): string | undefined => {
    switch (own(element).localName) {
      case 'video':
        return (element as HTMLVideoElement).poster;
      case 'input':
        return (element as HTMLInputElement).type === 'image' ? (element as HTMLInputElement).src : undefined;
      case 'image': {
        // An element of another namespace has no `href`.
        const address = (element as Partial<SVGImageElement>).href?.baseVal;
        return address ? URL.parse(address, own(element).baseURI)?.href : undefined;
      }
      default:
        return undefined;
    }
  };

  /** Returns the URLs in a style value. An `image-set` is skipped, because it lists more URLs than the browser requests. */
  const named = (value: string): string[] =>
    value.includes('image-set(')
      ? []
      : [...value.matchAll(/url\("(https?:.*?)"\)/g)].map(([, address]) => address as string);

  const stylesOf = (element: Element): CSSStyleDeclaration[] => {
    const around = ['::before', '::after'].map((name) => getComputedStyle(element, name));
    const drawn = around.filter(({ content }) => content !== 'none');
    return [getComputedStyle(element), ...drawn];
  };

  /** Returns the images of an element and its styles, if the element is in view. */
  const probesOf = (element: Element): HTMLImageElement[] => {
    const address = ownAddress(element);
    const plain = address?.startsWith('http') === true ? [address] : [];
    const isStyled = namesImages || own(element).ownerDocument !== document;
    if (!isStyled && plain.length === 0) return [];
    // The position is read first, because reading styles takes longer.
    if (!counts(element)) return [];
    const masks: string[] = [];
    styled += 1;
    for (const style of isStyled && styled <= maxStyled ? stylesOf(element) : []) {
      plain.push(...named(style.backgroundImage), ...named(style.borderImageSource), ...named(style.content));
      if (style.display === 'list-item') plain.push(...named(style.listStyleImage));
      // A URL with a fragment refers to a part of a document and not to an image.
      masks.push(...named(style.maskImage).filter((address) => !address.includes('#')));
    }
    return [...plain.map((address) => probe(address, null)), ...masks.map((address) => probe(address, 'anonymous'))];
  };

  const collect = () => {
    styled = 0;
    namesImages = cssMayUse(['url('], '[background], [mask]');
    // A forced layout makes the browser request the page's fonts.
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
      for (const type of ['load', 'error']) image.addEventListener(type, () => resolve());
    });

  /**
   * Waits for all of them, at most until `maxMs` after the start. Returns false if that time is over, or if there is nothing to wait for.
   */
  const wait = async (missing: readonly PromiseLike<unknown>[], maxMs: number): Promise<boolean> => {
    const left = maxMs - (performance.now() - start);
    if (missing.length === 0 || left <= 0) return false;
    await Promise.race([Promise.all(missing), waits.sleep(left)]);
    return true;
  };

  for (;;) {
    const { images, fonts } = collect();
    // The layout has requested the fonts, so their status is up to date.
    const ready = fonts.map((set) => set.ready);
    const missingFonts = ready.filter((_, index) => fonts[index]?.status === 'loading');
    const missing = images.filter((image) => !image.complete);
    const waited = await Promise.all([wait(missing.map(settled), imageMs), wait(missingFonts, fontMs)]);
    if (waited.includes(true)) {
      // The page can run its scripts now: loaded assets may add more assets, or move others into view.
      await waits.sleep(0);
      continue;
    }
    return { ...countStates(images), fontsPending: missingFonts.length > 0 };
  }
}
