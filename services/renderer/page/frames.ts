import type { Page } from 'playwright';
import { listFrames } from '../blocking/frames.ts';
import { attachSession, type PageSession } from '../browser/page.ts';
import { TargetTree } from '../browser/target-tree.ts';
import type { CaptureDeadline } from './deadline.ts';
import { readContentHeight } from './scripts/measures.ts';
import { PageWorld } from './world.ts';

/** A frame in the page. */
export interface PageFrame {
  /** In the protocol. */
  readonly id: string;
  readonly world: PageWorld;
}

/** Frames beyond these are not looked at: a page with more of them has advertising in the rest. */
const maxFrames = 20;
/** For the browser, which answers in milliseconds. */
const listTimeoutMs = 1000;

/**
 * The frames of a page. Those of other sites have processes of their own, which the session of the page does not reach: a second session
 * follows them, opened only for a page with such a frame.
 */
export class PageFrames {
  readonly #page: Page;
  readonly #cdp: PageSession;
  readonly #mainFrameId: string;
  readonly #deadline: CaptureDeadline;
  #tree: Promise<TargetTree> | undefined;
  #stop = () => {};

  constructor(page: Page, cdp: PageSession, mainFrameId: string, deadline: CaptureDeadline) {
    this.#page = page;
    this.#cdp = cdp;
    this.#mainFrameId = mainFrameId;
    this.#deadline = deadline;
  }

  /** Whether there are any, without asking the browser. */
  get isEmpty(): boolean {
    return this.#page.frames().length === 1;
  }

  /** The frames that the page has now, at any depth. */
  async list(): Promise<readonly PageFrame[]> {
    if (this.isEmpty) return [];
    const near = await listFrames([this.#cdp], listTimeoutMs);
    const { targets } = near.length < this.#page.frames().length ? await this.#follow() : { targets: [] };
    const all = targets.length > 0 ? await listFrames(targets, listTimeoutMs) : near;
    return all
      .filter(({ frameId }) => frameId !== this.#mainFrameId)
      .slice(0, maxFrames)
      .map(({ frameId, target }) => ({ id: frameId, world: new PageWorld(target, frameId, this.#deadline) }));
  }

  /**
   * Notes on the elements of frames in the document of the page how tall their contents are, for `findScroller`: the page cannot look into
   * frames of other origins.
   */
  async noteHeights(): Promise<void> {
    const note = async ({ id, world }: PageFrame) => {
      try {
        const height = await world.call(readContentHeight, [], { timeoutMs: listTimeoutMs, what: 'measuring a frame' });
        // It fails for a frame in a frame: only the session of its parent knows the element.
        const { backendNodeId } = await this.#cdp.send('DOM.getFrameOwner', { frameId: id });
        const { object } = await this.#cdp.send('DOM.resolveNode', { backendNodeId });
        if (object.objectId === undefined) return;
        await this.#cdp.send('Runtime.callFunctionOn', {
          objectId: object.objectId,
          functionDeclaration: `function () { this.setAttribute('data-webcapture-height', '${height}'); }`,
          silent: true,
        });
      } catch {
        // It has gone, or does not answer.
      }
    };
    await Promise.all((await this.list()).map(note));
  }

  stop(): void {
    this.#stop();
  }

  #follow(): Promise<TargetTree> {
    return (this.#tree ??= (async () => {
      const session = await attachSession(this.#page);
      this.#stop = () => void session.detach().catch(() => undefined);
      const tree = new TargetTree({ frame: () => Promise.resolve(), worker: () => Promise.resolve() });
      await tree.attach(session);
      return tree;
    })());
  }
}
