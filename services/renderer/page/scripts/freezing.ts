/// <reference lib="dom" />
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const own: typeof Own;

/**
 * Waits until the loops of frames in the document have ended. See `freezeClock` in browser/frozen-clock.ts.
 *
 * @returns whether they ended within `timeoutMs`
 */
export async function untilFrameLoopsEnd(question: string, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  const isRunning = () => !document.dispatchEvent(new Event(question, { cancelable: true }));
  while (isRunning() && performance.now() < end) await waits.untilFrame(100);
  return !isRunning();
}

/** Hides the text cursor, which blinks. Only the focused element has one. */
export function hideCaret(): void {
  let focused = document.activeElement;
  for (let inner = focused; inner; inner = own(inner).shadowRoot?.activeElement ?? null) focused = inner;
  const { style } = own((focused ?? document.documentElement) as Partial<HTMLElement>);
  style?.setProperty('transition', 'none', 'important');
  style?.setProperty('caret-color', 'transparent', 'important');
}
