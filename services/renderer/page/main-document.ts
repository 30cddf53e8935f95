import type { Frame, Page, Request, Response } from 'playwright';

/** What the main frame's last navigation came to. */
export interface DocumentAnswer {
  readonly url: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Follows the navigations of a page's main frame: redirects, and those that the page makes by itself. */
export class MainDocument {
  readonly #page: Page;
  readonly #onMove: () => void;
  #moving: Request | undefined;
  #requested: string | undefined;
  #answer: DocumentAnswer | undefined;
  #failure: { readonly url: string; readonly netError: string } | undefined;
  #arrivals = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #stay = Promise.withResolvers<void>();
  /** Where the document that is there came from. */
  #here: Request | undefined;
  #cutOff = Promise.withResolvers<void>();

  /** @param onMove hears of each new document, and of each new fragment of the same one */
  constructor(page: Page, onMove: () => void) {
    this.#page = page;
    this.#onMove = onMove;
    page.on('request', this.#requestStarted).on('response', this.#responded);
    page.on('requestfailed', this.#requestFailed).on('framenavigated', this.#navigated);
    page.on('download', this.#downloaded);
  }

  /** The address last asked for, redirects included. */
  get requestedUrl(): string | undefined {
    return this.#requested;
  }

  get answer(): DocumentAnswer | undefined {
    return this.#answer;
  }

  /** The last navigation, when it failed. */
  get failure(): { readonly url: string; readonly netError: string } | undefined {
    return this.#failure;
  }

  /** Whether the page is on its way to another document. */
  get moving(): boolean {
    return this.#moving !== undefined;
  }

  /** How many documents the page has come to. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** Resolves when the page is on its way nowhere. */
  async settled(): Promise<void> {
    if (this.#moving !== undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Resolves when the page wanted to go on, but what came was no document (nothing, a file, an error). Chromium then
   * does not tell any more when the page that is there has loaded.
   */
  get stayed(): Promise<void> {
    return this.#stay.promise;
  }

  /** Resolves when the document that is there has lost its rest: no state of it comes any more. */
  get cutOff(): Promise<void> {
    return this.#cutOff.promise;
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
    // These leave the page where it is.
    if (response.status() === 204 || response.status() === 205) this.#stayed();
  };

  readonly #requestFailed = (request: Request): void => {
    // One that is left for the next is cut off too, and nobody misses it.
    if (request === this.#here && this.#moving === undefined) this.#cutOff.resolve();
    if (request !== this.#moving) return;
    this.#failure = { url: request.url(), netError: request.failure()?.errorText ?? '' };
    this.#stayed();
  };

  readonly #navigated = (frame: Frame): void => {
    if (frame !== this.#page.mainFrame()) return;
    this.#onMove();
    if (this.#moving !== undefined) {
      this.#arrivals += 1;
      this.#here = this.#moving;
      const before = this.#cutOff;
      this.#cutOff = Promise.withResolvers<void>();
      // Who waits already, waits for what became of the page.
      void this.#cutOff.promise.then(before.resolve);
    }
    this.#arrived();
  };

  /** What turns out to be a file leaves the page where it is. (It is refused.) */
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
