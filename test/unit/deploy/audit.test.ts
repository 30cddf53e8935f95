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
const exception = { id: advisory.id, package: 'leaky', reason: 'only our own input gets there', until: '2027-01-31' };

test('parseReport lists each advisory once, independent of the packages that depend on it', () => {
  const vulnerabilities = { leaky: { via: [via] }, above: { via: ['leaky'] }, beside: { via: [via] } };
  expect(parseReport(JSON.stringify({ vulnerabilities }))).toEqual({ advisories: [advisory] });
  expect(parseReport(JSON.stringify({ vulnerabilities: {} }))).toEqual({ advisories: [] });
});

test.each([
  ['405 Method Not Allowed - POST https://registry.test/-/npm/v1/', 'the registry does not offer advisories (405)'],
  ['404 Not Found - POST https://registry.test/-/npm/v1/', 'the registry does not offer advisories (404)'],
  ['503 Service Unavailable - POST https://registry.test/-/npm/v1/', 'the registry answered with status 503'],
  [
    'request to https://registry.test/ failed, reason: getaddrinfo EAI_AGAIN registry.test',
    'the registry cannot be reached (EAI_AGAIN)',
  ],
  ['something else at https://registry.test/', 'the registry cannot be reached'],
])('an unavailable registry skips the audit, with a reason that does not name the registry: %s', (message, skipped) => {
  expect(parseReport(JSON.stringify({ message, error: { summary: '', detail: '' } }))).toEqual({ skipped });
});

test('a report without results fails the audit', () => {
  expect(parseReport(JSON.stringify({ error: { code: 'ENOLOCK', summary: 'no lockfile' } }))).toBe(null);
  expect(parseReport('')).toBe(null);
});

describe('an advisory with an exception', () => {
  test('is no problem until the exception expires', () => {
    expect(compare([advisory], [exception], '2027-01-31')).toEqual([]);
    expect(compare([advisory], [exception], '2027-02-01')).toEqual([
      expect.stringMatching(
        /^leaky <2\.0\.0: high: Leaks .*GHSA-aaaa-bbbb-cccc.*exception until 2027-01-31: "only our own/,
      ),
    ]);
    expect(compare([advisory], [], '2027-01-01')).toEqual([expect.stringContaining('add the advisory')]);
    expect(compare([advisory], [{ ...exception, package: 'other' }], '2027-01-01')).toHaveLength(2);
  });

  test('is reported for removal when no package has the advisory', () => {
    expect(compare([], [exception], '2027-01-01')).toEqual([expect.stringContaining('remove it')]);
  });
});
