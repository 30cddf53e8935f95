import type { Capture, CaptureHistory, CaptureResult } from '@webcapture/client';
import { useEffect, useState } from 'preact/hooks';
import { errorInWords } from '../shell/errors.ts';
import { formatBytes, formatDuration, formatShare } from '../shell/format.ts';
import { Page } from '../shell/page.tsx';
import { type Query, useQuery } from '../shell/query.ts';
import { linkTo, linkToPlayground } from '../shell/routes.ts';
import { client, hasScope } from '../shell/session.ts';
import { DataTable, type Column } from '../widgets/data-table.tsx';
import { confirm } from '../widgets/dialog.tsx';
import { Badge } from '../widgets/figures.tsx';
import { Empty, Loaded, Loading } from '../widgets/states.tsx';
import { toast } from '../widgets/toast.tsx';
import './captures/captures.css';
import { Comparison } from './captures/comparison.tsx';
import { EarlierPictures } from './captures/earlier-pictures.tsx';
import { Facts, RequestOptions } from './captures/facts.tsx';
import { type Picture, type Pictures, usePictures } from './captures/picture.ts';
import { StatusBadge } from './captures/status-badge.tsx';
import { Deliveries, Redeliver } from '../views/deliveries.tsx';
import { Diagnostics } from '../views/diagnostics.tsx';
import { Extracted } from '../views/extracted.tsx';
import { Report } from '../views/report.tsx';
import { useObjectUrl } from '../widgets/blob-image.tsx';
import { CopyButton } from '../widgets/copy-button.tsx';
import { Card } from '../widgets/card.tsx';
import { neutralText, truncated } from '../widgets/neutral-text.ts';
import { UntrustedText } from '../widgets/untrusted-text.tsx';
import { LiveMark } from '../widgets/live-mark.tsx';
import { useEvents } from '../shell/events.ts';
import { Ago } from '../widgets/time.tsx';
import { Viewer } from '../widgets/viewer.tsx';

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
  const hasPicture = result?.status === 'completed' && result.metadata.format !== 'pdf';
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
          <PictureCard capture={capture} pictures={pictures} />
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
      {'report' in capture && capture.metadata.format !== 'pdf' && history.data !== undefined && (
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

function PictureCard({ capture, pictures }: { readonly capture: Capture; readonly pictures: Pictures }) {
  return (
    <Card
      id="picture"
      title="Picture"
      class="picture-card"
      aside={
        pictures.current?.isFile === false &&
        capture.status === 'completed' && (
          <span class="muted">A preview, which may show only the top. Open the file to see all of it.</span>
        )
      }
    >
      <PictureBody capture={capture} pictures={pictures} />
    </Card>
  );
}

function PictureBody({ capture, pictures }: { readonly capture: Capture; readonly pictures: Pictures }) {
  if (!('report' in capture)) return <Loading label="No picture yet" />;
  if (capture.metadata.format === 'pdf') return <PdfFile capture={capture} />;
  if (pictures.current === undefined && !pictures.isLoading) return <Empty title="The picture cannot be shown here" />;
  return (
    <ShownPicture
      picture={pictures.current}
      size={pictures.current ?? capture.metadata}
      alt={`Picture of ${titleOf(capture)}`}
    />
  );
}

function ShownPicture({
  picture,
  size: { width, height },
  alt,
}: {
  /** Undefined while the picture is loading. */
  readonly picture: Picture | undefined;
  readonly size: Pick<Picture, 'width' | 'height'>;
  readonly alt: string;
}) {
  const src = useObjectUrl(picture?.blob);
  return <Viewer src={src} width={width} height={height} alt={alt} />;
}

function PdfFile({ capture: { fileUrl, metadata } }: { readonly capture: CaptureResult }) {
  return (
    <Empty title="PDF document">
      <a href={fileUrl} target="_blank" rel="noopener noreferrer">
        Open the PDF
      </a>{' '}
      ({formatBytes(metadata.fileSizeBytes)})
    </Empty>
  );
}

function History({
  capture,
  history,
  onChanged,
}: {
  readonly capture: Capture;
  readonly history: Query<CaptureHistory>;
  readonly onChanged: () => void;
}) {
  const webhook = 'webhook' in capture ? capture.webhook : undefined;
  const isDeliverable = webhook !== undefined && webhook.event !== null && webhook.state !== 'pending';
  return (
    <Loaded query={history} label="Loading the history…">
      {({ refreshes, deliveries }) => (
        <>
          {refreshes.length > 0 && (
            <Card id="refreshes" title="Refreshes">
              <DataTable
                caption="Refreshes"
                columns={refreshColumns}
                rows={refreshes}
                rowKey={({ number }) => String(number)}
              />
            </Card>
          )}
          {(webhook !== undefined || deliveries.length > 0) && (
            <Card
              id="deliveries"
              title="Webhook deliveries"
              aside={isDeliverable && <Redeliver uuid={capture.uuid} onDone={onChanged} />}
            >
              <Deliveries
                deliveries={deliveries}
                onRedeliver={onChanged}
                empty={<p class="card-body muted">No deliveries yet.</p>}
              />
            </Card>
          )}
        </>
      )}
    </Loaded>
  );
}

const refreshColumns: readonly Column<CaptureHistory['refreshes'][number]>[] = [
  { key: 'number', title: 'Refresh', render: ({ number }) => `#${number}` },
  {
    key: 'state',
    title: 'State',
    render: ({ state, error }) => (
      <>
        <Badge tone={state === 'completed' ? 'good' : state === 'failed' ? 'bad' : 'busy'}>{state}</Badge>{' '}
        {error !== null && <UntrustedText text={error.message} max={120} />}
      </>
    ),
  },
  { key: 'by', title: 'Requested by', render: ({ by }) => by, isMinor: true },
  { key: 'accepted', title: 'Accepted', render: ({ acceptedAt }) => <Ago at={acceptedAt} /> },
  {
    key: 'took',
    title: 'Duration',
    align: 'end',
    isMinor: true,
    render: ({ acceptedAt, endedAt }) =>
      endedAt === null ? '–' : formatDuration(Math.max(0, Date.parse(endedAt) - Date.parse(acceptedAt))),
  },
  {
    key: 'changed',
    title: 'Changed',
    align: 'end',
    render: ({ comparison }) => formatShare(comparison?.changedShare ?? null),
  },
  {
    key: 'file',
    title: 'File',
    align: 'end',
    render: ({ width, height, fileSizeBytes }) =>
      width === null || height === null || fileSizeBytes === null
        ? '–'
        : `${width} × ${height}, ${formatBytes(fileSizeBytes)}`,
  },
];
