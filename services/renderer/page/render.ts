import { mimeTypes, type MimeType } from '@webcapture/shared/api/formats.ts';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { PdfEncryption } from '@webcapture/shared/api/document-options.ts';
import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { defaultFixed } from '@webcapture/shared/api/paper.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { withValues } from '@webcapture/shared/api/steps.ts';
import type { SessionState } from '@webcapture/shared/captures/session-state.ts';
import type { PictureArea } from '@webcapture/shared/captures/capture-record.ts';
import { wantsExtracted } from '@webcapture/shared/files/extracted-file.ts';
import type { StoredDiagnostics } from '@webcapture/shared/files/diagnostics-file.ts';
import { type FailureCause, ServiceError, toServiceError } from '@webcapture/shared/runtime/errors.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import type { Blocker } from '../blocking/blocker.ts';
import { BlockingSession } from '../blocking/blocking-session.ts';
import type { Browsers } from '../browser/browsers.ts';
import type { Target } from '../browser/target-tree.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { withoutCallTraces } from '../browser/driver.ts';
import { BrowserLostError } from '../browser/page.ts';
import { withoutStepValues } from '../diagnostics/redact.ts';
import { attachDiagnostics, RenderTrace } from '../diagnostics/trace.ts';
import { watchStalls } from '../egress/stalls.ts';
import { CaptureDeadline } from './deadline.ts';
import { clickAll } from './click.ts';
import { type AddedStyle, addStyle, runScript } from './client-code.ts';
import { setCredentials } from './credentials.ts';
import { extract } from './extract.ts';
import { assertWanted, watchConsole } from './fail-on.ts';
import { finishDocument } from './finish-document.ts';
import { freezeClocks } from './freeze.ts';
import { hideFirst } from './hiding.ts';
import { findIgnored } from './ignored.ts';
import { assertWeb, navigate, type RenderSource } from './navigate.ts';
import { asLaidOut, openPage, type OpenPage } from './open.ts';
import { printPdf } from './pdf.ts';
import { describePage, uniqueTimeouts, type RenderReport } from './report.ts';
import { encode, isBlank, takeScreenshot } from './screenshot.ts';
import { scriptsHaveEnded } from './scripts/activity.ts';
import { waitForScripts } from './scripts/content.ts';
import type { Settled } from './settle.ts';
import { settleWhereItEnds } from './settle-moves.ts';
import { restoreSession, SessionKeeper } from './session.ts';
import { runSteps } from './steps.ts';
import { emulateVisitor } from './visitor.ts';
import { waitFor } from './wait-for.ts';

export interface RenderRequest {
  readonly source: RenderSource;
  readonly options: RenderOptions;
  /** Secrets in plain text. */
  readonly secrets?: CaptureSecrets;
  /** Whether to return the cookies and the storage that the page leaves in the browser. */
  readonly keepsSession?: true;
  /** Selectors of elements. Their areas in the picture are returned. */
  readonly ignore?: readonly string[];
  /**
   * Whether to use a separate browser: for an account that shares no browsers, and for a capture that may have crashed a shared browser.
   */
  readonly ownBrowser: boolean;
  /** The account whose captures may reuse the page one after another. If undefined, the page is not reused. */
  readonly reuseFor?: string;
  /** Aborts when the capture is cancelled, or when the renderer stops before the capture can end. */
  readonly signal: AbortSignal;
  /** Unix milliseconds. The whole rendering must end before this time. */
  readonly deadline: number;
  /** Time at which the job was taken, by `performance.now()`: the start of `openMs`. */
  readonly takenAt: number;
  /**
   * Settles when the response has been sent. Then the page is closed and the next one prepared. Both take processor time, which the
   * remaining work for the response needs first. If undefined, they run immediately.
   */
  readonly answered?: Promise<void>;
}

export interface Rendering {
  readonly bytes: Buffer;
  readonly mimeType: MimeType;
  /** Size of the file in pixels. For a pdf: size of the first page in CSS pixels; without a picture: of the viewport. */
  readonly width: number;
  readonly height: number;
  /** Number of pages of a pdf. */
  readonly pages?: number;
  readonly report: RenderReport;
  /** Requested data of the page besides the picture; undefined if the page did not respond, or if the file contains it. */
  readonly extracted?: Extracted;
  /** Areas of the picture with elements that `ignore` matches, in CSS pixels. */
  readonly ignored?: PictureArea[];
  /** The cookies and the storage that the page left in the browser; only for a request with `keepsSession`. */
  readonly session?: SessionState;
  /** Undefined if the request did not ask for diagnostics. */
  readonly diagnostics?: StoredDiagnostics;
}

