import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { stillQuestion } from '../browser/activity.ts';
import {
  callExpression,
  type CommandTarget,
  definitionsOf,
  DocumentGoneError,
  evaluate,
  openIsolatedWorld,
} from '../browser/isolated-world.ts';
import { type CaptureDeadline, lastCallTimeoutMs } from './deadline.ts';
import { readActivity } from './scripts/activity.ts';
import { own } from './scripts/own.ts';
import { waits } from './scripts/waits.ts';

const worldName = 'webcapture';

/** Number of retries, and the delay between them, for a page that navigates. */
const maxMoves = 5;
const moveDelayMs = 20;

/**
 * Defines `own` and `pageState` (see `PageState`) for all functions of `scripts/`. The state is stored under a symbol, because the id of
 * an element defines a global variable.
 */
const basis = `${definitionsOf([own])} const pageState = globalThis[Symbol.for('webcapture')] ??= {};`;

/** Defines what called functions can use. See `PageWaits` and `PageActivity`. */
const prelude = `${basis} const waits = { ${Object.entries(waits)
  .map(([name, wait]) => `${name}: ${wait.toString()}`)
  .join(', ')} }; const activity = ${callExpression(readActivity, [stillQuestion])};`;

export interface CallLimit {
  readonly timeoutMs: number;
  /** Name of the call in the message of a DeadlineError. */
  readonly what: string;
}

/** A call of a function in the page, for {@link PageWorld.callEach}. */
export interface Step<R = unknown> {
  readonly expression: string;
  /** Declares the type of the result. At run time, the field has no value. */
  readonly returns?: R;
}

export const step = <A extends readonly unknown[], R>(fn: (...args: A) => R, ...args: A): Step<R> => ({
  expression: callExpression(fn, args),
});

type Results<S extends readonly Step[]> = {
  -readonly [N in keyof S]: S[N] extends Step<infer R> ? Awaited<R> : never;
};

/** If scripts are disabled, timers do not run, but scheduler tasks do. */
const timersOfTasks = `const setTimeout = (run, delay) => {
  const controller = new TaskController();
  scheduler.postTask(run, { delay, signal: controller.signal }).catch(() => undefined);
  return controller;
};
const clearTimeout = (controller) => controller.abort();`;

/** Another function of `scripts/` that the called function uses under the same name. */
type Helper = (...args: never[]) => unknown;

/**
 * Runs functions in an isolated world of the page. They access the page's document, but the page cannot see them, and its changes to
 * `scrollTo`, `Promise` or `Array.prototype` do not affect them.
 */
export class PageWorld {
  readonly #cdp: CommandTarget;
  readonly #deadline: CaptureDeadline;
  readonly #frameId: string;
  readonly #maxTimeoutMs: number;
  #isStopped = false;
  #contextId: Promise<number> | undefined;
  #prelude = prelude;

  /**
   * @param frameId id of the frame whose document is used
   * @param maxTimeoutMs upper bound for the timeout of each call
   */
  constructor(cdp: CommandTarget, frameId: string, deadline: CaptureDeadline, maxTimeoutMs = Number.POSITIVE_INFINITY) {
    this.#cdp = cdp;
    this.#frameId = frameId;
    this.#deadline = deadline;
    this.#maxTimeoutMs = maxTimeoutMs;
  }

  /**
   * Runs a function in every document of the page from now on, before the page's scripts. The function can use its arguments, `own`,
   * `pageState`, the `helpers` and the globals of the page. Arguments are copied as JSON.
   */
  async runFirst<A extends readonly unknown[]>(
    fn: (...args: A) => void,
    args: A,
    helpers: readonly Helper[] = [],
  ): Promise<void> {
    const source = `{ ${basis} ${definitionsOf(helpers)} ${callExpression(fn, args)} }`;
    await this.#cdp.send('Page.addScriptToEvaluateOnNewDocument', { source, worldName });
  }

  /** Disables the page's scripts. Calls through this class still run. */
  async disableScripts(): Promise<void> {
    this.#prelude = `${timersOfTasks} ${prelude}`;
    await this.#cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
  }

