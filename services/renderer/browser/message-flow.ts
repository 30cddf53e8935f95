import type { Browser } from 'playwright';
import type { Readable } from 'node:stream';

/** What this reads of Playwright's own objects, which are not part of its public interface. */
interface Internals {
  readonly _connection?: {
    toImpl?(browser: Browser): { readonly _connection?: { readonly _transport?: { readonly _pipeRead?: Readable } } };
  };
}

/** Messages that a browser may send at once, and in a second for long: a page of three hundred requests sends as many. */
const burst = 1500;
const perSecond = 1500;

/** Pauses shorter than this cost more than they give. */
const minPauseMs = 10;

/**
 * Counts the messages that a browser sends to this process, where all captures are worked at, and takes them in no faster
 * than it has time for: the rest waits in the browser of the page that floods it.
 *
 * Does nothing where Playwright is not built as it is now; a test holds this against the installed one.
 */
export class MessageFlow {
  #messages = 0;
  #credit = burst;
  #creditAt = performance.now();

  constructor(browser: Browser) {
    const impl = (browser as unknown as Internals)._connection?.toImpl?.(browser);
    const pipe = impl?._connection?._transport?._pipeRead;
    pipe?.on('data', (chunk: Buffer) => this.#take(pipe, chunk));
  }

  /** All messages so far. */
  get messages(): number {
    return this.#messages;
  }

  #take(pipe: Readable, chunk: Buffer): void {
    const messages = countEnds(chunk);
    const now = performance.now();
    this.#messages += messages;
    this.#credit = Math.min(burst, this.#credit + ((now - this.#creditAt) * perSecond) / 1000) - messages;
    this.#creditAt = now;
    const pauseMs = (-this.#credit * 1000) / perSecond;
    if (pauseMs < minPauseMs || pipe.isPaused()) return;
    pipe.pause();
    setTimeout(() => pipe.resume(), pauseMs);
  }
}

/** A zero ends each message. */
function countEnds(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, at + 1)) count += 1;
  return count;
}