export interface RenderDeps {
  readonly browsers: Browsers;
  readonly blocker: Blocker;
  /** Maximum wait for the response to a request for a script or stylesheet. If undefined, it is a share of the navigation timeout. */
  readonly responseTimeoutMs: number | undefined;
  /** Maximum time in which the page must respond; it applies to steps that would wait longer. */
  readonly answerTimeoutMs?: number | undefined;
}

/**
 * Share of the navigation timeout within which each script and stylesheet must start to arrive. A hanging request is then dropped early
 * enough for the page to load without it.
 */
const responseShare = 0.5;

/** Time limit of each setup. It takes milliseconds, so a browser that takes this long has failed. */
const blockingTimeoutMs = 5000;
const visitorTimeoutMs = 5000;
const secretsTimeoutMs = 5000;

/** Delay before a picture of a single color is retaken. It is not retaken if the capture could time out because of that. */
const secondLookMs = 1000;
const minTimeForSecondLookMs = 5000;

/** Minimum remaining time for a second attempt. */
const minRetryMs = 5000;

/** Thrown if a capture timed out and its browser did not respond. The page may not be the cause. */
export class BrowserSilentError extends Error {
  constructor(options: { cause: unknown }) {
    super('the browser did not respond', options);
    this.name = 'BrowserSilentError';
  }
}

/**
 * Renders one page: open → block → navigate → script, click, steps, waitFor → settle → extract → screenshot → encode → report. Without a
 * picture, the extracted parts are the file.
 *
 * @throws ServiceError. Its cause is a BrowserSilentError if the capture timed out, the browser did not respond, and there is time for a
 * retry.
 */
export async function render(request: RenderRequest, deps: RenderDeps): Promise<Rendering> {
  assertWeb(request.source);
  const deadline = new CaptureDeadline(request.deadline - Date.now(), request.signal);
  const trace = new RenderTrace(request.secrets);
  deadline.onWait = trace.noteWait;
  let open: OpenPage | undefined;
  let failure: ServiceError | undefined;
  try {
    const opened = (open = await openPage(deps, request, deadline));
    opened.onRelease(trace.watch(opened.page));
    const rendering = withoutCallTraces(opened.page, () => renderIn(opened, request, deps, trace));
    // Each step has its own timeout. This deadline applies only if such a timeout fails.
    return await deadline.run(rendering, Number.POSITIVE_INFINITY, 'the capture');
  } catch (thrown) {
    failure = explain(thrown, deadline.causedBy);
    if (failure.code === 'CAPTURE_TIMEOUT' && open && deadline.remainingMs > minRetryMs && !(await open.responds())) {
      throw new ServiceError(failure.code, failure.message, {
        causedBy: failure.causedBy,
        cause: new BrowserSilentError({ cause: failure }),
      });
    }
    const isLost = failure.cause instanceof BrowserLostError;
    const diagnostics = open && !isLost && !request.signal.aborted ? await trace.describe(open, failure) : null;
    if (diagnostics !== null) attachDiagnostics(failure, diagnostics);
    throw failure;
  } finally {
    deadline.release();
    trace.recordSpans(failure);
    const close = () =>
      open?.release({ timedOut: failure?.code === 'CAPTURE_TIMEOUT', hasCompleted: failure === undefined });
    // A failed page may use up resources, so it is closed immediately.
    void Promise.resolve(failure ? undefined : request.answered).then(close, close);
  }
}

