import type { ResultAnnouncement } from '@webcapture/shared/state/results.ts';

/** Holds the announcement of one capture's end for whoever waits for it, also when it comes before they wait. */
export class Mailbox {
  #announcement: ResultAnnouncement | undefined;
  #onDelivery: (() => void) | undefined;

  get announcement(): ResultAnnouncement | undefined {
    return this.#announcement;
  }

  deliver(announcement: ResultAnnouncement): void {
    this.#announcement = announcement;
    this.#onDelivery?.();
  }

  /** Calls the listener at each delivery from now on; one listener at a time. */
  onDelivery(listener: () => void): void {
    this.#onDelivery = listener;
  }
}
