import { expect, test } from 'vitest';
import type { FailOn } from '@webcapture/shared/api/option-schemas.ts';
import { assertWanted } from '../../../services/renderer/page/fail-on.ts';

const report = { httpStatus: 404, blank: true, challenge: true, format: 'png' } as const;
const fine = { httpStatus: 200, blank: false, challenge: false, format: 'png' } as const;
const everything: FailOn = { status: [404, '5xx'], blank: true, challenge: true, consoleErrors: true };

test('assertWanted names the first condition that a page does not meet', () => {
  const refused = (...args: Parameters<typeof assertWanted>) => {
    try {
      assertWanted(...args);
      return undefined;
    } catch (error) {
      expect(error).toMatchObject({ code: 'CAPTURE_FAILED', causedBy: 'client' });
      return (error as Error).message;
    }
  };
  expect(refused(everything, report, { error: 'x' })).toBe('failOn.status: the page answered with status 404.');
  expect(refused(everything, { ...report, httpStatus: 599 }, undefined)).toContain('status 599');
  expect(refused(everything, { ...report, httpStatus: 499 }, { error: 'x' })).toBe(
    'failOn.challenge: the page shows a bot check.',
  );
  expect(refused(everything, { ...report, httpStatus: null }, { error: 'x' })).toContain('failOn.challenge');
  expect(refused(everything, { ...report, httpStatus: 200, challenge: false }, { error: `a${'😀'.repeat(200)}` })).toBe(
    `failOn.consoleErrors: a script of the page failed: a${'😀'.repeat(199)}.`,
  );
  expect(refused(everything, { ...fine, blank: true }, { error: undefined })).toMatch(
    /^failOn\.blank: the image has a single/,
  );
  expect(refused(everything, { ...fine, blank: true, format: 'pdf' }, undefined)).toBe(
    'failOn.blank: the pages of the pdf are empty.',
  );
  expect(refused(everything, fine, { error: undefined })).toBeUndefined();
  expect(refused({}, report, undefined)).toBeUndefined();
  expect(refused({ blank: false, challenge: false }, report, undefined)).toBeUndefined();
});
