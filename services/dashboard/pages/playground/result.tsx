import type { CaptureProgress, CaptureResult } from '@webcapture/client';
import { extensions, isImageFormat } from '@webcapture/shared/api/formats.ts';
import { useEffect, useState } from 'preact/hooks';
import { formatAgo, formatBytes, formatDuration, formatNumber } from '../../shell/format.ts';
import { downloadFile } from '../../shell/download.ts';
import { linkTo } from '../../shell/routes.ts';
import { client, hasScope } from '../../shell/session.ts';
import { Extracted } from '../../views/extracted.tsx';
import { loadPreview, maxShownPixels, type Preview } from '../../views/preview.ts';
import { Report } from '../../views/report.tsx';
import { useObjectUrl } from '../../widgets/blob-image.tsx';
import { Empty, ErrorState } from '../../widgets/states.tsx';
import { toast } from '../../widgets/toast.tsx';
import { errorInWords, isInvalid } from '../../shell/errors.ts';
import { replaceRequest } from './request.ts';
import { cancel, type Run, run, start } from './run.ts';
import type { Body } from './schema.ts';
import { Viewer } from '../../widgets/viewer.tsx';

/** Shows the result of the latest capture. */
export function ResultPanel() {
  const now = run.value;
  switch (now.state) {
    case 'idle':
      return <Idle />;
    case 'running':
      return <Running run={now} />;
    case 'failed':
      return (
        <ErrorState
          error={now.error}
          // An invalid form stays invalid until the user changes it.
          onRetry={isInvalid(now.error) ? undefined : () => void start(now.request)}
        />
      );
    case 'done':
      return <Result key={now.result.uuid} {...now} />;
  }
}

const firstHtml = '<h1 style="font: 48px sans-serif">Hello</h1>';

/** An example for new users that also works without internet access. */
function Idle() {
  const tryIt = (request: Body) => {
    replaceRequest(request);
    void start(request);
  };
  return (
    <div class="card result-card">
      <Empty title="Nothing captured yet">
        <p>
          Enter an address, then press <kbd>Ctrl</kbd> <kbd>Enter</kbd>. Or try one of these:
        </p>
        <div class="idle-actions">
          <button type="button" class="button" onClick={() => tryIt({ url: 'https://example.com' })}>
            Capture example.com
          </button>
          <button type="button" class="button" onClick={() => tryIt({ html: firstHtml })}>
            Capture a line of HTML
          </button>
        </div>
      </Empty>
    </div>
  );
}

const steps = {
  queued: 'Queued in',
  rendering: 'Rendering in',
  storing: 'Storing the file in',
} as const satisfies Record<CaptureProgress['step'], string>;

/** Describes the latest step that the service has reported. */
function stepInWords({ progress, uuid, status }: Extract<Run, { state: 'running' }>): string {
  if (progress !== undefined) return `${steps[progress.step]} ${progress.region}`;
  if (uuid === undefined) return 'Capturing…';
  return status === 'queued' ? 'Queued' : 'Rendering';
}

/** Explains the cost of cancelling or of closing the dashboard. Returns null until the service has reported a step. */
function costOfCancelling({ progress }: Extract<Run, { state: 'running' }>): string | null {
  if (progress === undefined) return null;
  return progress.step === 'queued'
    ? 'Rendering has not started: cancelling costs nothing.'
    : 'Rendering has started: if you cancel or close this page, the capture continues and is charged.';
}

/** Time after which a hint says that a capture can run in the background. */
const longMs = 8000;

function Running({ run: running }: { readonly run: Extract<Run, { state: 'running' }> }) {
  const { startedAt, request, uuid, status, estimatedWaitSeconds } = running;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, []);
  const elapsed = now - startedAt;
  const cost = costOfCancelling(running);
  const stop = async () => {
    try {
      await cancel();
    } catch (error) {
      toast(errorInWords(error).message, 'error');
    }
  };
  return (
    <div class="card result-card">
      <div class="state">
        <span class="spinner" aria-hidden="true" />
        <p class="state-title" role="status">
          {stepInWords(running)}
        </p>
        <p class="elapsed">{(elapsed / 1000).toFixed(1)} s</p>
        {uuid !== undefined && (
          <p>
            The capture continues in the background: <a href={linkTo('captures', uuid)}>show the capture</a>.
            {typeof estimatedWaitSeconds === 'number' &&
              status === 'queued' &&
              ` Starts in about ${estimatedWaitSeconds} s.`}
          </p>
        )}
        {cost !== null && <p class="muted">{cost}</p>}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => void stop()}>
            Cancel
          </button>
          {uuid === undefined && elapsed > longMs && (
            <button type="button" class="button" onClick={() => void start({ ...request, background: true })}>
              Restart in the background
            </button>
          )}
        </div>
      </div>
    </div>
  );
}

