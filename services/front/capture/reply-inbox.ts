import { randomUUID } from 'node:crypto';
import type { Msg } from '@nats-io/nats-core';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { regionOfSubject, replySubject, sharedInbox } from '@webcapture/shared/nats/streams.ts';
import { decodeReply, type Reply } from '@webcapture/shared/queue/results.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { RareLog } from '../rare-log.ts';

/** A reply with what the server knows of it. */
export interface ReceivedReply extends Reply {
  readonly region: Region;
  /** Unix milliseconds by the server's clock. */
  readonly at: number;
}

/** Holds what renderers reply about one capture for whoever waits for it, also when it comes before they wait. */
export class Mailbox {
  readonly #replies: ReceivedReply[] = [];
  #onDelivery: (() => void) | undefined;

  /** The reply that came first of those that were not taken yet. */
  take(): ReceivedReply | undefined {
    return this.#replies.shift();
  }

  get isEmpty(): boolean {
    return this.#replies.length === 0;
  }

  deliver(reply: ReceivedReply): void {
    // A renderer says four things about a job at most; what floods the mailbox is not kept.
    if (this.#replies.length >= maxReplies) return;
    this.#replies.push(reply);
    this.#onDelivery?.();
  }

  /** Calls the listener at each delivery from now on; one listener at a time. */
  onDelivery(listener: () => void): void {
    this.#onDelivery = listener;
  }
}

const maxReplies = 16;

/**
 * Where renderers reply about this front's jobs: one subscription for all of them, on a name that no other front has. A
 * reply may be lost (core NATS), come twice, or come when nobody waits any more: the result in the queue of results is
 * the one that counts.
 */
export class ReplyInbox {
  readonly #id = randomUUID();
  readonly #mailboxes = new Map<string, Mailbox>();
  readonly #rarely: RareLog;
  readonly #onMalformed: () => void;
  readonly #now: () => number;

  /**
   * @param onStarted told of each job that nobody waits for when its rendering begins, on one of the fronts
   * @param onMalformed told of what is no reply
   */
  constructor(
    { nc, now }: Pick<NatsSession, 'nc' | 'now'>,
    {
      log,
      onStarted,
      onMalformed,
    }: { readonly log: Logger; readonly onStarted: (reply: ReceivedReply) => void; readonly onMalformed: () => void },
  ) {
    this.#rarely = new RareLog(log);
    this.#onMalformed = onMalformed;
    this.#now = now;
    const subscribe = (name: string, deliver: (uuid: string, reply: ReceivedReply) => void, queue?: string) =>
      nc.subscribe(`replies.*.${name}.*`, {
        ...(queue === undefined ? {} : { queue }),
        callback: (error, message) => {
          if (error === null) this.#onMessage(message, deliver);
          else log.error({ err: error }, 'replies cannot be received; captures are found by their records, later');
        },
      });
    subscribe(this.#id, (uuid, reply) => this.#mailboxes.get(uuid)?.deliver(reply));
    subscribe(sharedInbox, (_uuid, reply) => onStarted(reply), 'fronts');
  }

  subjectOf(region: Region, uuid: string): string {
    return replySubject(region, this.#id, uuid);
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

  #onMessage({ subject, data }: Msg, deliver: (uuid: string, reply: ReceivedReply) => void): void {
    const region = regionOfSubject(subject);
    const reply = decodeReply(data);
    if (region === null || reply === null) {
      this.#onMalformed();
      this.#rarely.warn({ subject, bytes: data.length }, 'a reply of a renderer is malformed');
      return;
    }
    deliver(subject.split('.').at(-1) ?? '', { ...reply, region, at: this.#now() });
  }
}
