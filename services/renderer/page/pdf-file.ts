import { inflateSync } from 'node:zlib';
import { ptPerInch, pxPerInch } from '@webcapture/shared/api/paper.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { htmlUrl } from './navigate.ts';

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

/** Reads the size of the first page and the number of pages. */
export function readPdf(bytes: Buffer): PrintedPdf {
  const text = bytes.toString('latin1');
  const box = /\/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/.exec(text);
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
 * Whether no page shows anything but one plain background: no text, no image and no shape.
 *
 * @param hasTemplates each page has a header or a footer, which do not count
 */
export function isBlankPdf(bytes: Buffer, hasTemplates: boolean): boolean {
  const text = bytes.toString('latin1');
  const backgrounds = new Set<string>();
  let box: readonly number[] = [];
  for (const [page] of text.matchAll(/\/Type \/Page\n[^]*?\nendobj/g)) {
    box = (/\/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/.exec(page) ?? box).slice(-2).map(Number);
    const content = contentOf(bytes, text, /\/Contents (\d+) 0 R/.exec(page)?.[1]);
    if (content === undefined) return false;
    const shown = showsMore(hasTemplates ? withoutTemplates(content) : content, box, backgrounds);
    if (shown || backgrounds.size > 1) return false;
  }
  return true;
}

/** Undefined where it is written in an unknown way. */
function contentOf(bytes: Buffer, text: string, id: string | undefined): string | undefined {
  const at = text.indexOf(`\n${id} 0 obj\n`);
  const begin = text.indexOf('stream\n', at);
  if (id === undefined || at < 0 || begin < 0) return undefined;
  const dictionary = text.slice(at, begin);
  const length = /\/Length (\d+)(?! 0 R)/.exec(dictionary)?.[1];
  if (length === undefined) return undefined;
  const from = begin + 'stream\n'.length;
  const data = bytes.subarray(from, from + Number(length));
  try {
    return (dictionary.includes('/FlateDecode') ? inflateSync(data) : data).toString('latin1');
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

/**
 * Whether a page shows more than a background.
 *
 * @param box width and height of the page, in points
 * @param backgrounds receives the colours of plain backgrounds
 */
function showsMore(content: string, [width = 0, height = 0]: readonly number[], backgrounds: Set<string>): boolean {
  type State = { readonly scale: readonly [number, number]; readonly colour: string };
  const saved: State[] = [];
  let state: State = { scale: [1, 1], colour: '' };
  let operands: string[] = [];
  let isPlain = true;
  for (const token of content.split(/\s+/)) {
    const [a, b, c, d] = operands.slice(-6).map(Number);
    switch (token) {
      case 'q':
        saved.push(state);
        break;
      case 'Q':
        state = saved.pop() ?? state;
        break;
      case 'cm':
        // What is turned is no background.
        state = {
          ...state,
          scale: b === 0 && c === 0 ? [state.scale[0] * (a ?? 0), state.scale[1] * (d ?? 0)] : [0, 0],
        };
        break;
      case 're': {
        const [wide, tall] = operands.slice(-2).map(Number);
        isPlain &&=
          Math.abs((wide ?? 0) * state.scale[0]) >= width * minBackgroundShare &&
          Math.abs((tall ?? 0) * state.scale[1]) >= height * minBackgroundShare;
        break;
      }
      case 'm':
      case 'l':
      case 'c':
        isPlain = false;
        break;
      case 'n':
        isPlain = true;
        break;
      case 'g':
      case 'rg':
      case 'scn':
        state = { ...state, colour: token === 'scn' ? '' : operands.slice(-3).join(' ') };
        break;
      case 'f':
      case 'f*':
        if (!isPlain || state.colour === '') return true;
        backgrounds.add(state.colour);
        break;
      case 'B':
      case 'B*':
      case 'S':
      case 'Tj':
      case 'TJ':
      case 'Do':
      case 'sh':
      case 'BI':
        return true;
      default:
        operands.push(token);
        continue;
    }
    operands = [];
  }
  return false;
}
