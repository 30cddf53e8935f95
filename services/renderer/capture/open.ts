import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { DeadlineError } from '@webcapture/shared/lifecycle/deadline.ts';
import type { CDPSession, Page } from 'playwright-core';
import { BrowserLostError } from '../browser/browser-lost-error.ts';
import type { Browsers } from '../browser/browsers.ts';
import type { PageLoan } from '../browser/page-loan.ts';
import type { EgressLane } from '../egress/lane.ts';
import type { Lifeline } from './lifeline.ts';
import { MainDocument } from './main-document.ts';
import { Metrics } from './metrics.ts';
import { watchNetwork, type NetworkWatch } from './network-quiet.ts';
import { World } from './world.ts';

/** A page of one capture, with all that its steps work with. */
export interface OpenPage {
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly lane: EgressLane;
  readonly lifeline: Lifeline;
  readonly document: MainDocument;
  readonly world: World;
  readonly metrics: Metrics;
  readonly network: NetworkWatch;
  /** Runs when the capture is over. */
  onRelease(cleanUp: () => void): void;
  /** Closes the page; never throws. */
  release(end?: { readonly timedOut: boolean }): Promise<void>;
}

const openDeadlineMs = 60_000;
const setUpDeadlineMs = 10_000;

/**
 * Takes a page and sets what it is seen with: viewport, scale, colour scheme. On a warm page that takes a few
 * milliseconds, so that any size can be served from the same pool.
 *
 * @throws ServiceError CAPTURE_FAILED when there is no browser
 */
export async function openPage(
  browsers: Browsers,
  { options, ownBrowser }: { readonly options: RenderOptions; readonly ownBrowser: boolean },
  lifeline: Lifeline,
): Promise<OpenPage> {
  const { antiBot, viewport, colorScheme } = options;
  const taking = browsers.take({ antiBot, ownBrowser });
  const loan = await lifeline.run(taking, openDeadlineMs, 'opening a page').catch((error: unknown) => {
    // It may still come: then nobody wants it.
    void taking.then((late) => late.release()).catch(() => undefined);
    if (error instanceof BrowserLostError) throw browserLost(error);
    throw error;
  });
  const { page, cdp, lane, frameId } = loan;
  const world = new World(cdp, frameId, lifeline);
  const document = new MainDocument(page, () => world.reset());
  const network = watchNetwork(page, lane);
  const cleanUps = [watch(loan, lifeline), () => document.stop(), () => network.stop()];
  const metrics = new Metrics({ cdp, lifeline }, viewport, antiBot ? browsers.stealth.window(viewport) : undefined);
  const open: OpenPage = {
    page,
    cdp,
    lane,
    lifeline,
    document,
    world,
    metrics,
    network,
    onRelease: (cleanUp) => void cleanUps.push(cleanUp),
    release: (end) => {
      for (const cleanUp of cleanUps) cleanUp();
      return loan.release(end);
    },
  };
  try {
    await lifeline.run(
      Promise.all([
        metrics.apply(),
        // A fresh page is light already.
        colorScheme === 'light' ? undefined : page.emulateMedia({ colorScheme }),
      ]),
      setUpDeadlineMs,
      'setting up the page',
    );
    return open;
  } catch (error) {
    // Nobody waits for what does not answer.
    void open.release();
    // It has been nowhere yet, and what hinders it is none of its own doing.
    if (error instanceof DeadlineError) throw browserLost(new BrowserLostError('a new page does not answer'));
    throw error;
  }
}

/** Cuts the capture when its page dies. */
function watch({ page }: PageLoan, lifeline: Lifeline): () => void {
  const onCrash = () => {
    // One that has been nowhere yet died of something else than what it was to show.
    const isUnused = page.url() === 'about:blank';
    const failure = new ServiceError('CAPTURE_FAILED', 'The page crashed, or took more memory than a page may.');
    lifeline.cut(isUnused ? browserLost(new BrowserLostError('an unused page crashed')) : failure);
  };
  // It cannot close itself, and hears of the end of its browser before the browser's own object does.
  const onClose = () => lifeline.cut(browserLost(new BrowserLostError()));
  page.on('crash', onCrash).on('close', onClose);
  return () => void page.off('crash', onCrash).off('close', onClose);
}

function browserLost(cause: BrowserLostError): ServiceError {
  return new ServiceError('CAPTURE_FAILED', 'The browser ended during the capture. Send the request again.', { cause });
}
