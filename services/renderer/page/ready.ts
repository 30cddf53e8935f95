import { setImmediate } from 'node:timers/promises';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { SoftTimeout } from '@webcapture/shared/api/capture.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { callTimeoutMs } from './deadline.ts';
import type { PageFrame } from './frames.ts';
import { followMove } from './follow-move.ts';
import type { OpenPage } from './open.ts';
import { requestsRegion } from './region.ts';
import { scriptsHaveEnded } from './scripts/activity.ts';
import { finishAnimations } from './scripts/animations.ts';
import { fingerprintCanvas } from './scripts/canvases.ts';
import { movesEndlessly, observeChanges } from './scripts/motion.ts';
import { untilNothingIsDue, watchChanges } from './scripts/ready.ts';
import { isLiveFrame, untilFrames, untilTimersRan } from './scripts/waits.ts';
import { step } from './world.ts';

/**
 * Time limit of the wait for pending changes of visible content, from the start of the wait. In public reports of missing content,
 * preloaders disappear 1.2 s after load, charts start after 0.3 s and draw for 1 s, and pages redirect after 1 s.
 */
const readyTimeoutMs = 2500;
/** Time limit while the page keeps showing more. A headline of 80 letters that is typed at 60 ms a letter completes within it. */
const progressTimeoutMs = 5000;
/** Time after load within which a timer must run for its content to count as a part of the page. */
const timerGraceMs = 20;
/**
 * Time limit of the wait for data that an app fetches after load. In public reports, fetching takes 0.25 to 0.7 s. An app that polls never
 * stops.
 */
const fetchTimeoutMs = 1500;
/** Time within which a page sends its next request after a response: two frames, plus the time in which the browser reports the request. */
const nextFetchMs = 40;
const limit = (what: string) => ({ timeoutMs: callTimeoutMs, what });

/** The result of a wait until a page is ready. */
export interface Readiness {
  /** Whether scripts may still change the page. */
  readonly needsRestWait: boolean;
  readonly softTimeouts: readonly SoftTimeout[];
}

/**
 * Waits until a loaded page is ready. It is ready if no timer, frame callback, animation, request, message or navigation of its scripts is
 * due soon that changes what is in view. Returns immediately if the page is idle.
 *
 * @throws DocumentGoneError if the page has navigated to another document
 */
export async function untilReady(open: OpenPage, options: RenderOptions): Promise<Readiness> {
  const { network, world, document, frames } = open;
  const start = performance.now();
  const refresh = document.answer?.headers['refresh'];
  const steps = [step(untilTimersRan, timerGraceMs), step(scriptsHaveEnded)] as const;
  const [isScripted, scriptsEnded] = await world.callEach(steps, limit('timers'), [scriptsHaveEnded]);
  // Requests of the page arrive in a later turn of the event loop than the answer of the script.
  await setImmediate();
  await setImmediate();
  const scriptsIdle = scriptsEnded && !network.isLoading && frames.isEmpty && !document.moving;
  if (scriptsIdle && refresh === undefined) return { needsRestWait: false, softTimeouts: [] };
  const mayRun = options.javaScript !== false;
  const inFrames = mayRun && !frames.isEmpty ? untilFramesReady(open) : Promise.resolve([]);
  if (!isScripted && refresh === undefined && !document.moving)
    return { needsRestWait: false, softTimeouts: await inFrames };

  const { isFullPage, format } = options;
  const scope = isFullPage || format === 'pdf' || requestsRegion(options) ? 'all' : 'visible';
  const about = { runs: isScripted && mayRun, refresh };
  const limits: Parameters<typeof untilNothingIsDue> = [scope, readyTimeoutMs, progressTimeoutMs, about];
  const dueLimit = { timeoutMs: progressTimeoutMs + callTimeoutMs, what: 'what the page is about to change' };
  let lastChange = await world.call(watchChanges, [], limit('watching changes'), [observeChanges]);
  let changing: SoftTimeout | undefined;
  // New content may cause more requests. Requests that repeat without changing the view do not count.
  for (let end = start + fetchTimeoutMs; ; end = start + readyTimeoutMs) {
    const fetched = await untilFetched(open, end);
    const before = lastChange;
    const waited = await world.call(untilNothingIsDue, limits, dueLimit, [fingerprintCanvas, movesEndlessly]);
    ({ changing, lastChange } = waited);
    await setImmediate();
    if (document.moving) await follow(open, options);
    const isBusy = fetched !== 'late' && (network.isFetching || network.isListening);
    const isShown = (fetched === 'none' && !waited.repeats) || lastChange !== before;
    if (!isBusy || !isShown || performance.now() >= start + readyTimeoutMs) break;
  }
  const softTimeouts = new Set([...(changing === undefined ? [] : [changing]), ...(await inFrames)]);
  return { needsRestWait: isScripted, softTimeouts: [...softTimeouts] };
}

/**
 * Waits until the frames in view are ready, as {@link untilReady} does, and finishes their animations. In frames, only timers, frame
 * callbacks and animations count. Never rejects, because a frame may disappear or not respond.
 *
 * @returns what was still changing in the frames when the wait ended
 */
async function untilFramesReady({ frames }: OpenPage): Promise<SoftTimeout[]> {
  const timeoutMs = progressTimeoutMs + callTimeoutMs;
  const steps = [
    step(watchChanges),
    step(untilNothingIsDue, 'visible', readyTimeoutMs, progressTimeoutMs, { runs: true }),
    step(finishAnimations),
  ] as const;
  const inFrame = async ({ world }: PageFrame): Promise<SoftTimeout[]> => {
    try {
      if (!(await world.call(isLiveFrame, [], limit('a frame')))) return [];
      const limits = { timeoutMs, what: 'what a frame is about to change' };
      const [, { changing }] = await world.callEach(steps, limits, [fingerprintCanvas, observeChanges, movesEndlessly]);
      return changing === undefined ? [] : [changing];
    } catch {
      return [];
    }
  };
  const all = await frames.list();
  return (await Promise.all(all.map(inFrame))).flat();
}

/**
 * Waits for the requests of the page's scripts, for the messages of their connections, and for requests that follow from both.
 *
 * @param end by `performance.now()`
 * @returns `none` if there was nothing to wait for, `come` if all has arrived, or `late`
 */
async function untilFetched({ network, world, deadline }: OpenPage, end: number): Promise<'none' | 'come' | 'late'> {
  if (!network.isFetching && !network.isListening) return 'none';
  while (network.isFetching || network.isListening) {
    const left = Math.max(0, end - performance.now());
    if (left === 0) return 'late';
    const come = Promise.all([network.untilFetched(left), network.untilHeard(left)]);
    const [fetched, heard] = await deadline.run(come, left + callTimeoutMs, 'what the page fetches');
    if (!fetched || !heard) return 'late';
    await world.call(untilFrames, [2], limit('frames'));
    // The browser reports the end of a request before the page has read the response and sends its next request.
    await network.untilFetching(nextFetchMs);
  }
  return 'come';
}

/**
 * Waits for the document that the page is navigating to.
 *
 * @throws DocumentGoneError when the document has arrived; returns if the page stays where it is
 */
async function follow(open: OpenPage, options: RenderOptions): Promise<void> {
  const { document } = open;
  const before = document.arrivals;
  await followMove(open, options);
  if (document.arrivals !== before) throw new DocumentGoneError('the page has navigated');
}