async function renderIn(
  open: OpenPage,
  request: RenderRequest,
  deps: RenderDeps,
  trace: RenderTrace,
): Promise<Rendering> {
  const { source, secrets } = request;
  // The job omits this option if it has the default value.
  const pdf = { fixed: defaultFixed(source.kind === 'html'), ...request.options.pdf };
  const options = { ...request.options, pdf };
  const elapsed = stopwatch(request.takenAt);
  const responseTimeoutMs = deps.responseTimeoutMs ?? responseShare * options.timeout;
  const stalls = watchStalls(open.page, open.proxySession, { responseTimeoutMs, navigationTimeoutMs: options.timeout });
  open.onRelease(() => stalls.stop());
  const errors = options.failOn?.consoleErrors === true ? await watchConsole(open) : undefined;
  await hideFirst(open, options);
  if (options.freeze)
    await open.deadline.run(freezeClocks(open, options.freeze), blockingTimeoutMs, 'freezing the clock');
  const style = secrets && (await setSecrets(open, request, secrets));
  // The session of the targets must open last: in a new process, Chromium sets up sessions in order, and each of them resets the platform.
  const blocking = Object.values(options.block).some(Boolean) ? await startBlocking(open, options, deps) : undefined;
  trace.blocking = blocking;
  if (options.javaScript === false) {
    await open.deadline.run(disableScripts(open), blockingTimeoutMs, 'switching scripts off');
  }
  await open.deadline.run(emulateVisitor(open, options), visitorTimeoutMs, 'setting up the visitor');
  open.deadline.causedBy = 'page';
  trace.begin('navigation');
  const openMs = elapsed();
  const late = await navigate(open, source, options);
  // The page reached the state only because a request was dropped.
  if (stalls.gaveUp && options.waitUntil !== 'commit') late.push(options.waitUntil);
  const navigateMs = elapsed();
  if (secrets?.script !== undefined) trace.begin('script');
  const scriptError = secrets?.script === undefined ? undefined : await runScript(open, secrets.script, options);
  if (options.click) {
    trace.begin('click');
    await clickAll(open, options.click, options);
  }
  const redact = withoutStepValues(secrets);
  const keeper = request.keepsSession === true ? new SessionKeeper(open) : undefined;
  if (options.steps) {
    trace.begin('steps');
    const steps = withValues(options.steps, secrets?.stepValues ?? []);
    late.push(
      ...(await runSteps(open, { source, options, steps, redact, afterEach: keeper && (() => keeper.note()) })),
    );
  }
  const loaded = late.length === 0;
  if (options.waitFor) {
    trace.begin('waitFor');
    late.push(...(await waitFor(open, options.waitFor)));
  }
  trace.begin('settle');
  const settled = await settleWhereItEnds(open, options, {
    blocking,
    style,
    runsScript: secrets?.script !== undefined,
    loaded,
  });
  const settleMs = elapsed();

  const reads = wantsExtracted(options);
  if (reads) trace.begin('extract');
  // Extraction precedes the picture, because it blocks the page and could use up the time for the picture if it came later.
  const extracted = reads ? await extract(open, options) : undefined;
  const unread = extracted === null ? (['extract'] as const) : [];
  const session = await keeper?.read();
  if (options.format !== 'none') trace.begin('picture');
  const described = describePage(open);
  // The first failure is thrown. The other promise needs a handler as well.
  described.catch(() => undefined);
  const picture = await (options.format === 'none'
    ? dataFile(extracted ?? null, options)
    : options.format === 'pdf'
      ? print(open, options, settled, secrets?.pdfEncryption)
      : takePicture(open, asLaidOut(open, options), settled, request.ignore));
  const page = await described;
  if (options.failOn) assertWanted(options.failOn, { ...page, blank: picture.blank, format: options.format }, errors);
  const shootMs = elapsed();
  const diagnostics = options.diagnostics === true ? await trace.describe(open) : null;
  return {
    ...(diagnostics === null ? {} : { diagnostics }),
    bytes: picture.bytes,
    mimeType: mimeTypes[options.format],
    width: picture.width,
    height: picture.height,
    ...('pages' in picture ? { pages: picture.pages } : {}),
    ...(extracted && options.format !== 'none' ? { extracted } : {}),
    ...(session === undefined ? {} : { session }),
    ...('ignored' in picture ? { ignored: picture.ignored } : {}),
    report: {
      ...page,
      finalUrl: redact(page.finalUrl),
      title: redact(page.title),
      images: settled.images,
      blockedRequests: open.proxySession.stats().blockedRequests + (blocking?.blockedRequests() ?? 0),
      softTimeouts: uniqueTimeouts([...late, ...settled.softTimeouts, ...unread, ...picture.softTimeouts]),
      strategy: settled.fullPage?.strategy ?? 'single',
      ...('originalSize' in picture ? { originalSize: picture.originalSize } : {}),
      ...(scriptError === undefined ? {} : { scriptError }),
      truncated: settled.fullPage?.truncated ?? false,
      blank: picture.blank,
      timings: { openMs, navigateMs, settleMs, shootMs },
    },
  };
}