function Result({
  result,
  request,
  elapsedMs,
}: {
  readonly result: CaptureResult;
  readonly request: Body;
  readonly elapsedMs: number;
}) {
  const { metadata, fileUrl, uuid, extracted } = result;
  const isPdf = metadata.format === 'pdf';
  const extension = extensions[metadata.format];
  return (
    <>
      <section class="card" aria-label={metadata.format === 'none' ? 'File' : 'Picture'}>
        <div class="card-head">
          <div class="result-facts">
            {metadata.format !== 'none' && (
              <b>
                {formatNumber(metadata.width)} × {formatNumber(metadata.height)}
              </b>
            )}
            <span>{extension.toUpperCase()}</span>
            <span>{formatBytes(metadata.fileSizeBytes)}</span>
            <span>{formatDuration(elapsedMs)}</span>
            <span class="muted">expires {formatAgo(metadata.expiresAt)}</span>
          </div>
          <div class="page-actions">
            <a class="button is-small" href={fileUrl} target="_blank" rel="noreferrer">
              Open
            </a>
            <button
              type="button"
              class="button is-small"
              onClick={() => void tryDownload(fileUrl, `${uuid}.${extension}`)}
            >
              Download
            </button>
          </div>
        </div>
        {isPdf ? (
          <Empty title="The PDF is ready">
            {formatBytes(metadata.fileSizeBytes)}. The browser shows it in a new tab:{' '}
            <a href={fileUrl} target="_blank" rel="noreferrer">
              open the PDF
            </a>
            .
          </Empty>
        ) : (
          isImageFormat(metadata.format) && <Picture result={result} />
        )}
      </section>
      <Report
        capture={result}
        request={request}
        link={hasScope('read') && <a href={linkTo('captures', uuid)}>Details of the capture</a>}
      />
      {extracted && <Extracted uuid={uuid} extracted={extracted} />}
    </>
  );
}

function Picture({ result: { metadata, fileUrl, uuid, report } }: { readonly result: CaptureResult }) {
  const { width, height, capturedAt } = metadata;
  const isLarge = width * height > maxShownPixels;
  const [isWhole, setWhole] = useState(!isLarge);
  const [isBroken, setBroken] = useState(false);
  const preview = usePreview(uuid, isLarge);
  const previewSrc = useObjectUrl(preview?.blob);
  const alt = `Capture of ${report.title === '' ? metadata.url : report.title}`;
  if (isBroken) {
    return (
      <Empty title="The picture cannot be shown here">
        The browser could not load the picture from <span class="untrusted">{new URL(fileUrl).origin}</span>, or the
        picture is too large. Open or download it instead.
      </Empty>
    );
  }
  // The parameter is needed because a refresh writes a new picture to the same address.
  const src = `${fileUrl}?at=${encodeURIComponent(capturedAt)}`;
  if (isWhole) return <Viewer src={src} width={width} height={height} alt={alt} onError={() => setBroken(true)} />;
  return (
    <>
      <div class="large-note">
        <p>
          The picture has {formatNumber(Math.round((width * height) / 1e6))} megapixels, for which the browser needs
          about {formatBytes(4 * width * height)} of memory.{preview !== undefined && ' This preview shows its top.'}
        </p>
        <button type="button" class="button is-small" onClick={() => setWhole(true)}>
          Show all of it
        </button>
      </div>
      {preview !== undefined && previewSrc !== undefined && (
        <Viewer src={previewSrc} width={preview.width} height={preview.height} alt={`Top of: ${alt}`} />
      )}
    </>
  );
}

function usePreview(uuid: string, isWanted: boolean): Preview | undefined {
  const [preview, setPreview] = useState<Preview | undefined>();
  useEffect(() => {
    if (!isWanted) return undefined;
    const life = new AbortController();
    const load = async () => {
      const loaded = await loadPreview(uuid, life.signal);
      if (loaded !== null && !life.signal.aborted) setPreview(loaded);
    };
    // If there is no preview, the button loads the whole file.
    load().catch(() => undefined);
    return () => life.abort();
  }, [uuid, isWanted]);
  return preview;
}

async function tryDownload(fileUrl: string, name: string): Promise<void> {
  try {
    await downloadFile(await client().file(fileUrl), name);
  } catch (error) {
    toast(`The file could not be downloaded here: ${errorInWords(error).message} Open it instead.`, 'error');
  }
}
