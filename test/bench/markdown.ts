import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const benchmarksPath = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));

/** As prettier wants it to be. */
export async function formatMarkdown(text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(benchmarksPath)), parser: 'markdown' });
}

/** Puts what a part has measured into docs/benchmarks.md, in place of what it has measured before. */
export async function writeBlock(name: string, text: string): Promise<void> {
  const page = await readFile(benchmarksPath, 'utf8');
  await writeFile(benchmarksPath, replaceBlock(page, name, await formatMarkdown(text)));
}

/**
 * Replaces what stands between `<!-- bench:<name> -->` and `<!-- /bench:<name> -->`, and nothing else.
 *
 * @throws Error when the page does not have this pair of comments exactly once
 */
export function replaceBlock(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- bench:${name} -->\n`, `<!-- /bench:${name} -->`];
  const [before, rest, ...more] = page.split(begin);
  const [old, after, ...others] = rest?.split(end) ?? [];
  if (before === undefined || old === undefined || after === undefined || more.length > 0 || others.length > 0)
    throw new Error(`The page needs one ${begin.trim()} and one ${end} after it`);
  return `${before}${begin}\n${text.trim()}\n\n${end}${after}`;
}
