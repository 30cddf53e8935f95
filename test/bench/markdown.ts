import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The pages of docs that contain results, by the name of the block. */
export const pagesOfBlocks = {
  overview: 'benchmarks.md',
  speed: 'benchmarks/speed.md',
  slots: 'benchmarks/slots.md',
} as const;

const pathOf = (page: string) => fileURLToPath(new URL(`../../docs/${page}`, import.meta.url));

/** Formats a text as prettier does. */
export async function formatMarkdown(text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(pathOf(pagesOfBlocks.overview))), parser: 'markdown' });
}

/** Replaces the results of a part in its page of docs. */
export async function writeBlock(name: keyof typeof pagesOfBlocks, text: string): Promise<void> {
  const path = pathOf(pagesOfBlocks[name]);
  const page = await readFile(path, 'utf8');
  await writeFile(path, replaceBlock(page, name, await formatMarkdown(text)));
}

/**
 * Replaces only the text between `<!-- bench:<name> -->` and `<!-- /bench:<name> -->`.
 *
 * @throws Error if the page does not contain this pair of comments exactly once
 */
export function replaceBlock(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- bench:${name} -->\n`, `<!-- /bench:${name} -->`];
  const [before, rest, ...more] = page.split(begin);
  const [old, after, ...others] = rest?.split(end) ?? [];
  if (before === undefined || old === undefined || after === undefined || more.length > 0 || others.length > 0)
    throw new Error(`The page needs one ${begin.trim()} and one ${end} after it`);
  return `${before}${begin}\n${text.trim()}\n\n${end}${after}`;
}
