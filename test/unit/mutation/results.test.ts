import { expect, test } from 'vitest';
import { describeFiles, describeMutant, type Result, scoreOf, tallyOf } from '../../mutation/results.ts';

const result = (status: string, fileName = 'services/a.ts'): Result => ({
  fileName,
  location: { start: { line: 2, column: 3 }, end: { line: 3, column: 2 } },
  mutatorName: 'BlockStatement',
  replacement: '{}',
  status,
});

test('the score is the share of detected mutants, without those that cannot run', () => {
  const statuses = ['Killed', 'Killed', 'Timeout', 'Survived', 'NoCoverage', 'NoCoverage', 'RuntimeError', 'Ignored'];
  const tally = tallyOf(statuses.map((status) => result(status)));
  expect(tally).toEqual({ detected: 3, survived: 1, uncovered: 2 });
  expect(scoreOf(tally)).toBe(50);
  expect(scoreOf(tallyOf([]))).toBe(100);
});

test('files are listed by score, the lowest first', () => {
  const lines = describeFiles([
    result('Killed'),
    result('Survived', 'services/b.ts'),
    result('Killed', 'services/b.ts'),
  ]);
  expect(lines).toEqual([
    ' 50.0 %  services/b.ts  1 detected, 1 survived, 0 in code that no test runs',
    '100.0 %  services/a.ts  1 detected, 0 survived, 0 in code that no test runs',
  ]);
});

test('a surviving mutant is shown in one line, with the code that it replaces', () => {
  const source = 'if (a)\n  {\n  b(); }; c();\n';
  const shown = describeMutant(result('Survived'), source.replace('  b(); }', '}'));
  expect(shown).toBe('services/a.ts:2:3 BlockStatement: { } → {}');
  const long = describeMutant({ ...result('Survived'), replacement: 'x'.repeat(1000) }, source);
  expect(long.length).toBeLessThan(250);
});
