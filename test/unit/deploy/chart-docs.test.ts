import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { withValuesTable } from '../../../deploy/chart/with-values-table.ts';

const file = (name: string) => readFile(new URL(`../../../charts/webcapture/${name}`, import.meta.url), 'utf8');

test('VALUES.md documents the current values (node deploy/chart/readme.ts)', async () => {
  const page = await file('VALUES.md');
  expect(withValuesTable(page, await file('values.yaml')) === page).toBe(true);
});

test('the README has a readable length', async () => {
  expect((await file('README.md')).split('\n').length).toBeLessThan(200);
});
