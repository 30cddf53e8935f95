import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { diagnosticsLimits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { RenderDiagnostics } from '@webcapture/shared/api/diagnostics.ts';
import type { Page } from 'playwright';
import { TargetTree } from '../browser/target-tree.ts';
import type { Blocker } from './blocker.ts';
import { ConsentWatch } from './consent.ts';
import { collapseFrames, hideLeftovers } from './hiding.ts';
import { RequestGuard } from './requests.ts';
import { unlockScrolling } from './scripts/hiding.ts';
import { callInFrame, listFrames, type Frame } from './frames.ts';

/** The most that a capture waits for consent dialogs to be answered; then they are hidden as they are. */
const maxConsentMs = 3000;

/** Where a consent manager is about, its dialog is looked for during this time; elsewhere once. */
const lateDialogMs = 1000;

/** The most that hiding may take after that. */
const maxHidingMs = 2000;

/** Frames that are tidied up before the shot; a page with more of them has advertising in the rest. */
const maxFrames = 20;

/** Blocking in one page, for the time of one capture. It ends with the page. */
export class BlockingSession {
  readonly #page: Page;
  readonly #block: RenderOptions['block'];
  readonly #blocker: Blocker;
  readonly #guard: RequestGuard;
  readonly #consent: ConsentWatch | null;
  readonly #targets: TargetTree;
  /** Number of the document whose dialogs were waited for. */
  #awaitedDocument = 0;
  #bannerSeen = false;

  private constructor(page: Page, block: RenderOptions['block'], blocker: Blocker) {
    const guard = new RequestGuard(block, blocker, () => page.url());
    const consent = block.cookieBanners ? new ConsentWatch(blocker.consent) : null;
    this.#page = page;
    this.#block = block;
    this.#blocker = blocker;
    this.#guard = guard;
    this.#consent = consent;
    this.#targets = new TargetTree({
      frame: (target) => Promise.all([guard.prepare(target), consent?.prepare(target)]),
      worker: (target) => guard.prepareWorker(target),
    });
  }

  /**
   * Blocks in a fresh page what the capture asked for, from the next navigation on. Call it before that, and only when an
   * option is on. Rejects when the page is gone.
   */
  static async start(page: Page, block: RenderOptions['block'], blocker: Blocker): Promise<BlockingSession> {
    const session = new BlockingSession(page, block, blocker);
    await session.#targets.attach(await page.context().newCDPSession(page));
    return session;
  }

  /** Requests kept from loading so far. */
  blockedRequests(): number {
    return this.#guard.blocked;
  }

  /** Describes the first requests that were blocked. @param shown returns a URL without its secrets */
  describeBlocked(shown: (url: string) => string): RenderDiagnostics['blocked'] {
    return this.#guard.describeBlocked().map(({ url, resourceType, option, filter }) => ({
      url: shown(url),
      type: resourceType.toLowerCase(),
      rule: option,
      filter: filter?.slice(0, diagnosticsLimits.text) ?? null,
    }));
  }

  /**
   * Makes the page presentable: waits (once for each document) until consent dialogs have been answered, hides what is
   * left of blocked things, and gives the page its scrolling back. Call it when the page has loaded, and again before
   * the shot if much happened in between: the second call takes a few milliseconds. `deadline` is a Unix time in
   * milliseconds; whatever is not done by then is left. Never rejects: a page that cannot be tidied is shot as it is.
   */
  async beforeShoot(deadline: number): Promise<void> {
    const end = performance.now() + (deadline - Date.now());
    try {
      if (await this.#awaitConsent(end)) this.#bannerSeen = true;
      const hidingEnd = Math.min(end, performance.now() + maxHidingMs);
      const left = () => Math.max(1, hidingEnd - performance.now());
      const { targets } = this.#targets;
      const blockedFrames = this.#guard.remains.frames;
      const collapsed = collapseFrames(blockedFrames, targets, left());
      const { ads, trackers, cookieBanners } = this.#block;
      if (!ads && !trackers && !cookieBanners) return await collapsed;
      const frames = (await listFrames(targets, left())).filter(({ frameId }) => !blockedFrames.includes(frameId));
      const [removed] = await Promise.all([
        Promise.all(frames.slice(0, maxFrames).map((frame) => this.#tidy(frame, hidingEnd))),
        collapsed,
      ]);
      if (removed.some((count) => count > 0)) this.#bannerSeen = true;
      const [page] = frames;
      if (page !== undefined && this.#bannerSeen) await callInFrame(page, unlockScrolling, [], left());
    } catch (error) {
      this.#blocker.log.debug({ err: error }, 'hiding what is left of blocked content failed');
    }
  }

  /** Whether a consent dialog was found. */
  async #awaitConsent(end: number): Promise<boolean> {
    if (this.#consent === null || this.#consent.documents === this.#awaitedDocument) return false;
    const left = () => Math.max(0, end - performance.now());
    const budget = Math.min(maxConsentMs, left() / 2);
    const outcome = await this.#consent.awaitAnswers(budget, this.#guard.consentScriptSeen ? lateDialogMs : 0);
    if (outcome.managers.length > 0) this.#blocker.log.debug({ managers: outcome.managers }, 'consent dialogs found');
    this.#awaitedDocument = this.#consent.documents;
    if (outcome.reloaded) {
      const timeout = Math.max(1, Math.min(maxConsentMs, left()));
      await this.#page.waitForLoadState('load', { timeout }).catch(() => undefined);
    }
    return outcome.found;
  }

  async #tidy(frame: Frame, end: number): Promise<number> {
    try {
      const { images } = this.#guard.remains;
      return await hideLeftovers(frame, this.#block, { blocker: this.#blocker, images, end });
    } catch (error) {
      this.#blocker.log.debug(
        { err: error, url: frame.url },
        'hiding what is left of blocked content in a frame failed',
      );
      return 0;
    }
  }
}
