/// <reference lib="dom" />
import type { FieldValue, FieldValues } from '@webcapture/shared/api/extract-fields.ts';
import type { SelectorPart } from '@webcapture/shared/api/selector.ts';
import type { ExtractLimits } from './extraction.ts';
import type { assertKnown as AssertKnown, matchesIn as MatchesIn, openRoots as OpenRoots } from './selecting.ts';
import type {
  readerOf as ReaderOf,
  walkPage as WalkPage,
  withoutControls as WithoutControls,
  writeText as WriteText,
} from './walking.ts';

/** Functions that the caller sends to the page together with the functions of this file. */
declare const assertKnown: typeof AssertKnown;
declare const matchesIn: typeof MatchesIn;
declare const openRoots: typeof OpenRoots;
declare const readerOf: typeof ReaderOf;
declare const walkPage: typeof WalkPage;
declare const withoutControls: typeof WithoutControls;
declare const writeText: typeof WriteText;

/** A field of `extractFields` with its name and its parsed selector. */
export interface ParsedField {
  readonly name: string;
  /** Null for a field without a selector. */
  readonly part: SelectorPart | null;
  readonly attribute?: string;
  readonly list?: boolean;
  readonly fields?: readonly ParsedField[];
}

export interface FieldLimits extends ExtractLimits {
  /** Maximum number of elements of a list. */
  readonly maxItems: number;
}

/** The fields, or the path of the first field whose selector the browser does not support. */
export type ReadFields =
  { readonly fields: FieldValues; readonly isWhole: boolean } | { readonly refused: readonly string[] };

/**
 * Reads fields of the document in its current state. No script of the page runs meanwhile. Values that are over the limits are left out.
 */
export function readFields(
  wanted: readonly ParsedField[],
  { maxBytes, maxMs, noUrl, maxItems }: FieldLimits,
): ReadFields {
  const end = performance.now() + maxMs;
  const encoder = new TextEncoder();
  const urlNames = new Set(['href', 'src']);
  const root = readerOf<Element | null>(Document, 'documentElement')(document);
  const textContent = readerOf<string>(Node, 'textContent');
  const baseUri = readerOf<string>(Node, 'baseURI');
  let isWhole = true;
  let isOver = false;
  let left = maxBytes;

  const refusedIn = (fields: readonly ParsedField[]): readonly string[] | null => {
    for (const { name, part, fields: inner = [] } of fields) {
      try {
        if (part !== null) assertKnown([part]);
      } catch {
        return [name];
      }
      const deeper = refusedIn(inner);
      if (deeper !== null) return [name, 'fields', ...deeper];
    }
    return null;
  };
  /** Reserves bytes of the JSON. Returns false if the limit of bytes or of time is reached; then nothing more is read. */
  const reserve = (bytes: number): boolean => {
    isOver ||= bytes > left || performance.now() > end;
    if (!isOver) left -= bytes;
    return !isOver;
  };
  /** Returns the value of a text, or undefined if it is over the limits. In JSON, a comma follows it. */
  const textValue = (text: string | null): string | null | undefined => {
    const value = text === null ? null : withoutControls(text.slice(0, maxBytes));
    return reserve(encoder.encode(JSON.stringify(value)).length + 1) ? value : undefined;
  };
  const attributeOf = (element: Element, name: string): string | null => {
    const value = Element.prototype.getAttribute.call(element, name);
    if (value === null || !urlNames.has(name.toLowerCase())) return value;
    const url = URL.parse(value, baseUri(element))?.href ?? value;
    return url.startsWith(noUrl) ? null : url;
  };
  /** Returns the text that can be seen, or else the text of an element that is not shown, such as a title or a script. */
  const textOf = (element: Element): string => {
    const writer = writeText(maxBytes);
    isOver ||= !walkPage([writer], end, element);
    return writer.written() || textContent(element).trim();
  };
  const valueOf = (element: Element, { attribute, fields }: ParsedField): string | null | FieldValues | undefined => {
    if (fields !== undefined) return objectOf(element, fields);
    return textValue(attribute === undefined ? textOf(element) : attributeOf(element, attribute));
  };
  const listOf = (elements: readonly Element[], field: ParsedField): FieldValue => {
    const values: (string | null | FieldValues)[] = [];
    for (const element of elements) {
      if (values.length === maxItems) {
        isWhole = false;
        break;
      }
      const value = valueOf(element, field);
      if (value === undefined) break;
      values.push(value);
    }
    return values;
  };
  const objectOf = (scope: Element | null, fields: readonly ParsedField[]): FieldValues | undefined => {
    // The bytes of the braces and a comma.
    if (!reserve(3)) return undefined;
    const start = scope === null || scope === root ? document : scope;
    const roots = openRoots(start);
    const entries: (readonly [string, FieldValue])[] = [];
    for (const field of fields) {
      const { name, part, list } = field;
      // The bytes of the quotes, the colon, and the brackets and the comma of a list.
      if (!reserve(name.length + 6)) break;
      const self = scope === null ? [] : [scope];
      const found = part === null ? self : matchesIn(start, part, roots);
      const [first] = found;
      const value =
        list === true ? listOf(found, field) : first === undefined ? textValue(null) : valueOf(first, field);
      if (value !== undefined) entries.push([name, value]);
    }
    return Object.fromEntries(entries);
  };

  const refused = refusedIn(wanted);
  if (refused !== null) return { refused };
  const fields = objectOf(root, wanted) ?? {};
  return { fields, isWhole: isWhole && !isOver };
}
