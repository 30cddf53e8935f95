/// <reference lib="dom" />

export interface AssetCounts {
  readonly loaded: number;
  readonly failed: number;
  readonly pending: number;
  /** A web font had not come by then. */
  readonly fontsPending: boolean;
}

/**
 * Waits until the images (of `<img>` with all its kinds of sources, posters, CSS backgrounds) and web fonts of the
 * document have loaded or failed, or their time is up. Looks into open shadow trees and frames of the same site too.
 *
 * @param scope `visible` counts what the viewport shows, `all` also what is below
 */
export async function waitForAssets(scope: 'visible' | 'all', imageMs: number, fontMs: number): Promise<AssetCounts> {
  /** Reading styles costs time on very large documents. */
  const mostBackgrounds = 5000;
  const start = performance.now();
  const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const probes = new Map<string, HTMLImageElement>();

  const counts = (element: Element): boolean => {
    if (element.checkVisibility && !element.checkVisibility()) return false;
    if (scope === 'all') return true;
    const { top, left, bottom, right } = element.getBoundingClientRect();
    const view = element.ownerDocument.defaultView ?? window;
    return bottom >= 0 && right >= 0 && top < view.innerHeight && left < view.innerWidth;
  };

  /** A second image of the same address shares the load of the first, and tells of it. */
  const probe = (address: string | undefined): HTMLImageElement[] => {
    if (address === undefined || !/^https?:/.test(address)) return [];
    let image = probes.get(address);
    if (image === undefined) {
      image = new Image();
      image.src = address;
      probes.set(address, image);
    }
    return [image];
  };

  const imagesIn = (root: Document | ShadowRoot): HTMLImageElement[] => {
    let styled = 0;
    const found: HTMLImageElement[] = [];
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) found.push(...imagesIn(element.shadowRoot));
      if (element instanceof HTMLIFrameElement && element.contentDocument && counts(element)) {
        found.push(...imagesIn(element.contentDocument));
      } else if (element.localName === 'img') {
        const image = element as HTMLImageElement;
        const named = image.currentSrc !== '' || image.src !== '';
        if (named && counts(image)) found.push(image);
      } else if (element instanceof HTMLVideoElement && element.poster !== '' && counts(element)) {
        found.push(...probe(element.poster));
      } else if (styled < mostBackgrounds) {
        styled += 1;
        const background = getComputedStyle(element).backgroundImage;
        if (background !== 'none' && background.includes('url(') && counts(element)) {
          for (const [, address] of background.matchAll(/url\("(.*?)"\)/g)) found.push(...probe(address));
        }
      }
    }
    return found;
  };

  const settled = (image: HTMLImageElement) =>
    new Promise<void>((resolve) => {
      image.addEventListener('load', () => resolve(), { once: true });
      image.addEventListener('error', () => resolve(), { once: true });
      if (image.complete) resolve();
    });

  const fonts = Promise.race([document.fonts?.ready, pause(fontMs)]);
  let images = imagesIn(document);
  for (;;) {
    const pending = images.filter((image) => !image.complete);
    const left = imageMs - (performance.now() - start);
    if (pending.length === 0 || left <= 0) break;
    await Promise.race([Promise.all(pending.map(settled)), pause(left)]);
    // What has loaded may have brought more, or moved others into sight.
    images = imagesIn(document);
  }
  await fonts;

  const complete = images.filter((image) => image.complete);
  const loaded = complete.filter((image) => image.naturalWidth > 0 || image.naturalHeight > 0).length;
  return {
    loaded,
    failed: complete.length - loaded,
    pending: images.length - complete.length,
    fontsPending: document.fonts?.status === 'loading',
  };
}
