import { expect, test } from 'vitest';
import { captureText } from '../../../services/front/plugins/mcp/texts.ts';
import { resultExample } from '../../../services/front/api/capture-examples.ts';
import { remarks } from '../../../services/cli/capture/command.ts';
import { type CaptureReport, reportSchema } from '@webcapture/shared/api/capture.ts';
import { describeReport } from '@webcapture/shared/api/describe-report.ts';

const result = resultExample;
const report: CaptureReport = {
  ...result.report,
  httpStatus: 503,
  title: 'Away',
  images: { loaded: 1, failed: 2, pending: 1200 },
  blockedRequests: 1,
  softTimeouts: ['load', 'images'],
  scriptError: 'x is not defined',
  challenge: true,
};

const problems = [
  'The page answered with status 503.',
  'The page showed a bot check. The option antiBot may help.',
  'The code of script failed:',
  'The load event did not occur in time; the page was captured as it was.',
  'Not all images had loaded when imageTimeout ended.',
  '2 images failed to load.',
  '1,200 images had not loaded yet.',
];

test('describeReport returns sentences, the problems first, and quotes the page', () => {
  const findings = describeReport(report);
  expect(findings.map(({ text }) => text)).toEqual([...problems, '1 image loaded.', '1 request blocked.', 'Title:']);
  expect(findings.filter(({ quote }) => quote !== undefined).map(({ quote }) => quote)).toEqual([
    'x is not defined',
    'Away',
  ]);
});

test('every wait in the schema has a specific sentence, and an unknown wait a general one', () => {
  const { enum: waits } = reportSchema.properties.softTimeouts.items as unknown as { readonly enum: readonly string[] };
  const sentences = [...waits, 'later'].map((wait) => describeReport({ ...report, softTimeouts: [wait] })[3]?.text);
  expect(new Set(sentences).size).toBe(waits.length + 1);
  expect(sentences.filter((text) => text?.startsWith('A wait timed out'))).toEqual(['A wait timed out: later.']);
});

test('the remarks of the command line name flags', () => {
  expect(remarks(report)).toEqual(
    problems.map((text) =>
      text
        .replace('antiBot', '--anti-bot')
        .replace('imageTimeout', '--image-timeout')
        .replace('of script failed:', 'of --script failed: x is not defined'),
    ),
  );
});

test('the text for agents quotes what the page reports', () => {
  const quoted = problems.map((text) => text.replace('failed:', 'failed: "x is not defined"')).join(' ');
  expect(captureText({ ...result, report })).toContain(`\nproblems: ${quoted}`);
  expect(captureText(result)).not.toContain('problems');
});
