import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Page } from 'playwright';
import { type Frame, listFrames } from '../blocking/frames.ts';
import type { PageSession } from '../browser/driver.ts';
import type { TargetTree } from '../browser/target-tree.ts';
import type { CaptureDeadline } from './deadline.ts';
import { readContentHeight } from './scripts/measures.ts';
import { noteFrameHeight } from './scripts/scrollers.ts';
import { PageWorld } from './world.ts';

/** A frame in the page. */
export interface PageFrame {
  /** Frame id in the protocol. */
  readonly id: string;
  readonly world: PageWorld;
}

interface FramesOptions {
  readonly page: Page;
  readonly cdp: PageSession;
  /** Id of the main frame. */
  readonly frameId: string;
  /** The world of the page's main document. */
  readonly world: PageWorld;
  readonly targets: TargetTree;
  readonly deadline: CaptureDeadline;
}

/** Maximum number of frames that are examined. On pages with more frames, most of the others are ads. */
const maxFrames = 20;
/**
 * Time limit of a response of the browser or of a frame. A response takes milliseconds, but can take more than a second on a machine with
 * many captures.
 */
const answerTimeoutMs = 3000;

/**
 * The frames of a page. Full Chromium (`antiBot`) runs frames of other sites in separate processes, which the page's session does not
 * reach. For a page with such a frame, the target tree is opened, which reaches them.
 */
export class PageFrames {
  readonly #page: Page;
  readonly #cdp: PageSession;
  readonly #mainFrameId: string;
  readonly #world: PageWorld;
  readonly #deadline: CaptureDeadline;
  readonly #targets: TargetTree;

  constructor({ page, cdp, frameId, world, targets, deadline }: FramesOptions) {
    this.#page = page;
    this.#cdp = cdp;
    this.#mainFrameId = frameId;
    this.#world = world;
    this.#targets = targets;
    this.#deadline = deadline;
  }

  /** Whether the page has no frames. Does not ask the browser. */
  get isEmpty(): boolean {
    return this.#page.frames().length === 1;
  }

  /** Returns the current frames of the page at any depth. Returns none if the browser does not respond. */
  async list(): Promise<readonly PageFrame[]> {
    if (this.isEmpty) return [];
    const all = await this.#find().catch(() => []);
    return all
      .filter(({ frameId }) => frameId !== this.#mainFrameId)
      .slice(0, maxFrames)
      .map(({ frameId, target }) => ({ id: frameId, world: new PageWorld(target, frameId, this.#deadline) }));
  }

  /** Stores the content heights of the frames in the page for `findScroller`, because a page cannot read frames of other origins. */
  async noteHeights(): Promise<void> {
    const limit = { timeoutMs: answerTimeoutMs, what: 'measuring a frame' };
    const note = async ({ id, world }: PageFrame) => {
      const height = await world.call(readContentHeight, [], limit);
      await this.#world.callWithFrame(id, noteFrameHeight, [height], limit);
    };
    // A frame may disappear, not respond, or be nested in another frame.
    await Promise.allSettled((await this.list()).map(note));
  }

  async #find(): Promise<readonly Frame[]> {
    const near = await listFrames([this.#cdp], answerTimeoutMs);
    if (near.length >= this.#page.frames().length) return near;
    await withDeadline(this.#targets.follow(), answerTimeoutMs, 'following the frames');
    return listFrames(this.#targets.targets, answerTimeoutMs);
  }
}
