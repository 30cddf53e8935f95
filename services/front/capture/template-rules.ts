import { ident } from 'css-tree/dist/csstree.esm';

/** Elements that run scripts, or hold what Chromium does not load for a header: it gives up the print, or leaves a gap. */
const refusedElements = new Set(
  'applet audio base embed fencedframe frame frameset iframe link object portal script video'.split(' '),
);

/** Attributes that name what an element shows. */
const sources = new Set(['src', 'srcset', 'href', 'xlink:href', 'poster', 'background']);

const tag = /<([a-z][^\t\n\f\r />]*)/gi;
/** An attribute of a tag as browsers read it, after the one before. */
const attribute =
  /[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r "'>][^\t\n\f\r >]*))?)?/y;
const cssUrl = /url\(\s*(?:["']|&(?:quot|apos|#34|#39);)?\s*([^)"']{0,30})/gi;
const charsetDeclaration =
  /^<meta[\t\n\f\r /]+charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"[^"<>]*"|'[^'<>]*'|[\w-]+)[\t\n\f\r /]*>/i;

/**
 * What in a header or footer of a pdf would run, or be loaded: Chromium prints it in a document of its own that has no network.
 *
 * Every `<` with a letter is read as the beginning of a tag, also in comments, styles and values: wherever a browser sees a
 * tag, it is seen here. The time that it takes grows with the length of the text, not with its square.
 *
 * @returns the tag, attribute or rule, for a message; undefined for a template that is printed as it is
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
  // The browser decodes character references in style attributes, but not in style elements, and then the escapes of CSS.
  const referred = withoutReferences(template);
  for (const text of [template, ident.decode(template), ident.decode(referred)]) {
    if (/@import/i.test(text)) return '@import';
    // Chromium prints a header before its fonts are loaded, also from a data URL.
    if (/@font-face/i.test(text)) return '@font-face (name an installed font, or use an image)';
    // It takes addresses as plain strings, too.
    if (/image-set\(/i.test(text)) return 'image-set()';
    for (const [, address = ''] of text.matchAll(cssUrl)) {
      if (!isInside(address)) return shown(`url(${address})`);
    }
  }
  return undefined;
}

/** Named references of characters in `@import`, in `url(` and in escapes. */
const namedReferences: Readonly<Record<string, string>> = { commat: '@', lpar: '(', bsol: '\\' };

/** Decodes the character references of HTML that can hide a rule, as in `&#117;rl(`. */
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

/** The character of a code point, or the replacement character if there is none. */
const characterOf = (code: number) => (code <= 0x10_ff_ff ? String.fromCodePoint(code) : '\ufffd');

const lessThanInTag = 'a < inside of a tag (write &lt;)';

/** @param read where attributes begin that have been read before, as those of a tag that holds this one */
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

/** What comes with the template itself. As it is written: an address that begins with a character reference is refused, too. */
const isInside = (address: string) => /^\s*(?:data:|#|$)/i.test(address);

const isLink = (address: string) => /^\s*(?:https?:\/\/|mailto:|tel:)/i.test(address);

const maxShown = 60;
const shown = (text: string) => (text.length <= maxShown ? text : `${text.slice(0, maxShown)}…`);
