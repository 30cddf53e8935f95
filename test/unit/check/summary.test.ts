import { expect, test } from 'vitest';
import { summaryOf, type CheckResult } from '../../check-runs.ts';

const result = (name: string, outcome: CheckResult['outcome'], text = ''): CheckResult => {
  return { name, outcome, text, seconds: 1 };
};

const types = result('types', 'passed');
const format = result('format', 'unchanged');
const audit = result('audit', 'skipped', 'the registry does not offer advisories (405)');

test.each([
  ['counts the checks that passed, also the unchanged ones', [types, format], '2 checks passed'],
  [
    'says why a check was skipped',
    [types, audit, format],
    '2 checks passed, audit skipped: the registry does not offer advisories (405)',
  ],
  [
    'names the checks that failed and those that were skipped',
    [result('types', 'failed', 'error TS2322'), format, audit, result('lint', 'failed', 'no-console'), format],
    '2 checks passed, 2 failed (types, lint), audit skipped: the registry does not offer advisories (405)',
  ],
])('the last line of npm run check %s', (_, results, line) => {
  expect(summaryOf(results)).toBe(line);
});
