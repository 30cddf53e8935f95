import { inflateSync } from 'node:zlib';
import { ptPerInch, pxPerInch } from '@webcapture/shared/api/paper.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { htmlUrl } from '../html-url.ts';

/*
 * Reads and changes PDFs that Chromium wrote. Their objects are plain text in a single section with one cross-reference table, and each
 * stream has its length in its dictionary.
 */

export interface PrintedPdf {
  readonly bytes: Buffer;
  /** Size of the first page, in CSS pixels. */
  readonly width: number;
  readonly height: number;
  readonly pages: number;
}

type Size = Pick<PrintedPdf, 'width' | 'height'>;

const mediaBox = /\/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/;

/** Reads the size of the first page and the number of pages. */
export function readPdf(bytes: Buffer): PrintedPdf {
  const text = bytes.toString('latin1');
  const box = mediaBox.exec(text);
  const pages = text.match(/\/Type \/Page\b/g)?.length ?? 0;
  if (box === null || pages === 0) {
    throw new ServiceError('CAPTURE_FAILED', 'The browser returned an empty PDF. Send the request again.', {
      causedBy: 'service',
    });
  }
  const toPx = (points: string | undefined) => Math.round((Number(points) / ptPerInch) * pxPerInch);
  return { bytes, width: toPx(box[1]), height: toPx(box[2]), pages };
}

/** A backslash escapes a parenthesis, or another backslash, in a string of a PDF. */
const backslash = 0x5c;
/** A closing parenthesis ends a string. */
const parenthesis = 0x29;

/**
 * Makes the links of supplied HTML relative again. Chromium resolves them against the address of the HTML, which exists only inside the
 * renderer. The strings keep their length, so that the offsets in the file remain correct.
 */
export function makeLinksRelative(bytes: Buffer): Buffer {
  const begin = `/URI (${htmlUrl}`;
  for (let at = bytes.indexOf(begin); at >= 0; at = bytes.indexOf(begin, at)) {
    const path = at + begin.length;
    let end = path;
    while (end < bytes.length && bytes[end] !== parenthesis) end += bytes[end] === backslash ? 2 : 1;
    if (end >= bytes.length) break;
    const relative = `/URI (${bytes.toString('latin1', path, end)})`;
    bytes.write(relative.padEnd(end + 1 - at), at, 'latin1');
    at = end;
  }
  return bytes;
}

const withoutSpaces = (text: string) => text.replaceAll(/\s/gu, '');

/**
 * Matches an object whose first entry is a title. The groups are its number, the title as a literal, the title as UTF-16 in hexadecimal
 * digits, and the other entries.
 */
const titled = /^(\d+) 0 obj\n<<\/Title (?:\(((?:[^\\()]|\\.)*)\)|<FEFF([\dA-F]*)>)\n(\/Dest [^]*?)\nendobj$/gm;

/**
 * Restores spaces in the titles of bookmarks. Chromium builds a title from the letters that it draws, and it draws no space at the end of
 * a line. Appends new versions of the objects to the file (an incremental update), so that all offsets remain correct.
 *
 * @param headings texts of the headings of the page
 */
export function spaceBookmarks(bytes: Buffer, headings: readonly string[]): Buffer {
  if (headings.length === 0) return bytes;
  const spaced = new Map(headings.map((heading) => [withoutSpaces(heading), heading]));
  const text = bytes.toString('latin1');
  const end = /trailer\n<<([^]*?)>>\nstartxref\n(\d+)\n%%EOF\s*$/.exec(text.slice(-2000));
  if (end === null) return bytes;
  const [, trailer = '', start = ''] = end;
  let appended = '\n';
  const sections: string[] = [];
  for (const [, id = '', literal, digits, rest = ''] of text.matchAll(titled)) {
    const title = literal === undefined ? utf16Of(digits ?? '') : unescaped(literal);
    const heading = spaced.get(withoutSpaces(title));
    if (heading === undefined || heading === title) continue;
    const offset = String(bytes.length + appended.length).padStart(10, '0');
    sections.push(`${id} 1\n${offset} 00000 n \n`);
    const hex = Buffer.from(`\uFEFF${heading}`, 'utf16le').swap16().toString('hex').toUpperCase();
    appended += `${id} 0 obj\n<</Title <${hex}>\n${rest}\nendobj\n`;
  }
  if (sections.length === 0) return bytes;
  const table = bytes.length + appended.length;
  appended += `xref\n${sections.join('')}trailer\n<<${trailer}\n/Prev ${start}>>\nstartxref\n${table}\n%%EOF\n`;
  return Buffer.concat([bytes, Buffer.from(appended, 'latin1')]);
}

const utf16Of = (digits: string) => Buffer.from(digits, 'hex').swap16().toString('utf16le');

