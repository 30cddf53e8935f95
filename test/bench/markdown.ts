import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const benchmarksPath = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));

/** Formats a text as prettier does. */
export async function formatMarkdown(text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(benchmarksPath)), parser: 'markdown' });
}

/** Replaces the results of a part in docs/benchmarks.md. */
export async function writeBlock(name: string, text: string): Promise<void> {
  const page = await readFile(benchmarksPath, 'utf8');
  await writeFile(benchmarksPath, replaceBlock(page, name, await formatMarkdown(text)));
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
