import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Page } from 'playwright';
import { type Frame, listFrames } from '../blocking/frames.ts';
import { attachSession, type OwnSession, type PageSession } from '../browser/page.ts';
import { TargetTree } from '../browser/target-tree.ts';
import type { CaptureDeadline } from './deadline.ts';
import { readContentHeight } from './scripts/measures.ts';
import { noteFrameHeight } from './scripts/scrollers.ts';
import { PageWorld } from './world.ts';

/** A frame in the page. */
export interface PageFrame {
  /** In the protocol. */
  readonly id: string;
  readonly world: PageWorld;
}

/** Maximum number of frames that are looked at. A page with more of them has advertising in the rest. */
const maxFrames = 20;
/** For an answer of the browser or of a frame, which take milliseconds; on a machine with many captures more than a second. */
const answerTimeoutMs = 3000;

/**
 * The frames of a page. Full Chromium (`antiBot`) runs those of other sites in separate processes, which the session of the page does not
 * reach. A second session follows them; it is opened only for a page with such a frame.
 */
export class PageFrames {
  readonly #page: Page;
  readonly #cdp: PageSession;
  readonly #mainFrameId: string;
  readonly #world: PageWorld;
  readonly #deadline: CaptureDeadline;
  #followed: Promise<{ readonly session: OwnSession; readonly tree: TargetTree }> | undefined;

  /** @param world of the page's own document */
  constructor(page: Page, cdp: PageSession, mainFrameId: string, world: PageWorld, deadline: CaptureDeadline) {
    this.#page = page;
    this.#cdp = cdp;
    this.#mainFrameId = mainFrameId;
    this.#world = world;
    this.#deadline = deadline;
  }

  /** Whether the page has no frame. Does not ask the browser. */
  get isEmpty(): boolean {
    return this.#page.frames().length === 1;
  }

  /** The frames that the page has now, at any depth. None where the browser does not answer. */
  async list(): Promise<readonly PageFrame[]> {
    if (this.isEmpty) return [];
    const all = await this.#find().catch(() => []);
    return all
      .filter(({ frameId }) => frameId !== this.#mainFrameId)
      .slice(0, maxFrames)
      .map(({ frameId, target }) => ({ id: frameId, world: new PageWorld(target, frameId, this.#deadline) }));
  }

  /** Notes in the page how tall the contents of its frames are, for `findScroller`: a page cannot look into frames of other origins. */
  async noteHeights(): Promise<void> {
    const limit = { timeoutMs: answerTimeoutMs, what: 'measuring a frame' };
    const note = async ({ id, world }: PageFrame) => {
      const height = await world.call(readContentHeight, [], limit);
      await this.#world.callWithFrame(id, noteFrameHeight, [height], limit);
    };
    // A frame may go away, or not answer, or be in another frame.
    await Promise.allSettled((await this.list()).map(note));
  }

  /** Runs when the capture is over. */
  stop(): void {
    void this.#followed?.then(({ session }) => session.detach()).catch(() => undefined);
  }

  async #find(): Promise<readonly Frame[]> {
    const near = await listFrames([this.#cdp], answerTimeoutMs);
    if (near.length >= this.#page.frames().length) return near;
    this.#followed ??= this.#follow();
    const { tree } = await withDeadline(this.#followed, answerTimeoutMs, 'following the frames');
    return listFrames(tree.targets, answerTimeoutMs);
  }

  async #follow() {
    const session = await attachSession(this.#page);
    const tree = new TargetTree({ frame: () => Promise.resolve(), worker: () => Promise.resolve() });
    await tree.attach(session);
    return { session, tree };
  }
}