/** Chromium writes literal strings in ASCII, with other characters as octal digits. */
const unescaped = (literal: string) =>
  literal.replaceAll(/\\([0-7]{3}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : code,
  );

/**
 * Whether the pages are blank: they have no text, image or shape, and at most one plain background color.
 *
 * @param bytes a file as Chromium wrote it, without an incremental update
 * @param hasTemplates whether the pages have a header or a footer, which are ignored
 */
export function isBlankPdf(bytes: Buffer, hasTemplates: boolean): boolean {
  const text = bytes.toString('latin1');
  const table = readReferences(text);
  const backgrounds = new Set<string>();
  for (const [page] of text.matchAll(/\/Type \/Page\n[^]*?\nendobj/g)) {
    const [, width, height] = mediaBox.exec(page) ?? [];
    const at = table(Number(/\/Contents (\d+) 0 R/.exec(page)?.[1]));
    const content = streamAt(bytes, text, at);
    if (content === undefined) return false;
    const size = { width: Number(width), height: Number(height) };
    if (showsMore(hasTemplates ? withoutTemplates(content) : content, size, backgrounds)) return false;
  }
  return backgrounds.size <= 1;
}

/** Reads the cross-reference table. The returned function maps an object number to the offset of the object. */
function readReferences(text: string): (id: number) => number {
  const entryBytes = 20;
  const start = Number(/startxref\n(\d+)\n/.exec(text.slice(-100))?.[1]);
  const entries = /^xref\n0 \d+\n/.exec(text.slice(start, start + 100))?.[0].length ?? Number.NaN;
  return (id) => Number.parseInt(text.slice(start + entries + id * entryBytes).slice(0, entryBytes), 10);
}

/** The content stream of a blank page is smaller than this. */
const maxBlankBytes = 1024 ** 2;

/** Returns the stream of the object at an offset. Returns undefined if the format is unknown or the stream is too long. */
function streamAt(bytes: Buffer, text: string, at: number): string | undefined {
  const header = /^\d+ 0 obj\n<<([^]*?)>> stream\n/.exec(text.slice(at, at + 1000));
  const length = /\/Length (\d+)(?! 0 R)/.exec(header?.[1] ?? '')?.[1];
  if (header === null || length === undefined) return undefined;
  const from = at + header[0].length;
  const data = bytes.subarray(from, from + Number(length));
  try {
    const isDeflated = header[1]?.includes('/FlateDecode') === true;
    return (isDeflated ? inflateSync(data, { maxOutputLength: maxBlankBytes }) : data).toString('latin1');
  } catch {
    return undefined;
  }
}

/** Removes header and footer, which Chromium draws after the page in a clip of the size of the paper. */
function withoutTemplates(content: string): string {
  let depth = 0;
  let last = content.length;
  for (const { 0: operator, index } of content.matchAll(/^[qQ]$/gm)) {
    if (operator === 'q' && depth === 0) last = index;
    depth += operator === 'q' ? 1 : -1;
  }
  return /^q\n0 0 [\d.]+ [\d.]+ re\nW\*? n\n/.test(content.slice(last)) ? content.slice(0, last) : content;
}

/** Minimum share of the paper's width and height for a plain rectangle to count as a background. */
const minBackgroundShare = 0.5;

/** Operators that draw nothing. They set text, line and color state, set clips, or mark content for tags. */
const silent = new Set('W W* n h gs RG G w J j M d i BT ET Tf Tm Td Tr Tz Tc Tw BDC BMC EMC'.split(' '));

/**
 * Whether the content of a page shows more than a background.
 *
 * @param size of the page, in points
 * @param backgrounds receives the colors of plain backgrounds
 */
function showsMore(content: string, { width, height }: Size, backgrounds: Set<string>): boolean {
  type State = { readonly scale: readonly [x: number, y: number]; readonly color: string };
  const saved: State[] = [];
  let state: State = { scale: [1, 1], color: '' };
  let operands: string[] = [];
  /** Whether all shapes and clips so far are rectangles as large as a background. */
  let isPlain = true;
  for (const token of content.split(/\s+/)) {
    if (!/^[A-Za-z'"]/.test(token)) {
      operands.push(token);
      continue;
    }
    switch (token) {
      case 'q':
        saved.push(state);
        break;
      case 'Q':
        state = saved.pop() ?? state;
        break;
      case 'cm': {
        const [a = 0, b, c, d = 0] = operands.slice(-6).map(Number);
        // A rotated shape is not a background.
        const isTurned = b !== 0 || c !== 0;
        state = { ...state, scale: isTurned ? [0, 0] : [state.scale[0] * a, state.scale[1] * d] };
        break;
      }
      case 're': {
        const [wide = 0, tall = 0] = operands.slice(-2).map(Number);
        isPlain &&=
          Math.abs(wide * state.scale[0]) >= width * minBackgroundShare &&
          Math.abs(tall * state.scale[1]) >= height * minBackgroundShare;
        break;
      }
      case 'm':
      case 'l':
      case 'c':
        isPlain = false;
        break;
      case 'rg':
        state = { ...state, color: operands.slice(-3).join(' ') };
        break;
      case 'f':
        if (!isPlain) return true;
        backgrounds.add(state.color);
        break;
      default:
        if (!silent.has(token)) return true;
    }
    operands = [];
  }
  return false;
}