/** Disables scripts in the page and in frames of other sites, which may run in separate processes. Without scripts, no worker starts. */
async function disableScripts({ world, targets }: OpenPage): Promise<void> {
  const frame = (target: Target) => target.send('Emulation.setScriptExecutionDisabled', { value: true });
  await Promise.all([world.disableScripts(), targets.add({ frame })]);
}

/** Sets up the secrets before the page is opened. Errors of the driver contain its arguments, so they are not passed on. */
async function setSecrets(
  open: OpenPage,
  request: RenderRequest,
  secrets: CaptureSecrets,
): Promise<AddedStyle | undefined> {
  const { css, session } = secrets;
  const set = async () => {
    const [style] = await Promise.all([
      css === undefined ? undefined : addStyle(open, css),
      session === undefined ? undefined : restoreSession(open, session),
    ]);
    // Cookies of the request replace those of the session.
    await setCredentials(open, request, secrets);
    return style;
  };
  try {
    return await open.deadline.run(set(), secretsTimeoutMs, 'setting the secrets');
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const message =
      'The browser did not accept the headers, cookies, auth, css or session of the capture. Send the request again.';
    // If the rejection is immediate, the request has caused it.
    throw error instanceof DeadlineError
      ? new ServiceError('CAPTURE_FAILED', message, { causedBy: 'service', cause: error })
      : new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client' });
  }
}

function startBlocking(open: OpenPage, { block }: RenderOptions, { blocker }: RenderDeps) {
  return open.deadline.run(BlockingSession.start(open, block, blocker), blockingTimeoutMs, 'setting up blocking');
}

async function takePicture(
  open: OpenPage,
  options: RenderOptions,
  { fullPage, region }: Settled,
  ignore: readonly string[] | undefined,
) {
  const take = async () => {
    const ignored = ignore === undefined ? {} : { ignored: await findIgnored(open, ignore, { fullPage, region }) };
    const shot = await takeScreenshot(open, options, { fullPage, region });
    const image = await encode(shot, options);
    const softTimeouts = shot.interrupted ? (['settle'] as const) : [];
    return { ...image, ...ignored, softTimeouts, blank: await isBlank(image, options) };
  };
  const picture = await take();
  if (!picture.blank || open.world.isStopped || fullPage?.strategy === 'tiles') return picture;
  if (open.deadline.remainingMs < minTimeForSecondLookMs) return picture;
  try {
    const limit = { timeoutMs: 2 * secondLookMs, what: 'waiting for scripts' };
    return (await open.world.callInAny(waitForScripts, [secondLookMs], limit, [scriptsHaveEnded]))
      ? await take()
      : picture;
  } catch (error) {
    // The scripts never pause, or the page keeps navigating. The first picture is used.
    if (error instanceof DeadlineError || error instanceof DocumentGoneError) return picture;
    throw error;
  }
}

async function print(
  open: OpenPage,
  options: RenderOptions,
  { fullPage }: Settled,
  encryption: PdfEncryption | undefined,
) {
  const printed = await printPdf(open, options, fullPage);
  const bytes = await finishDocument(printed.bytes, options.pdf, { encryption, deadline: open.deadline });
  return { ...printed, bytes, softTimeouts: [] };
}

/** Returns the file of a capture without a picture. */
async function dataFile(extracted: Extracted | null, { viewport: { width, height } }: RenderOptions) {
  if (extracted === null) {
    throw new ServiceError('CAPTURE_TIMEOUT', 'The page did not answer when it was read.', { causedBy: 'page' });
  }
  return { bytes: Buffer.from(JSON.stringify(extracted)), width, height, softTimeouts: [], blank: false };
}

/** @param causedBy the cause to which a timeout of the current step is attributed */
function explain(error: unknown, causedBy: FailureCause): ServiceError {
  if (error instanceof DeadlineError) {
    return new ServiceError('CAPTURE_TIMEOUT', 'The page kept the browser busy and could not be captured.', {
      causedBy,
      cause: error,
    });
  }
  if (error instanceof DocumentGoneError) {
    return new ServiceError('CAPTURE_FAILED', 'The page kept navigating to another page.', {
      causedBy: 'page',
      cause: error,
    });
  }
  return toServiceError(error, 'CAPTURE_FAILED');
}

/** Returns a function that returns the milliseconds since its last call. @param startedAt the start of the first call's time */
function stopwatch(startedAt: number): () => number {
  let last = startedAt;
  return () => {
    const ms = performance.now() - last;
    last += ms;
    return ms;
  };
}
