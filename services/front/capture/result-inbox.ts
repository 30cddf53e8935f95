import { randomUUID } from 'node:crypto';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import { decodeResult } from '@webcapture/shared/state/results.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { Mailbox } from './mailbox.ts';

/**
 * Where the results of this front's captures are announced: one subscription for all of them, on a name that no other
 * front has. An announcement may be lost (core NATS), come twice, or come when nobody waits any more.
 */
export class ResultInbox {
  readonly #prefix = `results.${randomUUID()}`;
  readonly #mailboxes = new Map<string, Mailbox>();
  readonly #log: Logger;

  constructor(nc: Pick<NatsConnection, 'subscribe'>, log: Logger) {
    this.#log = log;
    nc.subscribe(`${this.#prefix}.*`, {
      callback: (error, message) => {
        if (error === null) this.#hear(message);
        else log.error({ err: error }, 'results cannot be heard; captures are found by their records, later');
      },
    });
  }

  subjectOf(uuid: string): string {
    return `${this.#prefix}.${uuid}`;
  }

  /** A mailbox for one capture; open it before the capture is queued, or a quick result is missed. */
  open(uuid: string): Mailbox {
    const mailbox = new Mailbox();
    this.#mailboxes.set(uuid, mailbox);
    return mailbox;
  }

  close(uuid: string): void {
    this.#mailboxes.delete(uuid);
  }

  #hear(message: Msg): void {
    const mailbox = this.#mailboxes.get(message.subject.slice(this.#prefix.length + 1));
    if (mailbox === undefined) return;
    try {
      const announcement = decodeResult(message.data);
      if (!isOpen(announcement.record)) mailbox.deliver(announcement);
    } catch (error) {
      // The record tells the same a little later.
      this.#log.warn({ err: error }, 'an announcement could not be read');
    }
  }
}
