import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { diagnosticsLimits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { RenderDiagnostics } from '@webcapture/shared/api/diagnostics.ts';
import type { Page } from 'playwright';
import type { RequestInterceptor } from '../browser/request-interceptor.ts';
import type { TargetTree } from '../browser/target-tree.ts';
import type { Blocker } from './blocker.ts';
import { ConsentWatch } from './consent.ts';
import { listOptionsOf } from './filter-set.ts';
import { collapseFrames, hideLeftovers } from './hiding.ts';
import { RequestGuard } from './requests.ts';
import { unlockScrolling } from './scripts/hiding.ts';
import { callInFrame, listFrames, type Frame } from './frames.ts';

/** Maximum time that a capture waits for answers to consent dialogs. After it, remaining dialogs are hidden. */
const maxConsentMs = 3000;

/** Maximum time of the search for a dialog if a consent manager was detected. Without one, the page is checked once. */
const lateDialogMs = 1000;

/** Maximum time for hiding, which follows that wait. */
const maxHidingMs = 2000;

/** Maximum number of frames that are cleaned up before the shot. On pages with more frames, most of the others are ads. */
const maxFrames = 20;

interface BlockedPage {
  readonly page: Page;
  /** Id of the main frame. */
  readonly frameId: string;
  readonly targets: TargetTree;
  readonly requests: RequestInterceptor;
}

/** Blocking in one page during one capture. It ends with the page. */
export class BlockingSession {
  readonly #page: Page;
  readonly #block: RenderOptions['block'];
  readonly #blocker: Blocker;
  readonly #guard: RequestGuard;
  readonly #consent: ConsentWatch | null;
  readonly #targets: TargetTree;
  /** Number of the document whose dialogs have been awaited. */
  #awaitedDocument = 0;
  #overlaySeen = false;

  private constructor({ page, frameId, targets }: BlockedPage, block: RenderOptions['block'], blocker: Blocker) {
    this.#page = page;
    this.#targets = targets;
    this.#block = block;
    this.#blocker = blocker;
    this.#guard = new RequestGuard(block, blocker, { mainFrameId: frameId, url: () => page.url() });
    this.#consent = block.cookieBanners ? new ConsentWatch(blocker.consent) : null;
  }

  /**
   * Starts blocking in a new page for the options of the capture. Call it before the first navigation, and only if an option of `block` is
   * on. Rejects if the page no longer exists.
   */
  static async start(page: BlockedPage, block: RenderOptions['block'], blocker: Blocker): Promise<BlockingSession> {
    const session = new BlockingSession(page, block, blocker);
    const consent = session.#consent;
    await Promise.all([
      page.requests.add(session.#guard),
      consent && page.targets.add({ frame: (target) => consent.prepare(target) }),
    ]);
    return session;
  }

  /** Number of blocked requests so far. */
  blockedRequests(): number {
    return this.#guard.blocked;
  }

  /** Describes the first blocked requests. @param shown returns a URL without its secrets */
  describeBlocked(shown: (url: string) => string): RenderDiagnostics['blocked'] {
    return this.#guard.describeBlocked().map(({ url, resourceType, option, filter }) => ({
      url: shown(url),
      type: resourceType.toLowerCase(),
      rule: option,
      filter: filter?.slice(0, diagnosticsLimits.text) ?? null,
    }));
  }

  /**
   * Cleans up the page: waits once per document until consent dialogs have been answered, hides the leftovers of blocked content, and
   * unlocks scrolling. Call it when the page has loaded, and again before the shot if the page has changed much; the second call takes a
   * few milliseconds. Never rejects: if the cleanup fails, the capture continues with the page in its current state.
   *
   * @param deadline Unix milliseconds; steps that are incomplete at that time are skipped
   */
  async hideBlockedLeftovers(deadline: number): Promise<void> {
    const end = performance.now() + (deadline - Date.now());
    try {
      if (await this.#awaitConsent(end)) this.#overlaySeen = true;
      const hidingEnd = Math.min(end, performance.now() + maxHidingMs);
      const left = () => Math.max(1, hidingEnd - performance.now());
      const { targets } = this.#targets;
      const blockedFrames = this.#guard.remains.frames;
      const collapsed = collapseFrames(blockedFrames, targets, left());
      if (listOptionsOf(this.#block).length === 0) return await collapsed;
      const frames = (await listFrames(targets, left())).filter(({ frameId }) => !blockedFrames.includes(frameId));
      const [removed] = await Promise.all([
        Promise.all(frames.slice(0, maxFrames).map((frame) => this.#hideInFrame(frame, hidingEnd))),
        collapsed,
      ]);
      if (removed.some((count) => count > 0)) this.#overlaySeen = true;
      const [page] = frames;
      if (page !== undefined && this.#overlaySeen) await callInFrame(page, unlockScrolling, [], left());
    } catch (error) {
      this.#blocker.log.debug({ err: error }, 'hiding leftovers of blocked content failed');
    }
  }

  /** Returns whether a consent dialog was found. */
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

  async #hideInFrame(frame: Frame, end: number): Promise<number> {
    try {
      const { images } = this.#guard.remains;
      return await hideLeftovers(frame, this.#block, { blocker: this.#blocker, images, end });
    } catch (error) {
      this.#blocker.log.debug({ err: error, url: frame.url }, 'hiding leftovers of blocked content in a frame failed');
      return 0;
    }
  }
}
