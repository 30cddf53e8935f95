import type { CaptureResult } from '@webcapture/client';
import { describeReport, type ReportFinding } from '@webcapture/shared/api/describe-report.ts';
import type { ComponentChildren } from 'preact';
import { formatDuration, formatNumber } from '../shell/format.ts';
import { Card } from '../widgets/card.tsx';
import { Bar, type BarPart } from '../widgets/figures.tsx';
import { UntrustedText } from '../widgets/untrusted-text.tsx';

/** The request of a capture, or the known part of it. */
type Request = Readonly<Record<string, unknown>>;

/** Shows the report of a capture: its findings, and the time of each step. */
export function Report({
  capture,
  request,
  link,
}: {
  readonly capture: CaptureResult;
  readonly request?: Request;
  readonly link?: ComponentChildren;
}) {
  const { originalSize } = capture.report;
  const timings = timingsOf(capture);
  return (
    <Card id="report" title="Report" aside={link}>
      <div class="card-body">
        <Findings findings={findingsOf(capture, request)} />
        <h3 class="timing-title">{totalTime(capture, timings)}</h3>
        <Bar label="Time by steps" parts={timings} />
        {originalSize !== undefined && (
          <p class="muted">
            Before it was resized: {formatNumber(originalSize.width)} × {formatNumber(originalSize.height)}
          </p>
        )}
      </div>
    </Card>
  );
}

const tones: Readonly<Record<ReportFinding['severity'], Finding['tone']>> = {
  ok: 'good',
  info: 'plain',
  warning: 'warning',
  error: 'bad',
};

/** Describes the report and other facts of the capture. If the request is not known, the waits are unknown and not listed. */
function findingsOf(
  { report, metadata, fromCache, tokenCost, region }: CaptureResult,
  request: Request | undefined,
): Finding[] {
  const findings: Finding[] = describeReport(report).map(({ severity, ...finding }) => ({
    tone: tones[severity],
    ...finding,
  }));
  if (report.softTimeouts.length === 0 && !fromCache) {
    const text = request === undefined ? 'No wait timed out.' : `No wait timed out. Waited for: ${waits(request)}.`;
    findings.push({ tone: 'good', text });
  }
  // The report of an earlier version does not say what changed the address.
  const { finalUrl, responseUrl = metadata.url } = report;
  if (responseUrl !== null && isOtherAddress(metadata.url, responseUrl)) {
    findings.push({ tone: 'plain', text: 'Redirected to:', quote: responseUrl });
  }
  if (isOtherAddress(responseUrl ?? metadata.url, finalUrl)) {
    findings.push({ tone: 'plain', text: 'The address changed to:', quote: finalUrl });
  }
  findings.push({ tone: 'plain', text: `Rendered in ${region}. ${cost(fromCache, tokenCost)}` });
  return findings;
}

/** Whether two addresses differ. A different spelling or fragment does not count. */
function isOtherAddress(before: string, after: string): boolean {
  const [from, to] = [before, after].map((address) => {
    const url = URL.parse(address);
    if (url !== null) url.hash = '';
    return url?.href ?? address;
  });
  return from !== to;
}

function waits(request: Request): string {
  const event = typeof request['waitUntil'] === 'string' ? request['waitUntil'] : 'load';
  const delay = typeof request['delay'] === 'number' && request['delay'] > 0 ? `a delay of ${request['delay']} ms` : '';
  return [event, 'images', 'fonts', request['waitFor'] === undefined ? '' : 'waitFor', delay]
    .filter(Boolean)
    .join(', ');
}

function cost(fromCache: boolean, tokens: number): string {
  if (fromCache) return 'From the response cache, at no cost.';
  return `Cost: ${formatNumber(tokens)} token${tokens === 1 ? '' : 's'}.`;
}

/** A response from the cache contains the steps of the earlier capture, but the duration of its own request. */
function totalTime({ fromCache, processingTimeMs, report }: CaptureResult, steps: readonly BarPart[]): string {
  if (!fromCache) return `Time: ${formatDuration(processingTimeMs + (report.timings.answerMs ?? 0))}`;
  return `Time of the earlier capture: ${formatDuration(steps.reduce((sum, { value }) => sum + value, 0))}`;
}

/** The steps of a capture, for a bar. */
function timingsOf({ report: { timings } }: CaptureResult): readonly BarPart[] {
  const part = (label: string, value: number | undefined) =>
    value === undefined ? [] : [{ label, value, text: formatDuration(value) }];
  return [
    ...part('queue', timings.queueMs),
    ...part('open', timings.openMs),
    ...part('navigate', timings.navigateMs),
    ...part('settle', timings.settleMs),
    ...part('shoot', timings.shootMs),
    ...part('store', timings.storeMs),
    ...part('result', timings.resultMs),
    ...part('answer', timings.answerMs),
  ];
}

interface Finding {
  readonly tone: 'good' | 'warning' | 'bad' | 'plain';
  readonly text: string;
  /** Untrusted text of the captured page. */
  readonly quote?: string;
}

const marks: Readonly<Record<Finding['tone'], string>> = { good: '✓', warning: '!', bad: '✕', plain: '·' };

/** The findings of a report, in sentences. */
function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <ul class="findings">
      {findings.map(({ tone, text, quote }) => (
        <li key={text} class={`finding is-${tone}`}>
          <span class="finding-mark" aria-hidden="true">
            {marks[tone]}
          </span>
          <span>
            {tone === 'warning' && <span class="visually-hidden">Warning: </span>}
            {tone === 'bad' && <span class="visually-hidden">Problem: </span>}
            {text} {quote !== undefined && <UntrustedText text={quote} />}
          </span>
        </li>
      ))}
    </ul>
  );
}
