import { describe, expect, test } from 'vitest';
import { compare, parseReport } from '../../../deploy/audit/audit.ts';

const via = {
  source: 1,
  name: 'leaky',
  title: 'Leaks',
  url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
  severity: 'high',
  range: '<2.0.0',
};
const advisory = { id: 'GHSA-aaaa-bbbb-cccc', package: 'leaky', severity: 'high', title: 'Leaks', range: '<2.0.0' };
const judgement = { id: advisory.id, package: 'leaky', reason: 'only our own input gets there', until: '2027-01-31' };

test('of what npm audit reports, each cause stands once, whoever depends on it', () => {
  const vulnerabilities = { leaky: { via: [via] }, above: { via: ['leaky'] }, beside: { via: [via] } };
  expect(parseReport(JSON.stringify({ vulnerabilities }))).toEqual({ advisories: [advisory] });
  expect(parseReport(JSON.stringify({ vulnerabilities: {} }))).toEqual({ advisories: [] });
});

test('a registry that does not answer is no finding; an audit that cannot be made is one', () => {
  const away = { message: 'request to http://127.0.0.1:9/ failed', error: { summary: '', detail: '' } };
  expect(parseReport(JSON.stringify(away))).toEqual({ skipped: away.message });
  expect(parseReport(JSON.stringify({ error: { code: 'ENOLOCK', summary: 'no lockfile' } }))).toBe(null);
  expect(parseReport('')).toBe(null);
});

describe('what was judged', () => {
  test('is no problem until its day', () => {
    expect(compare([advisory], [judgement], '2027-01-31')).toEqual([]);
    expect(compare([advisory], [judgement], '2027-02-01')).toEqual([
      expect.stringMatching(
        /^leaky <2\.0\.0: high: Leaks .*GHSA-aaaa-bbbb-cccc.*judged until 2027-01-31: "only our own/,
      ),
    ]);
    expect(compare([advisory], [], '2027-01-01')).toEqual([expect.stringContaining('judge the advisory')]);
    expect(compare([advisory], [{ ...judgement, package: 'other' }], '2027-01-01')).toHaveLength(2);
  });

  test('goes from the list when no package needs it', () => {
    expect(compare([], [judgement], '2027-01-01')).toEqual([expect.stringContaining('remove it')]);
  });
});
