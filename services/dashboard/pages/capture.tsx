import type { Capture, CaptureHistory } from '@webcapture/client';
import { isImageFormat } from '@webcapture/shared/api/formats.ts';
import { useEffect, useState } from 'preact/hooks';
import { errorInWords } from '../shell/errors.ts';
import { Page } from '../shell/page.tsx';
import { type Query, useQuery } from '../shell/query.ts';
import { linkTo, linkToPlayground } from '../shell/routes.ts';
import { client, hasScope } from '../shell/session.ts';
import { confirm } from '../widgets/dialog.tsx';
import { Loaded } from '../widgets/states.tsx';
import { toast } from '../widgets/toast.tsx';
import './captures/captures.css';
import { Comparison } from './captures/comparison.tsx';
import { EarlierPictures } from './captures/earlier-pictures.tsx';
import { Facts, RequestOptions } from './captures/facts.tsx';
import { History } from './captures/history.tsx';
import { PictureCard } from './captures/picture-card.tsx';
import { type Pictures, usePictures } from './captures/picture.ts';
import { StatusBadge } from './captures/status-badge.tsx';
import { Diagnostics } from '../views/diagnostics.tsx';
import { Extracted } from '../views/extracted.tsx';
import { Report } from '../views/report.tsx';
import { CopyButton } from '../widgets/copy-button.tsx';
import { Card } from '../widgets/card.tsx';
import { neutralText, truncated } from '../widgets/neutral-text.ts';
import { UntrustedText } from '../widgets/untrusted-text.tsx';
import { LiveMark } from '../widgets/live-mark.tsx';
import { useEvents } from '../shell/events.ts';

/** Poll interval while the event stream is down and a capture or refresh is in progress. */
const pollMs = 3000;

/** The page of one capture: picture, facts, report and history. */
export function CapturePage({ uuid }: { readonly uuid: string }) {
  const [isPolling, setPolling] = useState(false);
  const capture = useQuery(async (signal) => client().getCapture(uuid, { signal }), [uuid], {
    everyMs: isPolling ? pollMs : undefined,
  });
  const history = useQuery((signal) => client().getCaptureHistory(uuid, { signal }), [uuid]);
  const reload = () => {
    capture.reload();
    history.reload();
  };
  const state = useEvents('key', (event) => {
    if (event.uuid === uuid) reload();
  });
  const isLive = state.kind === 'live';
  const isUnderWay = capture.data !== undefined && isPending(capture.data);
  useEffect(() => setPolling(!isLive && isUnderWay), [isLive, isUnderWay]);
  useEffect(() => {
    if (!isUnderWay) history.reload();
  }, [isUnderWay]);

  const result = capture.data !== undefined && 'report' in capture.data ? capture.data : undefined;
  const hasPicture = result?.status === 'completed' && isImageFormat(result.metadata.format);
  const pictures = usePictures(hasPicture ? result : undefined);
  return (
    <Page
      title={titleOf(capture.data)}
      actions={
        <>
          <LiveMark state={state} />
          {capture.data !== undefined && (
            <Actions
              capture={capture.data}
              options={history.data?.options}
              isPictureLoading={hasPicture && pictures.isLoading}
              onChanged={reload}
            />
          )}
        </>
      }
    >
      <nav class="back" aria-label="Breadcrumb">
        <a href={linkTo('captures')}>← All captures</a>
      </nav>
      <Loaded query={capture} label="Loading the capture…">
        {(data) => <Details capture={data} pictures={pictures} history={history} onChanged={reload} />}
      </Loaded>
    </Page>
  );
}

function titleOf(capture: Capture | undefined): string {
  if (capture === undefined) return 'Capture';
  const title = 'report' in capture ? neutralText(capture.report.title) : '';
  const { url } = capture.metadata;
  const text = title || (url === 'about:blank' ? 'Supplied HTML' : neutralText(url));
  return truncated(text, 100) ?? text;
}

function isPending(capture: Capture): boolean {
  const refresh = 'refresh' in capture ? capture.refresh?.state : undefined;
  const isRefreshing = capture.status === 'completed' && (refresh === 'queued' || refresh === 'rendering');
  return capture.status === 'queued' || capture.status === 'rendering' || isRefreshing;
}

