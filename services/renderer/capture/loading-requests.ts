import type { Page, Request } from 'playwright-core';

/** What a script asks for to show more of a page. Images have a wait of their own. */
const kinds = new Set(['xhr', 'fetch', 'script', 'document']);

/** Requests for content that began since this was made and have not ended. */
export class LoadingRequests {
  readonly #page: Page;
  readonly #open = new Set<Request>();
  readonly #waiting: (() => void)[] = [];

  constructor(page: Page) {
    this.#page = page;
    page.on('request', this.#began).on('requestfinished', this.#ended).on('requestfailed', this.#ended);
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
    if (kinds.has(request.resourceType())) this.#open.add(request);
  };

  readonly #ended = (request: Request): void => {
    if (this.#open.delete(request) && this.#open.size === 0) this.#wake();
  };

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
