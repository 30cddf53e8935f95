/// <reference lib="dom" />

export interface PageFacts {
  readonly title: string;
  /** Address of the document, as the page sees it. */
  readonly url: string;
  /** Elements that only bot walls have. */
  readonly wall: boolean;
}

/** What a capture tells about the page. */
export function readPageFacts(wallSelector: string): PageFacts {
  return {
    title: document.title.slice(0, 2000),
    url: location.href,
    wall: document.querySelector(wallSelector) !== null,
  };
}
