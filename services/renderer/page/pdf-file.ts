import { inflateSync } from 'node:zlib';
import { ptPerInch, pxPerInch } from '@webcapture/shared/api/paper.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { htmlUrl } from '../html-url.ts';

/*
 * What is read and changed in a PDF as Chromium writes it: all objects are in plain text, in a single section with a table of
 * references, and streams have their length in their dictionary.
 */

export interface PrintedPdf {
  readonly bytes: Buffer;
  /** Of the first page, in CSS pixels. */
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
    throw new ServiceError('CAPTURE_FAILED', 'The browser made an empty file of the page. Send the request again.', {
      causedBy: 'service',
    });
  }
  const toPx = (points: string | undefined) => Math.round((Number(points) / ptPerInch) * pxPerInch);
  return { bytes, width: toPx(box[1]), height: toPx(box[2]), pages };
}

/** Escapes a parenthesis in a string of a PDF. */
const backslash = 0x5c;

/**
 * Writes relative links of supplied HTML as relative ones. Chromium resolves them against the address at which the HTML was opened, which
 * exists only inside of the renderer. The strings keep their length, so that the offsets in the file remain correct.
 */
export function makeLinksRelative(bytes: Buffer): Buffer {
  const begin = `/URI (${htmlUrl}`;
  for (let at = bytes.indexOf(begin); at >= 0; at = bytes.indexOf(begin, at)) {
    const path = at + begin.length;
    let end = bytes.indexOf(')', path);
    while (bytes[end - 1] === backslash) end = bytes.indexOf(')', end + 1);
    if (end < 0) break;
    const relative = `/URI (${bytes.toString('latin1', path, end)})`;
    bytes.write(relative.padEnd(end + 1 - at), at, 'latin1');
    at = end;
  }
  return bytes;
}

const withoutSpaces = (text: string) => text.replaceAll(/\s/gu, '');

/** Of an object whose first entry is a title: its number, the title as a literal or as UTF-16 in hexadecimal digits, and the other entries. */
const titled = /^(\d+) 0 obj\n<<\/Title (?:\(((?:[^\\()]|\\.)*)\)|<FEFF([\dA-F]*)>)\n(\/Dest [^]*?)\nendobj$/gm;

/**
 * Gives bookmarks the spaces of their headings: Chromium composes a title of the letters that it draws, and draws no space at the end of
 * a line. New versions of the objects are appended to the file (an incremental update), so that all offsets in it remain correct.
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

/** A literal string of Chromium's is ASCII: other characters are written in octal digits. */
const unescaped = (literal: string) =>
  literal.replaceAll(/\\([0-7]{3}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : code,
  );

/**
 * Whether no page shows more than one plain background: no text, no image and no shape.
 *
 * @param bytes a file as Chromium wrote it, without an update
 * @param hasTemplates each page has a header or a footer, which do not count
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

/** Reads the table of references: its function returns where the object of a number begins. */
function readReferences(text: string): (id: number) => number {
  const entryBytes = 20;
  const start = Number(/startxref\n(\d+)\n/.exec(text.slice(-100))?.[1]);
  const entries = /^xref\n0 \d+\n/.exec(text.slice(start, start + 100))?.[0].length ?? Number.NaN;
  return (id) => Number.parseInt(text.slice(start + entries + id * entryBytes).slice(0, entryBytes), 10);
}

/** A page that shows nothing is described in less. */
const maxBlankBytes = 1024 ** 2;

/** Returns the stream of the object that begins at an offset; undefined where it is written in an unknown way, or is long. */
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

/** Chromium draws header and footer after the page, in a clip of the size of the paper. */
function withoutTemplates(content: string): string {
  let depth = 0;
  let last = content.length;
  for (const { 0: operator, index } of content.matchAll(/^[qQ]$/gm)) {
    if (operator === 'q' && depth === 0) last = index;
    depth += operator === 'q' ? 1 : -1;
  }
  return /^q\n0 0 [\d.]+ [\d.]+ re\nW\*? n\n/.test(content.slice(last)) ? content.slice(0, last) : content;
}

/** Of the paper, each way: a plain rectangle that is larger is a background. */
const minBackgroundShare = 0.5;

/** Operators that draw nothing: they set the state of text, lines and colours, clip, and mark content for tags. */
const silent = new Set('W W* n h gs RG G w J j M d i BT ET Tf Tm Td Tr Tz Tc Tw BDC BMC EMC'.split(' '));

/**
 * Whether the content of a page shows more than a background.
 *
 * @param size of the page, in points
 * @param backgrounds receives the colours of plain backgrounds
 */
function showsMore(content: string, { width, height }: Size, backgrounds: Set<string>): boolean {
  type State = { readonly scale: readonly [x: number, y: number]; readonly colour: string };
  const saved: State[] = [];
  let state: State = { scale: [1, 1], colour: '' };
  let operands: string[] = [];
  /** Whether all shapes and clips until here are rectangles as large as a background. */
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
        // What is turned is no background.
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
        state = { ...state, colour: operands.slice(-3).join(' ') };
        break;
      case 'f':
        if (!isPlain) return true;
        backgrounds.add(state.colour);
        break;
      default:
        if (!silent.has(token)) return true;
    }
    operands = [];
  }
  return false;
}
