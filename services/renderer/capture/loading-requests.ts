import type { Frame, Page, Request } from 'playwright-core';

/** What a script asks for to show more of a page. Images have a wait of their own. */
const contentKinds = new Set(['xhr', 'fetch', 'script', 'document']);
/** What an app shows, and its parts. */
const fetchedKinds = new Set(['xhr', 'fetch', 'script']);
/** What a frame is seen by. */
const frameKinds = new Set(['document', 'stylesheet', 'script', 'image', 'font']);

/** Requests of the page that show more of it. */
export const isContent = (request: Request): boolean => contentKinds.has(request.resourceType());

/** Requests that the page's own scripts make, its workers among them; not those of its frames. */
export function isFetched(request: Request, page: Page): boolean {
  return fetchedKinds.has(request.resourceType()) && frameOf(request) === page.mainFrame();
}

/** Requests of the frames in the page, whose documents may be out of our reach. */
export function isOfFrame(request: Request): boolean {
  return frameKinds.has(request.resourceType()) && Boolean(frameOf(request)?.parentFrame());
}

/** None while it is only being made (it is the page's own), and for what service workers ask for. */
function frameOf(request: Request): Frame | undefined {
  try {
    return request.frame();
  } catch {
    return undefined;
  }
}

/** Requests of a kind that began since this was made and have not ended. */
export class LoadingRequests {
  readonly #page: Page;
  readonly #isWanted: (request: Request) => boolean;
  readonly #open = new Set<Request>();
  #begun = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(page: Page, isWanted: (request: Request) => boolean) {
    this.#page = page;
    this.#isWanted = isWanted;
    page.on('request', this.#began).on('requestfinished', this.#ended).on('requestfailed', this.#ended);
  }

  /** How many there were at all. */
  get begun(): number {
    return this.#begun;
  }

  /** How many have not ended. */
  get open(): number {
    return this.#open.size;
  }

  /** Resolves when none is open. */
  async none(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  stop(): void {
    this.#page.off('request', this.#began).off('requestfinished', this.#ended).off('requestfailed', this.#ended);
    this.#open.clear();
    this.#wake();
  }

  readonly #began = (request: Request): void => {
    if (!this.#isWanted(request)) return;
    this.#begun += 1;
    this.#open.add(request);
  };

  readonly #ended = (request: Request): void => {
    if (this.#open.delete(request) && this.#open.size === 0) this.#wake();
  };

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
