import { existsSync, globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);

/** Pages that are read outside of the repository link to this address. */
const repository = 'https://github.com/webcapture/webcapture/blob/main/';

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'charts/webcapture/README.md',
  ...globSync('docs/**/*.md', { cwd: root }),
];

test('every link between the docs has a target', async () => {
  expect(pages.length).toBeGreaterThan(30);
  const texts = new Map(
    await Promise.all(
      pages.map(async (page) => {
        const { href } = new URL(page, root);
        return [href, await readFile(new URL(href), 'utf8')] as const;
      }),
    ),
  );
  const broken: string[] = [];
  for (const [page, text] of texts) {
    for (const [, link = ''] of withoutCode(text).matchAll(/(?:\]\(|src=")([^)\s"]+)[)"]/g)) {
      const inRepository = link.startsWith(repository) ? new URL(link.slice(repository.length), root) : undefined;
      if (inRepository === undefined && /^https?:/.test(link)) continue;
      const target = inRepository ?? new URL(link, page);
      const anchor = target.hash.slice(1);
      target.hash = '';
      const found = texts.get(target.href);
      const leadsNowhere = found === undefined ? !existsSync(target) : anchor !== '' && !anchorsOf(found).has(anchor);
      if (leadsNowhere) broken.push(`${page.slice(root.href.length)}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

test('pages that are packaged link to absolute addresses only', async () => {
  for (const page of ['charts/webcapture/README.md', 'charts/webcapture/VALUES.md', 'charts/webcapture/Chart.yaml']) {
    const text = withoutCode(await readFile(new URL(page, root), 'utf8'));
    const links = [...text.matchAll(/\]\(([^)\s]+)\)|^ *url: (.*)$/gm)].map(([, link, url]) => link ?? url);
    expect(
      links.filter((link) => !/^(https:|#)/.test(link ?? '')),
      page,
    ).toEqual([]);
  }
});

test.each([
  ['docs/security.md', 30],
  ['CONTRIBUTING.md', 5],
])('%s mentions more than %i paths of tests', async (page, count) => {
  expect((await testsNamedBy(page)).length).toBeGreaterThan(count);
});

test('the tests that the docs mention exist', async () => {
  const named = (await Promise.all(pages.map(testsNamedBy))).flat();
  expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
});

async function testsNamedBy(page: string): Promise<string[]> {
  const text = await readFile(new URL(page, root), 'utf8');
  return text.match(/(?<=[\s`]|\.\.\/)test\/[\w./-]*\w/g) ?? [];
}

const withoutCode = (markdown: string) => markdown.replaceAll(/^ *```.*?^ *```/gms, '');

/** The anchors of the headings of a page, as GitHub generates them. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = withoutCode(markdown).matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
