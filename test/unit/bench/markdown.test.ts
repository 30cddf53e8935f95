import { readFile } from 'node:fs/promises';
import { check, resolveConfig } from 'prettier';
import { describe, expect, test } from 'vitest';
import { formatMarkdown, replaceBlock, tableOf } from '../../bench/markdown.ts';

const page = '# Title\n\n<!-- bench:speed -->\n\nold\n\n<!-- /bench:speed -->\n\nText after it.\n';

describe('a block of figures', () => {
  test('takes the place of the one before it, and the rest stays as it is', () => {
    const written = replaceBlock(page, 'speed', 'new\n');
    expect(written).toBe(page.replace('old', 'new'));
    expect(replaceBlock(written, 'speed', 'new')).toBe(written);
  });

  test('may hold what a replacement string would change', () => {
    expect(replaceBlock(page, 'speed', 'costs $& and $1')).toContain('costs $& and $1');
  });

  test.each([
    ['none', '# Title\n'],
    ['no end', '<!-- bench:speed -->\n'],
    ['two', page + page],
    ['another', page.replaceAll('speed', 'slots')],
  ])('is refused by a page with %s', (_name, text) => {
    expect(() => replaceBlock(text, 'speed', 'new')).toThrow('The page needs one <!-- bench:speed -->');
  });
});

test.each(['speed', 'slots'])(
  'the page of figures has a place for those of %s, and stays well formatted',
  async (name) => {
    const path = new URL('../../../docs/benchmarks.md', import.meta.url);
    const table = tableOf(
      ['page', 'script'],
      [
        ['tiny', '111 (105 to 120) / 136'],
        ['mean', '0.75'],
      ],
    );
    const text = await formatMarkdown(`Measured on a machine.\n\n${table}\n\nMost memory.`);
    const written = replaceBlock(await readFile(path, 'utf8'), name, text);
    expect(written).toContain('| 111 (105 to 120) / 136 |');
    expect(await check(written, { ...(await resolveConfig(path)), parser: 'markdown' })).toBe(true);
  },
);
