import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as render from '../../../services/front/plugins/status-page/render.ts';
import * as script from '../../../services/front/plugins/status-page/script.ts';

/*
 * The browser gets only the exports of these modules (pageScript in page.ts). The compiler finds undeclared names; these tests find
 * names that exist only in Node.js.
 */
test.each([
  ['render.ts', render],
  ['script.ts', script],
])('%s uses only names that the browser gets', (name, module) => {
  const file = new URL(`../../../services/front/plugins/status-page/${name}`, import.meta.url);
  const source = readFileSync(file, 'utf8');
  const imported = [...source.matchAll(/^import (?!type )[^;]*from '(.*)';$/gm)].map(([, from]) => from);
  expect(imported.filter((from) => from !== './render.ts')).toEqual([]);
  expect(source.match(/^(?:async |function|const|let|var|class|enum).*/gm)).toBe(null);
  const constants = Object.values(module as Record<string, unknown>).filter((value) => typeof value !== 'function');
  expect(JSON.parse(JSON.stringify(constants))).toEqual(constants);
});
