import type { CaptureReport, SoftTimeout } from './capture.ts';

/** One sentence about the outcome of a capture. */
export interface ReportFinding {
  /** `error` and `warning` mean that the file may not show the expected content. */
  readonly severity: 'ok' | 'info' | 'warning' | 'error';
  readonly text: string;
  /** Text of the page that is shown after `text`. It is untrusted, so the caller must escape it. */
  readonly quote?: string;
}

/** The parts of a report that are described. A service of another version may report other names of waits. */
type DescribedReport = Pick<
  CaptureReport,
  'httpStatus' | 'title' | 'images' | 'blockedRequests' | 'truncated' | 'blank' | 'challenge'
> & {
  readonly scriptError?: string | undefined;
  readonly softTimeouts: readonly string[];
};

/**
 * Describes a report in sentences, which the dashboard, the command line and the tools for agents share.
 *
 * @param nameOption returns the name of an option of POST /capture for the reader; by default the name in the API
 */
export function describeReport(
  report: DescribedReport,
  nameOption: (option: 'antiBot' | 'imageTimeout' | 'script') => string = (option) => option,
): readonly ReportFinding[] {
  const { httpStatus, title, images, blockedRequests, truncated, blank, challenge, scriptError } = report;
  const timeouts: Readonly<Record<string, string>> = {
    load: 'The load event did not occur in time; the page was captured as it was.',
    domcontentloaded: 'The document was not parsed in time; the page was captured as it was.',
    networkidle: 'The network did not become idle in time; the page was captured as it was.',
    waitFor: 'The element or text that was waited for did not come in time; the page was captured as it was.',
    images: `Not all images had loaded when ${nameOption('imageTimeout')} ended.`,
    fonts: 'Not all fonts had loaded in time.',
    settle: 'The page did not settle in time; it was captured as it was.',
    animations: 'Scripts were still moving something in view when the page was captured.',
    content: 'Scripts were still adding content in view when the page was captured.',
    extract: 'Not all parts of the page could be extracted in time.',
  } satisfies Record<SoftTimeout, string>;
  const count = (number: number, noun: string) => `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`;

  const findings: ReportFinding[] = [];
  const add = (severity: ReportFinding['severity'], text: string, quote?: string) =>
    findings.push({ severity, text, ...(quote !== undefined && { quote }) });
  if (httpStatus !== null) {
    add(httpStatus >= 400 ? 'error' : 'ok', `The page answered with status ${httpStatus}.`);
  }
  if (challenge) add('error', `The page showed a bot check. The option ${nameOption('antiBot')} may help.`);
  if (blank) add('error', 'The image has a single color.');
  if (scriptError !== undefined) add('error', `The code of ${nameOption('script')} failed:`, scriptError);
  if (truncated) add('warning', 'The page is not shown to its end.');
  for (const each of report.softTimeouts) add('warning', timeouts[each] ?? `A wait timed out: ${each}.`);
  if (images.failed > 0) add('warning', `${count(images.failed, 'image')} failed to load.`);
  if (images.pending > 0) add('warning', `${count(images.pending, 'image')} had not loaded yet.`);
  if (images.loaded > 0) add('ok', `${count(images.loaded, 'image')} loaded.`);
  if (blockedRequests > 0) add('info', `${count(blockedRequests, 'request')} blocked.`);
  if (title !== '') add('info', 'Title:', title);
  return findings;
}

/** Whether a reader must see the finding even if space is limited. */
export const isProblem = ({ severity }: ReportFinding): boolean => severity === 'error' || severity === 'warning';
