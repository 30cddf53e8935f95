import type { CDPSession } from 'playwright';

/** A receiver of commands of the DevTools protocol: the session of a page, or of a frame with a separate process. */
export interface CommandTarget {
  readonly send: CDPSession['send'];
}

/** Thrown if the document in which a script was to run no longer exists, because the page or frame has navigated or was removed. */
export class DocumentGoneError extends Error {
  constructor(cause: unknown) {
    super('the document is gone', { cause });
    this.name = 'DocumentGoneError';
  }
}

/**
 * Returns the id of an execution context for the renderer's scripts in a frame's document. They see the document, but the page does not see
 * them, and changes of the page to `Promise` or `Array.prototype` do not affect them. A document has one such world for each name.
 *
 * @throws DocumentGoneError
 */
export async function openIsolatedWorld(target: CommandTarget, frameId: string, worldName: string): Promise<number> {
  const created = target.send('Page.createIsolatedWorld', { frameId, worldName });
  return (await created.catch(throwGone)).executionContextId;
}

/**
 * Evaluates an expression in a context, by default in the page's main world, and awaits promises. The result is copied as JSON.
 *
 * @throws DocumentGoneError if the context does not exist, or is destroyed meanwhile
 * @throws Error if the expression throws
 */
export async function evaluate(
  target: CommandTarget,
  options: { readonly contextId?: number; readonly expression: string },
): Promise<unknown> {
  const evaluated = target.send('Runtime.evaluate', {
    ...options,
    returnByValue: true,
    awaitPromise: true,
    silent: true,
  });
  const { result, exceptionDetails } = await evaluated.catch(throwGone);
  if (exceptionDetails !== undefined) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value as unknown;
}

/**
 * Returns an expression that calls a function. The function is passed as source, so it may use only its arguments and globals; arguments
 * are copied as JSON.
 */
export function callExpression<A extends readonly unknown[]>(fn: (...args: A) => unknown, args: A): string {
  return `(${fn.toString()})(${args.map((arg) => JSON.stringify(arg)).join(', ')})`;
}

/**
 * Returns statements that define functions under their names, for an expression that follows. The functions are passed as source, see
 * {@link callExpression}.
 */
export function definitionsOf(functions: readonly ((...args: never[]) => unknown)[]): string {
  return functions.map((fn) => `const ${fn.name} = ${fn.toString()};`).join(' ');
}

function throwGone(error: unknown): never {
  throw new DocumentGoneError(error);
}
