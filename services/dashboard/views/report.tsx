import type { CaptureResult } from '@webcapture/client';
import type { ComponentChildren } from 'preact';
import { formatDuration, formatNumber } from '../shell/format.ts';
import { Bar, type BarPart } from '../widgets/figures.tsx';
import { type Finding, Findings } from '../widgets/findings.tsx';

/** The request of a capture, as far as it is known. */
type Request = Readonly<Record<string, unknown>>;

/** How a capture went: what was found, and where the time went. */
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
  return (
    <section class="card" aria-labelledby="report">
      <div class="card-head">
        <h2 id="report">Report</h2>
        {link}
      </div>
      <div class="card-body">
        <Findings findings={findingsOf(capture, request)} />
        <h3 class="timing-title">Time: {formatDuration(capture.processingTimeMs)}</h3>
        <Bar label="Time by steps" parts={timingsOf(capture)} />
        {originalSize !== undefined && (
          <p class="muted">
            Before it was resized: {formatNumber(originalSize.width)} × {formatNumber(originalSize.height)}
          </p>
        )}
      </div>
    </section>
  );
}

const softTimeouts: Readonly<Record<string, string>> = {
  load: 'The load event did not come in time; the page was captured as it stood.',
  domcontentloaded: 'The document was not parsed in time; the page was captured as it stood.',
  networkidle: 'The network was not idle in time; the page was captured as it stood.',
  waitFor: 'What waitFor names did not come in time.',
  images: 'Not all images were in when imageTimeout ended.',
  fonts: 'Not all fonts were in.',
  settle: 'The page did not come to rest; it was captured as it stood.',
  extract: 'Not all parts of the page could be extracted in time.',
};

/** What a report says, in sentences: first what went wrong. Without the request it does not say what was waited for. */
function findingsOf(
  { report, metadata, fromCache, tokenCost, region }: CaptureResult,
  request: Request | undefined,
): Finding[] {
  const { httpStatus, finalUrl, title, images, blockedRequests, truncated, blank, challenge, scriptError } = report;
  const findings: Finding[] = [];
  const add = (tone: Finding['tone'], text: string, quote?: string) =>
    findings.push({ tone, text, ...(quote !== undefined && { quote }) });

  if (httpStatus !== null) {
    add(httpStatus >= 400 ? 'bad' : 'good', `The page answered with status ${httpStatus}.`);
  }
  if (challenge) add('bad', 'The page showed a bot check. The option antiBot may get past it.');
  if (blank) add('bad', 'The picture has a single colour.');
  if (truncated) add('warning', 'The page is not shown to its end.');
  for (const each of report.softTimeouts) add('warning', softTimeouts[each] ?? `Timed out: ${each}.`);
  if (scriptError !== undefined) add('bad', 'The script of the request failed:', scriptError);
  if (images.failed > 0) add('warning', `${count(images.failed, 'image')} failed to load.`);
  if (images.pending > 0) add('warning', `${count(images.pending, 'image')} had not loaded yet.`);
  if (images.loaded > 0) add('good', `${count(images.loaded, 'image')} loaded.`);
  if (report.softTimeouts.length === 0 && !fromCache)
    add(
      'good',
      request === undefined ? 'All that was waited for came.' : `All that was waited for came: ${waits(request)}.`,
    );
  if (blockedRequests > 0) add('plain', `${count(blockedRequests, 'request')} blocked.`);
  if (title !== '') add('plain', 'Title:', title);
  if (metadata.url !== finalUrl) add('plain', 'The page redirected to:', finalUrl);
  add('plain', `Rendered in ${region}. ${cost(fromCache, tokenCost)}`);
  return findings;
}

function waits(request: Request): string {
  const event = typeof request['waitUntil'] === 'string' ? request['waitUntil'] : 'load';
  const delay = typeof request['delay'] === 'number' && request['delay'] > 0 ? `a delay of ${request['delay']} ms` : '';
  return [event, 'images', 'fonts', request['waitFor'] === undefined ? '' : 'waitFor', delay]
    .filter(Boolean)
    .join(', ');
}

function cost(fromCache: boolean, tokens: number): string {
  return fromCache ? 'From the response cache, at no cost.' : `Cost: ${count(tokens, 'token')}.`;
}

const count = (number: number, noun: string) => `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`;

/** The steps of a capture, for a bar. */
function timingsOf({ report: { timings } }: CaptureResult): readonly BarPart[] {
  const part = (label: string, value: number) => ({ label, value, text: formatDuration(value) });
  return [
    part('queue', timings.queueMs),
    part('navigate', timings.navigateMs),
    part('settle', timings.settleMs),
    part('shoot', timings.shootMs),
    part('store', timings.storeMs),
  ];
}
