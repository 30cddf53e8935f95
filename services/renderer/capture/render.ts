import { mimeTypes } from '@webcapture/shared/contract/formats.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/errors/service-error.ts';
import { DeadlineError } from '@webcapture/shared/lifecycle/deadline.ts';
import type { Blocker } from '../blocking/blocker.ts';
import type { Browsers } from '../browser/browsers.ts';
import { watchStalls } from '../egress/watch-stalls.ts';
import { isBlank } from './blank.ts';
import { applyBlocking, type BlockingSession } from './block.ts';
import { encode } from './encode.ts';
import { interrupt } from './interrupt.ts';
import { Lifeline } from './lifeline.ts';
import { assertWeb, navigate, throwIfLost } from './navigate.ts';
import { openPage, type OpenPage } from './open.ts';
import { prepareForPrint, printPdf } from './pdf.ts';
import type { Rendering, RenderRequest } from './rendering.ts';
import { describePage, uniqueTimeouts } from './report.ts';
import { settle, type Settled } from './settle.ts';
import { shoot } from './shoot.ts';
import { DocumentGoneError } from './world.ts';

export interface RenderDeps {
  readonly browsers: Browsers;
  readonly blocker: Blocker;
  /** For each script and stylesheet to begin, in place of a share of the navigation's time. */
  readonly responseTimeoutMs: number | undefined;
}

/**
 * The share of the navigation's time that each script and stylesheet has to begin in. A slow one is waited for; one that
 * hangs is given up while there is time for the page to go on without it.
 */
const responseShare = 0.5;

/** Blocking has a shorter limit of its own. */
const blockingMs = 10_000;

const stopMs = 3000;

/** A page that moves on while it settles is followed so often. */
const mostMoves = 5;

/**
 * Renders one page: open → block → navigate → settle → shoot → encode → report.
 *
 * @throws ServiceError
 */
export async function render(request: RenderRequest, deps: RenderDeps): Promise<Rendering> {
  assertWeb(request.source);
  const lifeline = new Lifeline(request.deadline - Date.now(), request.signal);
  let open: OpenPage | undefined;
  let failure: ServiceError | undefined;
  try {
    open = await openPage(deps.browsers, request, lifeline);
    // Each step has a limit of its own; this one is for what none of them has thought of.
    return await lifeline.run(renderIn(open, request, deps), Number.POSITIVE_INFINITY, 'the capture');
  } catch (thrown) {
    failure = explain(thrown);
    throw failure;
  } finally {
    lifeline.release();
    const close = () => open?.release({ timedOut: failure?.code === 'CAPTURE_TIMEOUT' });
    // A page that failed may be one that takes all that there is.
    void Promise.resolve(failure ? undefined : request.answered).then(close, close);
  }
}

async function renderIn(open: OpenPage, { source, options }: RenderRequest, deps: RenderDeps): Promise<Rendering> {
  const watch = stopwatch();
  const blocking = Object.values(options.block).some(Boolean)
    ? await open.lifeline.run(applyBlocking(open.page, options.block, deps.blocker), blockingMs, 'setting up blocking')
    : undefined;
  const responseTimeoutMs = deps.responseTimeoutMs ?? responseShare * options.timeout;
  const stalls = watchStalls(open.page, open.lane, { responseTimeoutMs, navigationTimeoutMs: options.timeout });
  open.onRelease(() => stalls.stop());
  if (options.format === 'pdf') await prepareForPrint(open, options);
  const late = await navigate(open, source, options);
  // It was reached, but only because something was given up.
  if (stalls.gaveUp && options.waitUntil !== 'commit') late.push(options.waitUntil);
  const navigateMs = watch();
  const settled = await settleWhereItEnds(open, options, { blocking, loaded: late.length === 0 });
  const settleMs = watch();

  const described = describePage(open);
  // Whatever fails first is thrown; the other one is not to be left without a listener.
  described.catch(() => undefined);
  const picture = await (options.format === 'pdf'
    ? print(open, options, settled)
    : takePicture(open, options, settled));
  const page = await described;
  return {
    bytes: picture.bytes,
    mimeType: mimeTypes[options.format],
    width: picture.width,
    height: picture.height,
    report: {
      ...page,
      images: settled.images,
      blockedRequests: open.lane.stats().blockedRequests + (blocking?.blockedRequests() ?? 0),
      softTimeouts: uniqueTimeouts([...late, ...settled.softTimeouts, ...picture.softTimeouts]),
      truncated: settled.whole?.truncated ?? false,
      blank: options.format !== 'pdf' && (await isBlank(picture, options)),
      timings: { navigateMs, settleMs, shootMs: watch() },
    },
  };
}

async function takePicture(open: OpenPage, options: RenderOptions, { whole }: Settled) {
  const shot = await shoot(open, options, whole);
  return { ...(await encode(shot, options)), softTimeouts: shot.interrupted ? (['settle'] as const) : [] };
}

async function print(open: OpenPage, options: RenderOptions, { whole }: Settled) {
  return { ...(await printPdf(open, options, whole)), softTimeouts: [] };
}

/** A page may move on at any moment; the document that it ends at is the one to settle. */
async function settleWhereItEnds(
  open: OpenPage,
  options: RenderOptions,
  state: { readonly blocking: BlockingSession | undefined; readonly loaded: boolean },
): Promise<Settled> {
  for (let moves = 0; ; moves += 1) {
    try {
      throwIfLost(open);
      const settled = await settle(open, options, state);
      throwIfLost(open);
      return settled;
    } catch (error) {
      if (error instanceof DeadlineError) return interrupt(open, options);
      if (!(error instanceof DocumentGoneError)) throw error;
      if (moves === mostMoves) return stopMoving(open, options);
      await followMove(open, options);
    }
  }
}

/** The next document comes without its scripts, so that it stays. */
async function stopMoving(open: OpenPage, options: RenderOptions): Promise<Settled> {
  const { cdp, lifeline } = open;
  await lifeline.run(cdp.send('Emulation.setScriptExecutionDisabled', { value: true }), stopMs, 'stopping the scripts');
  await followMove(open, options);
  return interrupt(open, options);
}

async function followMove(open: OpenPage, { timeout, waitUntil }: RenderOptions): Promise<void> {
  const { page, document, lifeline } = open;
  const state = waitUntil === 'commit' ? 'domcontentloaded' : waitUntil;
  try {
    await lifeline.run(document.settled(), timeout, 'the next page');
    const there = page.waitForLoadState(state, { timeout });
    await lifeline.run(Promise.race([there, document.cutOff]), timeout, 'the next page');
  } catch (error) {
    // It is taken as it stands.
    if (error instanceof ServiceError) throw error;
  }
}

function explain(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof DeadlineError) {
    return new ServiceError('CAPTURE_TIMEOUT', 'The page kept the browser busy and could not be captured.', {
      cause: error,
    });
  }
  if (error instanceof DocumentGoneError) {
    return new ServiceError('CAPTURE_FAILED', 'The page went on to another one all the time.', { cause: error });
  }
  return toServiceError(error, 'CAPTURE_FAILED');
}

/** Milliseconds since the last call, or since it was made. */
function stopwatch(): () => number {
  let last = performance.now();
  return () => {
    const elapsed = performance.now() - last;
    last += elapsed;
    return elapsed;
  };
}
