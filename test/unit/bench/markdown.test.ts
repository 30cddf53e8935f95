import { readFile } from 'node:fs/promises';
import { check, resolveConfig } from 'prettier';
import { describe, expect, test } from 'vitest';
import { formatMarkdown, pagesOfBlocks, replaceBlock, tableOf } from '../../bench/markdown.ts';

const page = '# Title\n\n<!-- bench:speed -->\n\nold\n\n<!-- /bench:speed -->\n\nText after it.\n';

describe('replaceBlock', () => {
  test('replaces the block of that name and leaves the rest of the page unchanged', () => {
    const written = replaceBlock(page, 'speed', 'new\n');
    expect(written).toBe(page.replace('old', 'new'));
    expect(replaceBlock(written, 'speed', 'new')).toBe(written);
  });

  test('inserts text with the special patterns of String.replace literally', () => {
    expect(replaceBlock(page, 'speed', 'costs $& and $1')).toContain('costs $& and $1');
  });

  test.each([
    ['no block', '# Title\n'],
    ['a block without an end', '<!-- bench:speed -->\n'],
    ['two blocks of that name', page + page],
    ['a block of another name only', page.replaceAll('speed', 'slots')],
  ])('throws for a page with %s', (_name, text) => {
    expect(() => replaceBlock(text, 'speed', 'new')).toThrow('The page needs one <!-- bench:speed -->');
  });
});

test.each(Object.entries(pagesOfBlocks))(
  'the block %s is in docs/%s, which stays formatted after an update',
  async (name, page) => {
    const path = new URL(`../../../docs/${page}`, import.meta.url);
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
