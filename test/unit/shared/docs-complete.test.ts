import { glob as globFiles, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import { causesOf, errorCodes, errorTable } from '@webcapture/shared/runtime/errors.ts';

const docs = new URL('../../../docs/', import.meta.url);
const guide = await readFile(new URL('api.md', docs), 'utf8');
const configuration = await readFile(new URL('configuration.md', docs), 'utf8');

/** The rows of the table under a heading of the API guide, cell by cell. */
function tableUnder(heading: string): string[][] {
  const section = guide.split(new RegExp(`^#+ ${heading}$`, 'm'))[1]?.split(/^#/m)[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const namesIn = (cell: string | undefined) =>
  [...(cell ?? '').matchAll(/`([A-Za-z_]+)`/g)].map(([, name = '']) => name);

const inOrder = (names: readonly (string | undefined)[]) => names.toSorted((a = '', b = '') => a.localeCompare(b));

describe('the error table of the API guide', () => {
  const rows = tableUnder('Errors');

  test('contains every code exactly once', () => {
    expect(inOrder(rows.flatMap(([, codes]) => namesIn(codes)))).toEqual(inOrder(errorCodes));
  });

  test.each(errorCodes)('has the status and the causes of %s', (code) => {
    const row = rows.find(([, codes]) => namesIn(codes).includes(code));
    expect(row?.[0]).toBe(String(errorTable[code].status));
    expect(namesIn(row?.[3])).toEqual(causesOf(code));
  });
});

test('the API guide documents every option of the request', () => {
  const documented = tableUnder('Options of `POST /capture`').map(([field]) => namesIn(field)[0]);
  expect(inOrder(documented)).toEqual(inOrder(Object.keys(captureRequestSchema.properties)));
});

test('docs/configuration.md and docs/cli.md document every variable that the code reads', async () => {
  const commandLine = await readFile('docs/cli.md', 'utf8');
  const folders = ['services', 'deploy'];
  const sources = await Promise.all(folders.map((folder) => filesUnder(folder)));
  const texts = await Promise.all(sources.flat().map((path) => readFile(path, 'utf8')));
  const names = new Set(
    texts.flatMap((text) => text.match(/'WEBCAPTURE_[A-Z_]+'/g) ?? []).map((name) => name.slice(1, -1)),
  );
  expect(names.size).toBeGreaterThan(20);
  const documented = `${configuration}${commandLine}`;
  expect([...names].filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
});

async function filesUnder(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of globFiles(`${folder}/**/*.{ts,mjs}`, { exclude: (name) => name === 'node_modules' })) {
    paths.push(path);
  }
  return paths;
}
