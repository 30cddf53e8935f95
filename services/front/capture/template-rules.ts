import { ident } from 'css-tree/dist/csstree.esm';

/**
 * Elements that run scripts, or whose content Chromium does not load in a header. With such content, Chromium aborts the print or leaves a
 * gap.
 */
const refusedElements = new Set(
  'applet audio base embed fencedframe frame frameset iframe link object portal script video'.split(' '),
);

/** Attributes that contain the address of an element's content. */
const sources = new Set(['src', 'srcset', 'href', 'xlink:href', 'poster', 'background']);

const tag = /<([a-z][^\t\n\f\r />]*)/gi;
/** Matches one attribute of a tag as browsers parse it. */
const attribute =
  /[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r "'>][^\t\n\f\r >]*))?)?/y;
const cssUrl = /url\(\s*(?:["']|&(?:quot|apos|#34|#39);)?\s*([^)"']{0,30})/gi;
const charsetDeclaration =
  /^<meta[\t\n\f\r /]+charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"[^"<>]*"|'[^'<>]*'|[\w-]+)[\t\n\f\r /]*>/i;

/**
 * Finds what would run or be loaded in a header or footer of a PDF. Chromium prints it as a separate document without network. Every `<`
 * before a letter is parsed as the beginning of a tag, also in comments, styles and values. Therefore no tag is missed that a browser
 * recognizes. The run time is linear in the length of the text.
 *
 * @returns the tag, attribute or rule, for a message; undefined if the template is allowed
 */
export function refusedInTemplate(template: string): string | undefined {
  const read = new Set<number>();
  for (const { 0: start, 1: name = '', index } of template.matchAll(tag)) {
    const element = name.toLowerCase();
    if (refusedElements.has(element)) return `<${element}>`;
    // A template that is a whole document declares its character set.
    if (element === 'meta' && !charsetDeclaration.test(template.slice(index)))
      return '<meta>, except for <meta charset>';
    if (name.includes('<')) return lessThanInTag;
    const refused = refusedAttribute(template, element, index + start.length, read);
    if (refused !== undefined) return refused;
  }
  // Browsers decode character references in style attributes, but not in style elements. After that, they decode the escapes of CSS.
  const referred = withoutReferences(template);
  for (const text of [template, ident.decode(template), ident.decode(referred)]) {
    if (/@import/i.test(text)) return '@import';
    // Chromium prints a header before its fonts are loaded, also from a data URL.
    if (/@font-face/i.test(text)) return '@font-face (name an installed font, or use an image)';
    // image-set() also accepts addresses as plain strings.
    if (/image-set\(/i.test(text)) return 'image-set()';
    for (const [, address = ''] of text.matchAll(cssUrl)) {
      if (!isInside(address)) return shown(`url(${address})`);
    }
  }
  return undefined;
}

/** Named character references that can hide `@import`, `url(` and escapes. */
const namedReferences: Readonly<Record<string, string>> = { commat: '@', lpar: '(', bsol: '\\' };

/** Decodes character references of HTML that can hide a rule, as in `&#117;rl(`. */
function withoutReferences(text: string): string {
  return text.replace(
    /&(?:#x([\da-f]{1,8});?|#(\d{1,8});?|(commat|lpar|bsol);)/gi,
    (all, hex: string | undefined, decimal: string | undefined, name = '') => {
      if (hex !== undefined) return characterOf(Number.parseInt(hex, 16));
      if (decimal !== undefined) return characterOf(Number(decimal));
      return namedReferences[name] ?? all;
    },
  );
}

/** Returns the character of a code point, or the replacement character if there is none. */
const characterOf = (code: number) => (code <= 0x10_ff_ff ? String.fromCodePoint(code) : '\ufffd');

const lessThanInTag = 'a < inside of a tag (write &lt;)';

/** @param read positions at which attributes have been read already, for example as a part of an enclosing tag */
function refusedAttribute(template: string, element: string, from: number, read: Set<number>): string | undefined {
  attribute.lastIndex = from;
  while (!read.has(attribute.lastIndex)) {
    read.add(attribute.lastIndex);
    const found = attribute.exec(template);
    if (found === null) return undefined;
    const [, name = '', double, single, bare = ''] = found;
    if (`${name}${bare}`.includes('<')) return lessThanInTag;
    const key = name.toLowerCase();
    const value = double ?? single ?? bare;
    if (key.startsWith('on')) return key;
    if (sources.has(key) && !isInside(value) && !(element === 'a' && isLink(value))) return shown(`${key}="${value}"`);
  }
  return undefined;
}

/** Whether the address is a data URL or a fragment. Character references are not decoded, so an address with them is refused. */
const isInside = (address: string) => /^\s*(?:data:|#|$)/i.test(address);

const isLink = (address: string) => /^\s*(?:https?:\/\/|mailto:|tel:)/i.test(address);

const maxShown = 60;
const shown = (text: string) => (text.length <= maxShown ? text : `${text.slice(0, maxShown)}…`);
