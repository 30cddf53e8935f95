// @module-tag long
import { globSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { UsageView } from '@webcapture/shared/api/account.ts';
import { serve } from '../../harness/static-site.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import { useFleet } from '../../harness/use.ts';
import { agents } from './guides/agents.ts';
import type { Guide } from './guides/guide.ts';
import { login } from './guides/login.ts';
import { openGraphImages } from './guides/open-graph-images.ts';
import { pageChanges } from './guides/page-changes.ts';
import { pdfInvoices } from './guides/pdf-invoices.ts';
import { siteArchive } from './guides/site-archive.ts';
import { visualRegression } from './guides/visual-regression.ts';
import { blocksOf, Workplace } from './guides/workplace.ts';

const guides: readonly Guide[] = [
  login,
  pdfInvoices,
  openGraphImages,
  visualRegression,
  pageChanges,
  siteArchive,
  agents,
];

/** The addresses in the guides, and those that replace them. Nothing else in the guides is changed. */
const replacements = (site: string, service: string): Readonly<Record<string, string>> => ({
  'https://shop.example.com': site,
  'https://blog.example.com': site,
  'https://staging.example.com': site,
  'https://www.example.com': site,
  'https://capture.example.com': service,
});

const fleet = useFleet({ slots: 2, env: { WEBCAPTURE_SECRETS_KEY: 'the-key-of-this-fleet-of-32-or-more-characters' } });

const folder = new URL('../../../docs/guides/', import.meta.url);
const textOf = (page: string) => readFile(new URL(page, folder), 'utf8');

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(inject('tempFolder'), 'guides-'));
  await Workplace.installCommandLine(parent);
});
afterAll(() => removeFolder(parent));

const tokensUsed = async () => (await fleet().api.call<UsageView>('GET', '/usage')).tokensUsed;

test.each(guides)('the guide $name $promise', async ({ name, env, site: siteOf, notRun = {}, check }) => {
  const { url, key } = fleet();
  const place = await Workplace.create(parent, name, { BASE: url, KEY: key, ...env });
  await using site = await serve(siteOf(place));
  const all = await blocksOf(`guides/${name}.md`, replacements(site.url, url));
  expect(Object.keys(notRun).filter((language) => all.every((block) => block.language !== language))).toEqual([]);
  const blocks = all.filter(({ language }) => !(language in notRun));
  const others = all.filter(({ language }) => language in notRun);
  const before = await tokensUsed();
  const outputs = await place.runBlocks(blocks);
  await place.checkTypes();
  const tokens = async () => (await tokensUsed()) - before;
  await check({
    fleet: fleet(),
    siteUrl: site.url,
    place,
    blocks,
    outputs,
    others,
    tokens,
    text: await textOf(`${name}.md`),
  });
});

test('each guide is tested, and in the table of the overview', async () => {
  const pages = guides.map(({ name }) => `${name}.md`);
  expect(globSync('*.md', { cwd: folder }).toSorted()).toEqual([...pages, 'README.md'].toSorted());
  const overview = await textOf('README.md');
  expect([...overview.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page]) => page)).toEqual(pages);
});

test('the overview has the variables of the API guide', async () => {
  const blocks = await blocksOf('guides/README.md');
  expect(blocks.map(({ code }) => code)).toEqual([(await blocksOf('api.md'))[0]?.code]);
});
