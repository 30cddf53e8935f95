import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { thresholds, thresholdsPage } from '../../../deploy/docs/thresholds-page.ts';

test('docs/thresholds.md is up to date (npm run docs)', async () => {
  const page = await readFile(new URL('../../../docs/thresholds.md', import.meta.url), 'utf8');
  expect(page === thresholdsPage()).toBe(true);
});

test('every threshold has a reason, also one of several in a row', () => {
  const all = thresholds();
  expect(all.filter(({ reason }) => reason === '')).toEqual([]);
  const value = ({ file, name }: { readonly file: string; readonly name: string }) =>
    all.find((each) => each.file === file && each.name === name)?.value;
  expect(value({ file: 'ready.ts', name: 'readyTimeoutMs' })).toBe('2500');
  expect(value({ file: 'scripts/ready.ts', name: 'quietFrames' })).toBe('8');
});
