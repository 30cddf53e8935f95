import { runInThisContext } from 'node:vm';
import { expect, test } from 'vitest';
import { resolveMutants, type StrykerState } from '../../mutation/page-mutants.ts';

// A source as StrykerJS and Vite generate it.
const source = `function scroll(top) {
  if (stryMutAct_9fa48("7")) {} else {
    stryCov_9fa48("7");
    return stryMutAct_9fa48("8") ? top - 1 : (stryCov_9fa48("8", "71"), stryMutAct_9fa48('71') ? 0 : top + 1);
  }
}`;

const call = (text: string): unknown => runInThisContext(`(${text})(1)`);

test('resolveMutants leaves only the active mutant in the source', () => {
  expect(call(resolveMutants(source, {}))).toBe(2);
  expect(call(resolveMutants(source, { activeMutant: '7' }))).toBe(undefined);
  expect(call(resolveMutants(source, { activeMutant: '8' }))).toBe(0);
  expect(call(resolveMutants(source, { activeMutant: '71' }))).toBe(0);
  expect(call(resolveMutants(source, { activeMutant: '1' }))).toBe(2);
  expect(resolveMutants(source, {})).not.toContain('stry');
});

test('the mutants in a source that is sent to a page count as covered by the current test', () => {
  const state: StrykerState = { currentTestId: 'a.test.ts#scrolls' };
  resolveMutants(source, state);
  resolveMutants(source, state);
  expect(state.mutantCoverage).toEqual({ static: {}, perTest: { 'a.test.ts#scrolls': { 7: 2, 8: 2, 71: 2 } } });
});

test('the mutants in a source that is sent outside of a test count as static', () => {
  const state: StrykerState = {};
  resolveMutants(source, state);
  expect(state.mutantCoverage).toEqual({ static: { 7: 1, 8: 1, 71: 1 }, perTest: {} });
});

test('a source without mutants is unchanged', () => {
  expect(resolveMutants('(a) => a + 1', { activeMutant: '1' })).toBe('(a) => a + 1');
});
