import { type CssNode, find, parse, type Selector, tokenize, tokenTypes } from 'css-tree/dist/csstree.esm';

/** A compound of a complex selector, such as `p.note` of `main > p.note`. */
export interface Compound {
  /** The combinator before this compound; empty for the first one. */
  readonly combinator: string;
  readonly css: string;
}

/** A part of a selector. It is a list of CSS selectors that match in one document and its open shadow roots. `>>` separates parts. */
export interface SelectorPart {
  readonly css: string;
  /**
   * Those selectors of the list that have combinators. A combinator may cross the boundary of a shadow root, which browsers do not support.
   */
  readonly chains: readonly (readonly Compound[])[];
}

/** The parts from the outside to the inside. All but the last one match frames. */
export type ParsedSelector = readonly SelectorPart[];

/** An invalid selector. The message says why browsers refuse it. */
export class SelectorError extends Error {}

/**
 * Parses `frame >> frame >> element`. Names of pseudo-classes are not checked, because each browser version adds some.
 *
 * @throws SelectorError
 */
export function parseSelector(selector: string): ParsedSelector {
  const parts = split(selector);
  return parts.map((part, index) => {
    const css = part.trim();
    if (css === '' && parts.length > 1) {
      const side = index === 0 ? 'before the first' : index === parts.length - 1 ? 'after the last' : 'between two';
      throw new SelectorError(`there is no selector ${side} ">>": write frame >> element`);
    }
    try {
      return { css, chains: chainsOf(css) };
    } catch (error) {
      const { message } = error as Error;
      throw new SelectorError(parts.length === 1 ? message : `${message}, in part ${index + 1} of ${parts.length}`);
    }
  });
}

const opening: ReadonlySet<number> = new Set([
  tokenTypes.Function,
  tokenTypes.LeftParenthesis,
  tokenTypes.LeftSquareBracket,
]);
const closing: ReadonlySet<number> = new Set([tokenTypes.RightParenthesis, tokenTypes.RightSquareBracket]);

/** Splits at `>>` outside of strings, brackets and comments. */
function split(selector: string): readonly string[] {
  const parts: string[] = [];
  let [partStart, depth, arrows] = [0, 0, 0];
  const endRun = (at: number) => {
    if (arrows > 2) {
      throw new SelectorError(
        '">>>" is unknown: selectors match in open shadow roots by themselves, ">>" enters a frame',
      );
    }
    if (arrows === 2) {
      parts.push(selector.slice(partStart, at - 2));
      partStart = at;
    }
    arrows = 0;
  };
  tokenize(selector, (type, start) => {
    if (depth === 0 && type === tokenTypes.Delim && selector[start] === '>') {
      arrows += 1;
      return;
    }
    endRun(start);
    if (opening.has(type)) depth += 1;
    else if (closing.has(type)) depth -= 1;
  });
  endRun(selector.length);
  return [...parts, selector.slice(partStart)];
}

/** @throws Error that names the problem of the list of selectors */
function chainsOf(css: string): readonly (readonly Compound[])[] {
  const list: CssNode = parse(css, {
    context: 'selectorList',
    positions: true,
    onParseError: (error) => {
      throw error;
    },
  });
  if (list.type !== 'SelectorList') return [];
  // The parser accepts `#1`, because it is also a color.
  const badId = find(
    list,
    (node) => node.type === 'IdSelector' && /\d/.test(css[(node.loc?.start.offset ?? 0) + 1] ?? ''),
  );
  if (badId !== null) throw new Error('an id that begins with a digit needs an escape, or [id="…"]');
  const selectors = list.children.toArray() as Selector[];
  const isHalf = selectors.some(({ children }) => {
    const [first, last] = [children.first, children.last];
    return first === null || first.type === 'Combinator' || last?.type === 'Combinator';
  });
  if (css === '' || isHalf || /(?<!\\),\s*$/.test(css)) throw new Error('Selector is expected');
  // The parser accepts several combinators in a row, and therefore also `>>` in brackets.
  const doubled = find(list, (node) => node.type === 'Selector' && hasDoubledCombinator(node.children.toArray()));
  if (doubled !== null) throw new Error('Selector is expected between two combinators');
  return selectors.map((selector) => compoundsOf(selector, css)).filter((chain) => chain.length > 1);
}

const hasDoubledCombinator = (nodes: readonly CssNode[]): boolean =>
  nodes.some(({ type }, index) => type === 'Combinator' && nodes[index + 1]?.type === 'Combinator');

function compoundsOf({ children }: Selector, css: string): readonly Compound[] {
  const compounds: { combinator: string; start: number; end: number }[] = [];
  let combinator: string | undefined = '';
  for (const node of children) {
    const [start, end] = [node.loc?.start.offset ?? 0, node.loc?.end.offset ?? 0];
    const last = compounds.at(-1);
    if (node.type === 'Combinator') combinator = node.name;
    else if (combinator !== undefined || last === undefined) {
      compounds.push({ combinator: combinator ?? '', start, end });
      combinator = undefined;
    } else last.end = end;
  }
  return compounds.map((each) => ({ combinator: each.combinator, css: css.slice(each.start, each.end) }));
}
