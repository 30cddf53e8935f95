import type { Frame, Page, Request, Response } from 'playwright';

/** The response to the last navigation of the main frame. */
export interface DocumentAnswer {
  readonly url: string;
  readonly status: number;
  /** Headers of the response, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Follows the navigations of a page's main frame: redirects, and navigations that the page starts. */
export class MainDocument {
  readonly #page: Page;
  readonly #onMove: () => void;
  #moving: Request | undefined;
  #requested: string | undefined;
  #answer: DocumentAnswer | undefined;
  #firstAnswer: DocumentAnswer | undefined;
  #failure: { readonly url: string; readonly netError: string } | undefined;
  #arrivals = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #stay = Promise.withResolvers<void>();
  /** The request that loaded the current document. */
  #here: Request | undefined;
  #cutOff = Promise.withResolvers<void>();
  #isCutOff = false;

  /** @param onMove called for each new document, and for each new fragment of the current one */
  constructor(page: Page, onMove: () => void) {
    this.#page = page;
    this.#onMove = onMove;
    page.on('request', this.#requestStarted).on('response', this.#responded);
    page.on('requestfailed', this.#requestFailed).on('framenavigated', this.#navigated);
    page.on('download', this.#downloaded);
  }

  /** The URL that was requested last, including redirects. */
  get requestedUrl(): string | undefined {
    return this.#requested;
  }

  get answer(): DocumentAnswer | undefined {
    return this.#answer;
  }

  /** The response from which the first document was loaded, after redirects. */
  get firstAnswer(): DocumentAnswer | undefined {
    return this.#firstAnswer;
  }

  /** The last navigation if it failed; otherwise undefined. */
  get failure(): { readonly url: string; readonly netError: string } | undefined {
    return this.#failure;
  }

  /** Whether a navigation is under way. */
  get moving(): boolean {
    return this.#moving !== undefined;
  }

  /** Number of documents that the page has loaded. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** Resolves when no navigation is under way. */
  async settled(): Promise<void> {
    if (this.#moving !== undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Resolves when a navigation ended without a new document (empty response, download or error). After that, Chromium no longer reports
   * when the current page has loaded.
   */
  get stayed(): Promise<void> {
    return this.#stay.promise;
  }

  /** Resolves when the transfer of the current document was cut off. The document then reaches no further load state. */
  get cutOff(): Promise<void> {
    return this.#cutOff.promise;
  }

  /** Whether the transfer of the current document was cut off. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  stop(): void {
    this.#page.off('request', this.#requestStarted).off('response', this.#responded);
    this.#page.off('requestfailed', this.#requestFailed).off('framenavigated', this.#navigated);
    this.#page.off('download', this.#downloaded);
    this.#arrived();
  }

  readonly #requestStarted = (request: Request): void => {
    if (!this.#isMain(request)) return;
    this.#moving = request;
    this.#requested = request.url();
    this.#failure = undefined;
  };

  readonly #responded = (response: Response): void => {
    if (response.request() !== this.#moving) return;
    this.#answer = { url: response.url(), status: response.status(), headers: response.headers() };
    // With these statuses, the browser keeps the current page.
    if (response.status() === 204 || response.status() === 205) this.#stayed();
  };

  readonly #requestFailed = (request: Request): void => {
    // If a new navigation is under way, the transfer of the old document is cut off as well. That is not recorded.
    if (request === this.#here && this.#moving === undefined) {
      this.#isCutOff = true;
      this.#cutOff.resolve();
    }
    if (request !== this.#moving) return;
    this.#failure = { url: request.url(), netError: request.failure()?.errorText ?? '' };
    this.#stayed();
  };

  readonly #navigated = (frame: Frame): void => {
    if (frame !== this.#page.mainFrame()) return;
    this.#onMove();
    if (this.#moving !== undefined) {
      this.#arrivals += 1;
      this.#firstAnswer ??= this.#answer;
      this.#here = this.#moving;
      this.#isCutOff = false;
      const before = this.#cutOff;
      this.#cutOff = Promise.withResolvers<void>();
      // Callers that wait on the old promise get the outcome of the new document.
      void this.#cutOff.promise.then(before.resolve);
    }
    this.#arrived();
  };

  /** If a response turns out to be a download, the browser keeps the current page. The download is refused. */
  readonly #downloaded = (): void => this.#stayed();

  #stayed(): void {
    this.#stay.resolve();
    this.#arrived();
  }

  #arrived(): void {
    this.#moving = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #isMain(request: Request): boolean {
    return request.isNavigationRequest() && request.frame() === this.#page.mainFrame();
  }
}