  /**
   * Call this method when the scripts of the page are stopped permanently. Asynchronous functions no longer return then. If a later call
   * times out, the capture fails, so all later calls wait at least {@link lastCallTimeoutMs}.
   */
  noteStop(): void {
    this.#isStopped = true;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Call this method when the page has a new document, in which later calls run. */
  reset(): void {
    this.#contextId = undefined;
  }

  /**
   * Calls a function in the page. The source of the function is sent, so it can use only its arguments, the prelude, the `helpers` and
   * the page's globals. Arguments and result are copied as JSON.
   *
   * @throws DeadlineError if the page does not respond in time, e.g. because its scripts never pause
   * @throws DocumentGoneError if the page navigates meanwhile
   * @throws ServiceError if the function fails in a page without a root element
   */
  async call<A extends readonly unknown[], R>(
    fn: (...args: A) => R,
    args: A,
    limit: CallLimit,
    helpers: readonly Helper[] = [],
  ): Promise<Awaited<R>> {
    return this.#run(callExpression(fn, args), limit, helpers) as Promise<Awaited<R>>;
  }

  /**
   * Like {@link call} for several functions, which run in order. One message is sent for all of them, because each message to the page
   * takes a few milliseconds of processor time.
   *
   * @returns their results
   */
  async callEach<const S extends readonly Step[]>(
    steps: S,
    limit: CallLimit,
    helpers: readonly Helper[] = [],
  ): Promise<Results<S>> {
    const calls = steps.map(({ expression }) => `results.push(await ${expression});`);
    const expression = `(async () => { const results = []; ${calls.join(' ')} return results; })()`;
    return this.#run(expression, limit, helpers) as Promise<Results<S>>;
  }

  /**
   * Calls a function with the element of a frame as its first argument. The function can use `own` and `pageState`.
   *
   * @throws DeadlineError; Error if no element of this document has the frame
   */
  async callWithFrame<A extends readonly unknown[]>(
    frameId: string,
    fn: (frame: never, ...args: A) => void,
    args: A,
    { timeoutMs, what }: CallLimit,
  ): Promise<void> {
    const call = async () => {
      const { backendNodeId } = await this.#cdp.send('DOM.getFrameOwner', { frameId });
      const executionContextId = await this.#context();
      const { object } = await this.#cdp.send('DOM.resolveNode', { backendNodeId, executionContextId });
      await this.#cdp.send('Runtime.callFunctionOn', {
        objectId: object.objectId as string,
        functionDeclaration: `function (...args) { ${basis} (${fn.toString()})(this, ...args); }`,
        arguments: args.map((value) => ({ value })),
        silent: true,
      });
    };
    await this.#deadline.run(call(), this.timeoutOf(timeoutMs), what);
  }

  /**
   * Like {@link call} for functions that work in any document. If the page navigates, the function is called again in the next document, a
   * few times at most.
   *
   * @throws DeadlineError, DocumentGoneError
   */
  async callInAny<A extends readonly unknown[], R>(
    fn: (...args: A) => R,
    args: A,
    limit: CallLimit,
    helpers: readonly Helper[] = [],
  ): Promise<Awaited<R>> {
    for (let moves = 0; ; moves += 1) {
      try {
        return await this.call(fn, args, limit, helpers);
      } catch (error) {
        if (!(error instanceof DocumentGoneError) || moves === maxMoves) throw error;
        await delay(moveDelayMs);
      }
    }
  }

  #context(): Promise<number> {
    return (this.#contextId ??= openIsolatedWorld(this.#cdp, this.#frameId, worldName));
  }

  #run(called: string, { timeoutMs, what }: CallLimit, helpers: readonly Helper[]): Promise<unknown> {
    return this.#deadline.run(this.#evaluate(called, helpers), this.timeoutOf(timeoutMs), what);
  }

  /** Returns the timeout of a call for which `timeoutMs` is requested. */
  timeoutOf(timeoutMs: number): number {
    return Math.min(this.#isStopped ? Math.max(timeoutMs, lastCallTimeoutMs) : timeoutMs, this.#maxTimeoutMs);
  }

  async #evaluate(called: string, helpers: readonly Helper[]): Promise<unknown> {
    const expression = `{ ${this.#prelude} ${definitionsOf(helpers)} ${called} }`;
    try {
      const contextId = await this.#context();
      return await evaluate(this.#cdp, { contextId, expression });
    } catch (error) {
      if (error instanceof DocumentGoneError) this.reset();
      else if (await this.#lacksRoot()) {
        const message = 'The page has no root element: its scripts have removed it.';
        throw new ServiceError('CAPTURE_FAILED', message, { causedBy: 'page', cause: error });
      }
      throw error;
    }
  }

  /** Whether the document has no root element, which most functions need. */
  async #lacksRoot(): Promise<boolean> {
    const contextId = await this.#contextId?.catch(() => undefined);
    if (contextId === undefined) return false;
    const asked = evaluate(this.#cdp, { contextId, expression: 'document.documentElement === null' });
    return asked.then(Boolean, () => false);
  }
}
