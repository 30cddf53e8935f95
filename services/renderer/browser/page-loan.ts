import type { WarmPage } from './warm-page.ts';

/** A page lent to one capture. */
export interface PageLoan extends WarmPage {
  /** Whether the whole browser is gone, not only this page. */
  readonly browserLost: () => boolean;
  /**
   * Closes the page, whatever state it is in. Call it once; never throws. `timedOut` says that the capture did not come to
   * an end by itself, which many pages have to answer for, and sometimes the browser.
   */
  readonly release: (end?: { readonly timedOut: boolean }) => Promise<void>;
}
