import type { Browser } from 'playwright-core';

export interface PulseOptions {
  /** A browser that leaves a question unanswered for so many milliseconds hangs. */
  readonly patienceMs: number;
  /** Called once. */
  readonly onSilence: () => void;
}

/** A question is looked after so often while the patience lasts. */
const looks = 15;

/**
 * Asks a browser again and again whether it is there, until the returned function is called. Time is counted in looks:
 * when it was this process that stood still, or had no processor, the browser gets the time that it had not.
 */
export function watchPulse(browser: Browser, { patienceMs, onSilence }: PulseOptions): () => void {
  const opening = browser.newBrowserCDPSession();
  // It may go away before anything is asked.
  opening.catch(() => undefined);
  let asking = false;
  let unanswered = 0;
  const ask = async () => {
    asking = true;
    try {
      await (await opening).send('Browser.getVersion');
    } catch {
      // It went away, which others hear of.
      stop();
    }
    asking = false;
  };
  const clock = setInterval(() => {
    unanswered = asking ? unanswered + 1 : 0;
    if (!asking) return void ask();
    if (unanswered < looks) return;
    stop();
    onSilence();
  }, patienceMs / looks);
  clock.unref();
  const stop = () => clearInterval(clock);
  return stop;
}
