/// <reference lib="dom" />
import type { PageWriter, readerOf as ReaderOf, TextWriter } from './walking.ts';

/** A function that the caller sends to the page together with the functions of this file. */
declare const readerOf: typeof ReaderOf;

/** Text that an enclosing element adds at the start of each line: a marker on the first line, an indentation on the others. */
interface Prefix {
  /** The marker; null after it was written. */
  first: string | null;
  readonly rest: string;
}

/** Markup around a text. It is not written if there is no text. */
interface Mark {
  readonly open: string;
  readonly close: string;
  isWritten: boolean;
}

/** A table that is being written, and the number of cells in its current row. */
interface Table {
  readonly columns: number;
  rows: number;
  cells: number;
}

/**
 * Writes the visible content of a page as Markdown (CommonMark, and tables of GFM). Escapes characters with a meaning in Markdown, so
 * that no text of the page becomes a link, a heading or HTML.
 *
 * @param linkOf returns the URL of a link or an image, or null to omit it
 */
export function writeMarkdown(maxLength: number, linkOf: (element: Element) => string | null): TextWriter {
  const emphasis: Readonly<Record<string, string>> = { b: '**', strong: '**', i: '*', em: '*', del: '~~', s: '~~' };
  const codes = new Set(['code', 'kbd', 'samp', 'tt']);
  const partsOfTable = new Set(['thead', 'tbody', 'tfoot', 'colgroup', 'col']);
  const maxColumns = 100;
  const maxRowsCounted = 1000;
  /** Elements that a cell cannot contain. A table with one of them is used for layout. */
  const notForCells = 'table, h1, h2, h3, h4, h5, h6, ul, ol, pre, blockquote';
  const attributeOf = (element: Element, name: string) => Element.prototype.getAttribute.call(element, name);
  const findIn = (element: Element, selector: string) => Element.prototype.querySelector.call(element, selector);
  const rowsOf = readerOf<HTMLCollectionOf<HTMLTableRowElement>>(HTMLTableElement, 'rows');
  const cellsOf = readerOf<HTMLCollection>(HTMLTableRowElement, 'cells');

  const pieces: string[] = [];
  let length = 0;
  let lines = 0;
  let breaks = 0;
  let isSpace = false;
  /** Whether the next text follows without a space. */
  let isTight = true;
  const prefixes: Prefix[] = [];
  /** The marks of the current text, at most one of each kind. */
  const marks: Mark[] = [];
  const lists: { next: number | null }[] = [];
  const tables: Table[] = [];
  /** Number of enclosing elements that must be written in one line: headings, links, cells. */
  let flat = 0;
  let cells = 0;
  /** The code that is being written, inline or as a block. */
  let code: { text: string; readonly isBlock: boolean } | null = null;

  const push = (piece: string) => {
    pieces.push(piece);
    length += piece.length;
  };
  const separate = (count: number) => {
    // The first block of an item follows its marker on the same line.
    if ((prefixes.at(-1)?.first ?? null) === null) lines = Math.max(lines, count);
  };
  const closeMarks = () => {
    for (const mark of marks.toReversed()) {
      if (mark.isWritten) push(mark.close);
      mark.isWritten = false;
    }
  };
  const linePrefix = () => {
    const prefix = prefixes.map(({ first, rest }) => first ?? rest).join('');
    for (const one of prefixes) one.first = null;
    return prefix;
  };
  /** Returns the prefix of an empty line: the prefixes of those elements whose first line was already written. */
  const emptyLinePrefix = () => {
    const begun = prefixes.findIndex(({ first }) => first !== null);
    return prefixes
      .slice(0, begun === -1 ? prefixes.length : begun)
      .map(({ rest }) => rest)
      .join('')
      .trimEnd();
  };
  /** Writes everything between the previous text and the next one. */
  const startText = () => {
    const isFirst = pieces.length === 0;
    const count = breaks > 1 ? 2 : lines;
    if (count > 0 || isFirst) {
      closeMarks();
      if (!isFirst) push(count > 1 ? `\n${emptyLinePrefix()}\n` : '\n');
      push(linePrefix());
    } else if (breaks === 1) {
      push(`  \n${linePrefix()}`);
    } else if (isSpace && !isTight) push(' ');
    [lines, breaks, isSpace, isTight] = [0, 0, false, false];
  };
  const openMarks = () => {
    for (const mark of marks) {
      if (mark.isWritten) continue;
      const last = pieces.at(-1) as string;
      // If the same mark has just ended here, it continues.
      if (last === mark.open) pieces.pop();
      else {
        // Without the escape, the character would turn a link into an image.
        if (mark.open === '[' && last.endsWith('!')) pieces[pieces.length - 1] = `${last.slice(0, -1)}\\!`;
        push(mark.open);
      }
      mark.isWritten = true;
    }
  };
  const put = (markdown: string) => {
    startText();
    openMarks();
    push(markdown);
  };
  /** Writes what marks cannot enclose. */
  const putUnmarked = (markdown: string) => {
    startText();
    push(markdown);
  };
  const escape = (text: string) => {
    const escaped = text
      .replaceAll(cells > 0 ? /[\\`*[\]<~|]/g : /[\\`*[\]<~]/g, '\\$&')
      .replaceAll(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
      .replaceAll(/&(?=#?\w{1,31};)/g, '\\&');
    const isAtStart = pieces.length === 0 || lines > 0 || breaks > 0;
    if (!isAtStart) return escaped;
    return escaped.replace(/^[#+=>-]/, '\\$&').replace(/^(\d{1,9})(?=[.)](?:\s|$))/, '$1\\');
  };
  /** Returns a fence with more backticks than any run in the code. */
  const fenceOf = (text: string, least: number) => {
    const longest = (text.match(/`+/g) ?? []).reduce((most, { length: run }) => Math.max(most, run), 0);
    return '`'.repeat(Math.max(least, longest + 1));
  };
  const putCode = (whole: string) => {
    const text = whole.replaceAll(/[ \t\n\r\f]+/g, ' ').trim();
    if (text === '') return;
    const fence = fenceOf(text, 1);
    const pad = text.startsWith('`') || text.endsWith('`') ? ' ' : '';
    put(`${fence}${pad}${cells > 0 ? text.replaceAll('|', '\\|') : text}${pad}${fence}`);
  };
  const putCodeBlock = (whole: string, language: string) => {
    const text = whole.replace(/^\n/, '').trimEnd();
    if (text === '') return;
    const fence = fenceOf(text, 3);
    putUnmarked(`${fence}${language}`);
    const prefix = linePrefix();
    for (const line of [...text.split('\n'), fence]) push(`\n${line === '' ? prefix.trimEnd() : prefix + line}`);
  };
  const beginCode = (element: Element, isBlock: boolean) => {
    const begun = { text: '', isBlock };
    code = begun;
    if (isBlock) separate(2);
    return () => {
      code = null;
      if (!isBlock) {
        putCode(begun.text);
        return;
      }
      const inner = findIn(element, 'code');
      const classes = [attributeOf(element, 'class'), inner === null ? null : attributeOf(inner, 'class')].join(' ');
      putCodeBlock(begun.text, /\b(?:language|lang)-([\w+#.-]{1,30})/.exec(classes)?.[1] ?? '');
      separate(2);
    };
  };
  const beginMark = (open: string, close: string) => {
    if (marks.some((mark) => mark.open === open)) return () => undefined;
    const mark = { open, close, isWritten: false };
    marks.push(mark);
    return () => {
      if (mark.isWritten) push(close);
      marks.pop();
    };
  };
  const beginLink = (element: Element) => {
    const url = linkOf(element);
    if (url === null) return undefined;
    const end = beginMark('[', `](${url})`);
    flat += 1;
    return () => {
      end();
      flat -= 1;
    };
  };
  const beginPrefixed = (prefix: Prefix, isFlat: boolean) => {
    separate(2);
    prefixes.push(prefix);
    if (isFlat) flat += 1;
    return () => {
      if (isFlat) flat -= 1;
      prefixes.pop();
      separate(2);
    };
  };
  const beginList = (element: Element, isOrdered: boolean) => {
    const isInner = lists.length > 0;
    const start = Number.parseInt(attributeOf(element, 'start') ?? '1', 10);
    separate(isInner ? 1 : 2);
    lists.push({ next: isOrdered ? (start >= 0 && start < 1e8 ? start : 1) : null });
    return () => {
      lists.pop();
      separate(isInner ? 1 : 2);
    };
  };
  const beginItem = () => {
    const list = lists.at(-1);
    separate(1);
    const marker = list === undefined || list.next === null ? '- ' : `${list.next}. `;
    const prefix = { first: marker, rest: ' '.repeat(marker.length) };
    prefixes.push(prefix);
    return () => {
      prefixes.pop();
      if (prefix.first !== null) return;
      if (list !== undefined && list.next !== null) list.next += 1;
      // The next item follows without an empty line.
      [lines, breaks] = [1, 0];
    };
  };
  const beginTable = (element: Element) => {
    separate(2);
    const counts = [...rowsOf(element)]
      .slice(0, maxRowsCounted)
      .map((row) => Math.min(maxColumns, cellsOf(row).length));
    tables.push({ columns: Math.max(...counts), rows: 0, cells: 0 });
    return () => {
      tables.pop();
      separate(2);
    };
  };
  const beginRow = (table: Table) => {
    separate(1);
    table.cells = 0;
    return () => {
      if (table.cells === 0) return;
      table.rows += 1;
      if (table.rows === 1) {
        const columns = Math.max(table.columns, table.cells);
        push(`${' |'.repeat(columns - table.cells)}\n${linePrefix()}|${' --- |'.repeat(columns)}`);
      }
    };
  };
  const beginCell = (table: Table) => {
    // Lines between cells and rows are not shown, even with `white-space: pre`.
    breaks = 0;
    if (table.cells === 0) putUnmarked('|');
    table.cells += 1;
    push(' ');
    flat += 1;
    cells += 1;
    isTight = true;
    return () => {
      closeMarks();
      push(' |');
      flat -= 1;
      cells -= 1;
    };
  };
  const isData = (table: Element) =>
    table instanceof HTMLTableElement &&
    !Element.prototype.matches.call(table, '[role="presentation"], [role="none"]') &&
    findIn(table, notForCells) === null;

  const beginBlock = (element: Element, tag: string): (() => void) | undefined => {
    const table = tables.at(-1);
    if (/^h[1-6]$/.test(tag)) return beginPrefixed({ first: `${'#'.repeat(Number(tag[1]))} `, rest: '' }, true);
    if (tag === 'blockquote') return beginPrefixed({ first: '> ', rest: '> ' }, false);
    if (tag === 'pre') return beginCode(element, true);
    if (tag === 'ul' || tag === 'ol') return beginList(element, tag === 'ol');
    if (tag === 'li') return beginItem();
    if (isData(element)) return beginTable(element);
    if (tag === 'hr') {
      separate(2);
      putUnmarked('---');
    }
    if (table !== undefined) {
      if (partsOfTable.has(tag)) return undefined;
      if (tag === 'tr') return beginRow(table);
      if (tag === 'td' || tag === 'th') return beginCell(table);
    }
    separate(2);
    return () => separate(2);
  };

  return {
    enter: (element, tag, box) => {
      if (code !== null) {
        const begun = code;
        const addLine = () => {
          if (box === 'block' && begun.isBlock && begun.text !== '' && !begun.text.endsWith('\n')) begun.text += '\n';
        };
        addLine();
        return addLine;
      }
      if (tag === 'a') return beginLink(element);
      const mark = emphasis[tag];
      if (mark !== undefined) return beginMark(mark, mark);
      if (codes.has(tag)) return beginCode(element, false);
      const isStructure = /^(?:h[1-6]|li|[uo]l|pre|blockquote|table|t[rdh]|hr)$/.test(tag);
      if (flat === 0 && (box === 'block' || isStructure)) return beginBlock(element, tag);
      if (box === 'inline') return undefined;
      isSpace = true;
      return () => {
        isSpace = true;
      };
    },
    image: (image, isShown) => {
      const alt = attributeOf(image, 'alt');
      // An empty `alt` marks a decorative image.
      if (!isShown || alt === '' || code !== null) return;
      const url = linkOf(image);
      const text = escape((alt ?? '').slice(0, 1000).replaceAll(/\s+/g, ' '));
      if (url !== null) put(`![${text}](${url})`);
      else if (text !== '') put(text);
    },
    lineBreak: () => {
      if (code !== null) code.text += '\n';
      else if (flat > 0) isSpace = true;
      else breaks += 1;
    },
    text: (whole, keepsLines) => {
      const text = whole.slice(0, Math.max(0, maxLength - length) + 1);
      if (code !== null) {
        if (code.text.length <= maxLength) code.text += text;
        return;
      }
      const rows = keepsLines && flat === 0 ? text.split('\n') : [text];
      for (const [index, row] of rows.entries()) {
        if (index > 0) breaks += 1;
        const plain = row.replaceAll(/[ \t\n\r\f]+/g, ' ');
        if (plain.startsWith(' ')) isSpace = true;
        if (plain === '' || plain === ' ') continue;
        put(escape(plain.replaceAll(/^ | $/g, '')));
        isSpace = plain.endsWith(' ');
      }
    },
    isFull: () => length > maxLength,
    written: () => pieces.join(''),
  } satisfies PageWriter & Pick<TextWriter, 'written'>;
}
