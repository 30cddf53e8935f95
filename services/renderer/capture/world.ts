import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { CDPSession } from 'playwright-core';
import type { Lifeline } from './lifeline.ts';

/** The document that a script was to run in is gone: the page has moved on. */
export class DocumentGoneError extends Error {
  constructor(cause: unknown) {
    super('the page moved on', { cause });
    this.name = 'DocumentGoneError';
  }
}

const worldName = 'webcapture';

/** A page that moves on is asked again so often, and so many milliseconds later. */
const mostMoves = 5;
const betweenMovesMs = 20;

/**
 * Runs functions in a world of our own in the page: they see its document, but neither does the page see them, nor do
 * they meet what the page made of `scrollTo`, `Promise` or `Array.prototype`.
 */
export class World {
  readonly #cdp: CDPSession;
  readonly #lifeline: Lifeline;
  readonly #frameId: string;
  #contextId: Promise<number> | undefined;

  /** @param frameId of the frame whose document is meant */
  constructor(cdp: CDPSession, frameId: string, lifeline: Lifeline) {
    this.#cdp = cdp;
    this.#frameId = frameId;
    this.#lifeline = lifeline;
  }

  /** The page has a new document: what runs next runs there. */
  reset(): void {
    this.#contextId = undefined;
  }

  /**
   * Calls a function in the page. Its source travels, so that it may use its arguments and the page's globals only.
   * Arguments and result are copied as JSON.
   *
   * @throws DeadlineError when the page does not answer within `ms`, e.g. because its scripts never pause
   * @throws DocumentGoneError when the page moves on meanwhile
   */
  async call<A extends readonly unknown[], R>(
    fn: (...args: A) => R,
    args: A,
    { ms, what }: { readonly ms: number; readonly what: string },
  ): Promise<Awaited<R>> {
    return this.#lifeline.run(this.#call(fn, args), ms, what);
  }

  /**
   * As {@link call}, for what does not depend on the document: when the page moves on, the next one is asked, a few times.
   *
   * @throws DeadlineError, DocumentGoneError
   */
  async callInAny<A extends readonly unknown[], R>(
    fn: (...args: A) => R,
    args: A,
    limit: { readonly ms: number; readonly what: string },
  ): Promise<Awaited<R>> {
    for (let moves = 0; ; moves += 1) {
      try {
        return await this.call(fn, args, limit);
      } catch (error) {
        if (!(error instanceof DocumentGoneError) || moves === mostMoves) throw error;
        await delay(betweenMovesMs);
      }
    }
  }

  async #call<A extends readonly unknown[], R>(fn: (...args: A) => R, args: A): Promise<Awaited<R>> {
    const expression = `(${fn.toString()})(${args.map((arg) => JSON.stringify(arg)).join(', ')})`;
    const { result, exceptionDetails } = await (async () => {
      try {
        const contextId = await (this.#contextId ??= this.#createContext());
        return await this.#cdp.send('Runtime.evaluate', {
          expression,
          contextId,
          awaitPromise: true,
          returnByValue: true,
          silent: true,
        });
      } catch (error) {
        this.reset();
        throw new DocumentGoneError(error);
      }
    })();
    if (exceptionDetails !== undefined) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value as Awaited<R>;
  }

  async #createContext(): Promise<number> {
    const { executionContextId } = await this.#cdp.send('Page.createIsolatedWorld', {
      frameId: this.#frameId,
      worldName,
    });
    return executionContextId;
  }
}
