import { replaceUnsafe } from '@webcapture/shared/api/untrusted-text.ts';

/** Makes text of a page or of the service safe to print. Control characters are shown as their code. */
export const plainText = (text: string): string =>
  replaceUnsafe(text, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);

/** Like {@link plainText}, but on one line and with at most `max` characters. */
export function shortText(text: string, max: number): string {
  const line = plainText(text).replaceAll(/\s+/g, ' ').trim();
  const letters = [...line];
  return letters.length <= max ? line : `${letters.slice(0, max - 1).join('')}…`;
}

/** Value of a cell; null and undefined are shown as a dash. */
export type Cell = string | number | boolean | null | undefined;

const cellText = (cell: Cell): string => (cell === null || cell === undefined || cell === '' ? '-' : String(cell));

/** Formats columns, each as wide as its longest cell. The last column is cut off at the width of the terminal. */
export function table(header: readonly string[], rows: readonly (readonly Cell[])[], width = 120): string {
  const cells = [header, ...rows.map((row) => row.map((cell) => shortText(cellText(cell), 200)))];
  const widths = header.map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? '')].length)));
  const last = header.length - 1;
  const room = Math.max(20, width - widths.slice(0, last).reduce((sum, each) => sum + each + 2, 0));
  const line = (row: readonly string[]) =>
    row
      .map((text, column) => (column === last ? shortText(text, room) : text.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${cells.map(line).join('\n')}\n`;
}

/** Formats names and values, one pair per line. */
export function facts(rows: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 1;
  return rows.map(([name, value]) => `${`${name}:`.padEnd(width)}  ${plainText(cellText(value))}\n`).join('');
}

/** Returns a share from 0 to 1 as a percentage with three significant digits, so that a small share is not shown as 0%. */
export const percentOf = (share: number): string => `${Number((100 * share).toPrecision(3))}%`;
