/** The browser went away while a page of it was in use. Whose fault it was is not known: it may be another page's. */
export class BrowserLostError extends Error {
  constructor(message = 'the browser went away', options?: { cause: unknown }) {
    super(message, options);
    this.name = 'BrowserLostError';
  }
}
