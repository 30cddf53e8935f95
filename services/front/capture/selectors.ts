import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { parseSelector, SelectorError } from '@webcapture/shared/api/selector.ts';
import { describeValue } from '../validation/explain-errors.ts';

/** Yields a message for each invalid selector of a request. */
export function* brokenSelectors(request: CaptureRequest): Generator<string> {
  for (const [field, selector] of selectorsOf(request)) yield* brokenSelector(field, selector);
}

/** Yields a message if the selector is invalid. @param mayEnter whether it may match in frames */
export function* brokenSelector(field: string, selector: string, mayEnter = true): Generator<string> {
  const problem = problemOf(selector, mayEnter);
  if (problem !== undefined) yield `${field} must be a CSS selector, not ${describeValue(selector)} (${problem})`;
}

function* selectorsOf({
  waitFor,
  selector,
  steps,
  persistence,
  ...lists
}: CaptureRequest): Generator<readonly [field: string, selector: string]> {
  if (waitFor?.selector !== undefined) yield ['waitFor.selector', waitFor.selector];
  if (selector !== undefined) yield ['selector', selector];
  for (const [index, step] of (steps ?? []).entries()) {
    for (const [action, target] of Object.entries(step)) {
      const field = `steps.${index}.${action}`;
      if (action !== 'goto' && typeof target === 'string') yield [field, target];
      if (typeof target === 'object' && target.selector !== undefined) yield [`${field}.selector`, target.selector];
    }
  }
  for (const name of ['hide', 'remove', 'click'] as const) {
    yield* namedSelectors(name, lists[name]);
  }
  yield* namedSelectors('persistence.compare.ignore', persistence.compare?.ignore);
}

function* namedSelectors(
  name: string,
  selectors: readonly string[] = [],
): Generator<readonly [field: string, selector: string]> {
  for (const [index, each] of selectors.entries()) yield [`${name}.${index}`, each];
}

/** Returns why a selector is invalid in every browser; undefined if it may be valid. Other invalid selectors fail in the renderer. */
function problemOf(selector: string, mayEnter: boolean): string | undefined {
  try {
    const parts = parseSelector(selector);
    return parts.length > 1 && !mayEnter ? 'it cannot match in frames, so it must have no ">>"' : undefined;
  } catch (error) {
    if (error instanceof SelectorError) return error.message;
    throw error;
  }
}
