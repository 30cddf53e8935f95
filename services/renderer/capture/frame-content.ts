import { DeadlineError } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import { isOfFrame, LoadingRequests } from './loading-requests.ts';
import type { OpenPage } from './open.ts';

/** Frames are not waited for longer than this: some hold things that never end. */
const mostMs = 2500;
/** For a document that has come to ask for what it shows. */
const askingMs = 50;

/** What the frames of a page ask for from when this was made: their own documents cannot be asked, for many are of other sites. */
export class FrameContent {
  readonly #requests: LoadingRequests;
  readonly #open: OpenPage;

  constructor(open: OpenPage) {
    this.#open = open;
    this.#requests = new LoadingRequests(open.page, isOfFrame);
    open.onRelease(() => this.#requests.stop());
  }

  /**
   * Waits until it has come; not at all where nothing was asked for.
   *
   * @returns whether it has, within `ms`
   */
  async there(ms: number): Promise<boolean> {
    if (this.#requests.begun === 0 || ms === 0) return true;
    try {
      await this.#open.lifeline.run(this.#quiet(), Math.min(ms, mostMs), 'frames');
      return true;
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      return false;
    }
  }

  async #quiet(): Promise<void> {
    do {
      await this.#requests.none();
      await delay(askingMs);
    } while (this.#requests.open > 0);
  }
}