function Actions({
  capture,
  options,
  isPictureLoading,
  onChanged,
}: {
  readonly capture: Capture;
  /** Options of the capture's request; undefined until they are loaded. */
  readonly options: CaptureHistory['options'] | undefined;
  /** A refresh cannot start before the picture that it replaces is loaded. */
  readonly isPictureLoading: boolean;
  readonly onChanged: () => void;
}) {
  const [isBusy, setBusy] = useState(false);
  const { uuid, status } = capture;
  const run = async (call: () => Promise<unknown>, done: string) => {
    setBusy(true);
    try {
      await call();
      toast(done);
    } catch (error) {
      toast(errorInWords(error).message, 'error');
    } finally {
      setBusy(false);
      onChanged();
    }
  };
  const remove = async () => {
    const isQueued = status === 'queued';
    const isSure = await confirm({
      title: isQueued ? 'Cancel this capture?' : 'Delete this capture?',
      body: isQueued
        ? 'The capture is removed from the queue and costs nothing.'
        : 'The file is removed immediately, and its address stops working. The tokens stay charged. This cannot be undone.',
      action: isQueued ? 'Cancel capture' : 'Delete',
      isDangerous: true,
    });
    if (isSure) await run(() => client().deleteCapture(uuid), isQueued ? 'Capture cancelled' : 'Capture deleted');
  };
  return (
    <>
      {status === 'completed' && 'fileUrl' in capture && (
        <a class="button" href={capture.fileUrl} target="_blank" rel="noopener noreferrer">
          Open file
        </a>
      )}
      {hasScope('capture') && options !== undefined && (
        <a class="button" href={linkToPlayground(requestOf(capture, options))}>
          Open in playground
        </a>
      )}
      <CopyButton text={new URL(linkTo('captures', uuid), document.baseURI).href} what="link" size="normal" />
      {hasScope('capture') && status === 'completed' && (
        <button
          type="button"
          class="button"
          disabled={isBusy || isPictureLoading || isPending(capture)}
          onClick={() => void run(() => client().refreshCapture(uuid), 'Refresh started')}
        >
          Refresh
        </button>
      )}
      {hasScope('capture') && status !== 'deleted' && status !== 'rendering' && (
        <button type="button" class="button is-danger" disabled={isBusy} onClick={() => void remove()}>
          {status === 'queued' ? 'Cancel' : 'Delete'}
        </button>
      )}
    </>
  );
}

/** Returns the request of a capture without its secrets. The service does not return supplied HTML. */
function requestOf({ metadata: { url } }: Capture, options: object): Readonly<Record<string, unknown>> {
  return { ...(url === 'about:blank' ? { html: '' } : { url }), ...options };
}

function Details({
  capture,
  pictures,
  history,
  onChanged,
}: {
  readonly capture: Capture;
  readonly pictures: Pictures;
  readonly history: Query<CaptureHistory>;
  readonly onChanged: () => void;
}) {
  const { before, current } = pictures;
  return (
    <>
      <StatusSummary capture={capture} />
      <div class="capture-columns">
        {(capture.status === 'completed' || isPending(capture)) && (
          <PictureCard capture={capture} title={titleOf(capture)} pictures={pictures} />
        )}
        <div>
          <Card id="facts" title="Facts">
            <div class="card-body">
              <Facts capture={capture} />
            </div>
          </Card>
          <RequestOptions options={history.data?.options ?? {}} />
        </div>
      </div>
      {before !== undefined && current !== undefined && capture.status === 'completed' && (
        <Comparison before={before} after={current} />
      )}
      {'report' in capture && isImageFormat(capture.metadata.format) && history.data !== undefined && (
        <EarlierPictures capture={capture} files={history.data.files} />
      )}
      {'report' in capture && <Report capture={capture} />}
      {'hasDiagnostics' in capture && capture.hasDiagnostics && (
        // The key changes with each refresh, because a refresh may replace the diagnostics.
        <Diagnostics key={'refresh' in capture ? capture.refresh?.endedAt : ''} uuid={capture.uuid} />
      )}
      {'extracted' in capture && capture.extracted && <Extracted uuid={capture.uuid} extracted={capture.extracted} />}
      <History capture={capture} history={history} onChanged={onChanged} />
    </>
  );
}

/** Describes the state of the capture in one sentence. */
function StatusSummary({ capture }: { readonly capture: Capture }) {
  const refreshError = 'refresh' in capture ? capture.refresh?.error : undefined;
  return (
    <>
      <p class="status-summary" role="status">
        <StatusBadge capture={capture} /> {describeStatus(capture)}
      </p>
      {'error' in capture && (
        <div class="message is-danger">
          <p>
            <UntrustedText text={capture.error.message} />
          </p>
          <p class="message-detail">
            <code>{capture.error.code}</code> Failed captures cost nothing.
          </p>
        </div>
      )}
      {refreshError !== undefined && refreshError !== null && (
        <div class="message is-warning">
          <p>
            The last refresh failed, and the picture is unchanged: <UntrustedText text={refreshError.message} />
          </p>
          <p class="message-detail">
            <code>{refreshError.code}</code>
          </p>
        </div>
      )}
    </>
  );
}

function describeStatus(capture: Capture): string {
  switch (capture.status) {
    case 'queued':
      return `Waiting for a free renderer in ${capture.region}.`;
    case 'rendering':
      return `Rendering in ${capture.region}.`;
    case 'completed':
      return isPending(capture) ? 'A refresh is in progress. The picture is the previous one.' : '';
    case 'failed':
      return 'The capture has no file.';
    case 'expired':
      return 'The file has expired and was removed.';
    case 'deleted':
      return 'The capture was deleted. Its record stays for 90 days.';
  }
}
