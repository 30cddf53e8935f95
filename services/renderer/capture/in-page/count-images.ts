/// <reference lib="dom" />

export interface ImageCounts {
  readonly loaded: number;
  readonly failed: number;
  readonly pending: number;
}

/** What has become of the `<img>` of the document so far, for pages in which nothing can be waited for. */
export function countImages(): ImageCounts {
  const images = [...document.images].filter((image) => image.currentSrc !== '' || image.src !== '');
  const complete = images.filter((image) => image.complete);
  const loaded = complete.filter((image) => image.naturalWidth > 0 || image.naturalHeight > 0).length;
  return { loaded, failed: complete.length - loaded, pending: images.length - complete.length };
}
