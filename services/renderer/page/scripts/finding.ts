/// <reference lib="dom" />
import type { WaitFor } from '@webcapture/shared/api/page-options.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const own: typeof Own;

/** `refused`: the browser does not take the selector. */
export type Found = 'found' | 'missed' | 'refused';

/** Whether an element has a box and is not hidden; how transparent it is does not matter. */
export function isVisible(element: Element): boolean {
  const { width, height } = own(element).getBoundingClientRect();
  return width > 0 && height > 0 && own(element).checkVisibility({ visibilityProperty: true });
}

/**
 * Waits until the document has what is looked for in the state.
 *
 * @param timeoutMs 0 for one look
 */
export async function untilFound(
  { selector, text, state }: Pick<WaitFor, 'selector' | 'text' | 'state'>,
  timeoutMs: number,
): Promise<Found> {
  const lookIntervalMs = 50;
  /** A look at the text of a large page lays it out: no more than this share of the page's time is taken. */
  const maxShare = 0.25;
  const plain = (value: string) => value.replaceAll(/\s+/g, ' ').toLowerCase();
  const wanted = plain(text ?? '').trim();

  const isThere = (): boolean => {
    if (selector !== undefined) {
      if (state === 'attached') return document.querySelector(selector) !== null;
      const isShown = [...document.querySelectorAll(selector)].some(isVisible);
      return isShown === (state === 'visible');
    }
    const root = document.body ?? document.documentElement;
    const shown = state === 'attached' ? own(root).textContent : own(root).innerText;
    return plain(shown ?? '').includes(wanted) === (state !== 'hidden');
  };

  const end = performance.now() + timeoutMs;
  for (;;) {
    const lookedAt = performance.now();
    try {
      if (isThere()) return 'found';
    } catch (error) {
      if (error instanceof DOMException) return 'refused';
      throw error;
    }
    const now = performance.now();
    if (now >= end) return 'missed';
    await waits.sleep(Math.min(end - now, Math.max(lookIntervalMs, (now - lookedAt) / maxShare)));
  }
}
