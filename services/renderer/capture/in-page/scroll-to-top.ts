/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/** Back to where the page begins. */
export function scrollToTop(): void {
  const { webcaptureScroller } = globalThis as PageState;
  webcaptureScroller?.element.scrollTo({ top: 0, behavior: 'instant' });
  document.scrollingElement?.scrollTo({ top: 0, left: 0, behavior: 'instant' });
}
