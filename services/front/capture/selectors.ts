import { type CssNode, find, parse, type Selector } from 'css-tree/dist/csstree.esm';
import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { describeValue } from '../validation/explain-errors.ts';

/** What is wrong with the selectors of a request, one sentence each. */
export function* brokenSelectors(request: CaptureRequest): Generator<string> {
  for (const [field, selector] of selectorsOf(request)) {
    const problem = problemOf(selector);
    if (problem !== undefined) yield `${field} must be a CSS selector, not ${describeValue(selector)} (${problem})`;
  }
}

function* selectorsOf({
  waitFor,
  selector,
  ...lists
}: CaptureRequest): Generator<readonly [field: string, selector: string]> {
  if (waitFor?.selector !== undefined) yield ['waitFor.selector', waitFor.selector];
  if (selector !== undefined) yield ['selector', selector];
  for (const name of ['hide', 'remove', 'click'] as const) {
    for (const [index, each] of (lists[name] ?? []).entries()) yield [`${name}.${index}`, each];
  }
}

/**
 * Why no browser takes the selector; undefined for what may be one. Selectors grow with each browser, so that names of pseudo-classes
 * are not judged here: one that the browser does not know fails the capture.
 */
function problemOf(selector: string): string | undefined {
  let list: CssNode;
  try {
    list = parse(selector, {
      context: 'selectorList',
      positions: true,
      onParseError: (error) => {
        throw error;
      },
    });
  } catch (error) {
    return (error as Error).message;
  }
  if (list.type !== 'SelectorList') return undefined;
  // `#1` is a colour to the parser.
  const badId = find(
    list,
    (node) => node.type === 'IdSelector' && /\d/.test(selector[(node.loc?.start.offset ?? 0) + 1] ?? ''),
  );
  if (badId !== null) return 'an id that begins with a digit needs an escape, or [id="…"]';
  const parts = list.children.toArray() as Selector[];
  const isHalf = parts.some(({ children }) => {
    const [first, last] = [children.first, children.last];
    return first === null || first.type === 'Combinator' || last?.type === 'Combinator';
  });
  return isHalf || /(?<!\\),\s*$/.test(selector) ? 'Selector is expected' : undefined;
}
