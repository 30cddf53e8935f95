import { randomUUID } from 'node:crypto';
import type { Msg } from '@nats-io/nats-core';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { prefixed, regionOfSubject, replySubject, sharedInbox } from '@webcapture/shared/nats/streams.ts';
import { decodeReply, type Reply } from '@webcapture/shared/queue/results.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { ThrottledLogger } from '@webcapture/shared/runtime/throttled-logger.ts';

/** A reply, with its region and its time of arrival. */
export interface ReceivedReply extends Reply {
  readonly region: Region;
  /** Unix milliseconds by the server's clock. */
  readonly at: number;
}

/** Collects the replies of renderers about one capture until the waiter takes them. */
export class PendingReplies {
  readonly #replies: ReceivedReply[] = [];
  #onDelivery: (() => void) | undefined;

  /** Removes and returns the oldest reply. */
  take(): ReceivedReply | undefined {
    return this.#replies.shift();
  }

  get isEmpty(): boolean {
    return this.#replies.length === 0;
  }

  deliver(reply: ReceivedReply): void {
    // A renderer sends at most four replies about a delivery of a job. Further ones are dropped.
    if (this.#replies.length >= maxReplies) return;
    this.#replies.push(reply);
    this.#onDelivery?.();
  }

  /** Calls the listener at each delivery from now on. There is only one listener. */
  onDelivery(listener: () => void): void {
    this.#onDelivery = listener;
  }
}

const maxReplies = 16;

/**
 * Receives the replies of renderers to this front's jobs, with one subscription on an exclusive subject. A reply may be
 * lost (core NATS), arrive twice, or arrive too late; the message in the queue of results is authoritative.
 */
export class ReplyInbox {
  readonly #id = randomUUID();
  readonly #mailboxes = new Map<string, PendingReplies>();
  readonly #rarely: ThrottledLogger;
  readonly #onMalformed: () => void;
  readonly #now: () => number;

  /**
   * @param onStarted called on one of the fronts when the rendering of a job without a waiting client begins
   * @param onMalformed called for an invalid reply
   */
  constructor(
    { nc, now }: Pick<NatsSession, 'nc' | 'now'>,
    {
      log,
      onStarted,
      onMalformed,
    }: { readonly log: Logger; readonly onStarted: (reply: ReceivedReply) => void; readonly onMalformed: () => void },
  ) {
    this.#rarely = new ThrottledLogger(log);
    this.#onMalformed = onMalformed;
    this.#now = now;
    const subscribe = (name: string, deliver: (uuid: string, reply: ReceivedReply) => void, queue?: string) =>
      nc.subscribe(prefixed(`replies.*.${name}.*`), {
        ...(queue === undefined ? {} : { queue }),
        callback: (error, message) => {
          if (error === null) this.#onMessage(message, deliver);
          else log.error({ err: error }, 'replies cannot be received; records of captures are polled instead');
        },
      });
    subscribe(this.#id, (uuid, reply) => this.#mailboxes.get(uuid)?.deliver(reply));
    subscribe(sharedInbox, (_uuid, reply) => onStarted(reply), 'fronts');
  }

  subjectOf(region: Region, uuid: string): string {
    return replySubject(region, this.#id, uuid);
  }

  /** Opens a mailbox for one capture. It must be open before the capture is queued, because a result can arrive soon after that. */
  open(uuid: string): PendingReplies {
    const mailbox = new PendingReplies();
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
