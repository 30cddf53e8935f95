import type { CDPSession } from 'playwright';

/** Where commands of the DevTools protocol can be sent: the session of a page, or of a frame that has a process of its own. */
export interface CommandTarget {
  readonly send: CDPSession['send'];
}

/** The document that a script was to run in is gone: the page or frame has moved on, or was removed. */
export class DocumentGoneError extends Error {
  constructor(cause: unknown) {
    super('the document is gone', { cause });
    this.name = 'DocumentGoneError';
  }
}

/**
 * The id of an execution context for scripts of ours in a frame's document: they see the document, but the page does not
 * see them, and what it made of `Promise` or `Array.prototype` does not concern them. For one name there is one such
 * world in a document.
 *
 * @throws DocumentGoneError
 */
export async function openIsolatedWorld(target: CommandTarget, frameId: string, worldName: string): Promise<number> {
  const created = target.send('Page.createIsolatedWorld', { frameId, worldName });
  return (await created.catch(throwGone)).executionContextId;
}

/**
 * Evaluates in a context, in the page's main world when none is given; waits for promises. The result is copied as JSON.
 *
 * @throws DocumentGoneError when the context does not exist, or goes away meanwhile
 * @throws Error when the expression throws
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
 * An expression that calls a function. Its source travels, so that it may use its arguments and globals only; arguments are
 * copied as JSON.
 */
export function callExpression<A extends readonly unknown[]>(fn: (...args: A) => unknown, args: A): string {
  return `(${fn.toString()})(${args.map((arg) => JSON.stringify(arg)).join(', ')})`;
}

/** Statements that define functions under their own names, for an expression that follows. Their sources travel, as in {@link callExpression}. */
export function definitionsOf(functions: readonly ((...args: never[]) => unknown)[]): string {
  return functions.map((fn) => `const ${fn.name} = ${fn.toString()};`).join(' ');
}

function throwGone(error: unknown): never {
  throw new DocumentGoneError(error);
}
