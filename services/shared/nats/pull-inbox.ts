import {
  createInbox,
  type Msg,
  type MsgHdrs,
  nanos,
  type NatsConnection,
  PermissionViolationError,
  type Status,
  type Subscription,
} from '@nats-io/nats-core';
import type { NatsSession } from './connect.ts';

/** A status that the server sends for a pull request. */
export interface PullStatus {
  readonly code: number;
  readonly description: string;
  /** Number of messages for which the request was still waiting when it ended, if the server reports it. */
  readonly pending: number | null;
}

/** Pulls messages of a durable through the inbox. */
export interface Puller {
  readonly stream: string;
  readonly durable: string;
  delivered(message: PulledMessage): void;
  /** Called with each status of a request. `request` is the name that the puller chose in {@link PullInbox.ask}. */
  answered(request: string, status: PullStatus): void;
  /** Called if the user of this connection may not pull. */
  denied(error: Error): void;
  /** Called when all requests are lost. They get no answer. */
  lost(): void;
  /** Called when requests work again. */
  resumed(): void;
  /** Called when the inbox is closed. */
  closed(): void;
}

/**
 * Receives the messages of all pull requests of a process with one subscription, `<prefix>.<nuid>.*`. A subscription for each request would
 * cost the server a SUB and an UNSUB that cross the routes of its cluster. The subject of the acknowledgement identifies the consumer of a
 * message; the last token of the subject identifies the request of a status. (The client's shared subscription for replies would drop
 * both.)
 *
 * Requests are cancelled by unsubscribing: the server forgets requests without a subscriber. It therefore delivers nothing to a broken
 * connection or to a puller that left.
 */
export class PullInbox {
  readonly #session: NatsSession;
  readonly #pullers = new Map<string, Puller>();
  readonly #ids = new Map<string, Puller>();
  readonly #stopListening: () => void;
  #nextId = 1;
  #prefix = '';
  #subscription: Subscription;
  #isRenewing = false;
  #isClosed = false;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#subscription = this.#subscribe();
    this.#stopListening = session.onStatus((status) => this.#onStatus(status));
  }

  get connected(): boolean {
    const { nc } = this.#session;
    return !this.#isClosed && this.#session.connected() && !nc.isClosed() && !nc.isDraining();
  }

  /** Closes all pullers. Messages that are on the way are nak'd. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopListening();
    for (const puller of this.#pullers.values()) puller.closed();
    drain(this.#subscription);
  }

  /**
   * Adds a puller and returns the id for its requests. A durable can have only one puller, because a message identifies only its durable.
   */
  join(puller: Puller): string {
    const name = nameOf(puller.stream, puller.durable);
    if (this.#pullers.has(name)) throw new Error(`messages of ${name} are already being pulled`);
    const id = String(this.#nextId++);
    this.#pullers.set(name, puller);
    this.#ids.set(id, puller);
    return id;
  }

  /** Removes a puller. `hasRequests` means that the server may still deliver messages to it. */
  leave(puller: Puller, id: string, hasRequests: boolean): void {
    const name = nameOf(puller.stream, puller.durable);
    if (this.#pullers.get(name) === puller) this.#pullers.delete(name);
    this.#ids.delete(id);
    if (!hasRequests || this.#isRenewing || this.#isClosed) return;
    this.#isRenewing = true;
    // Pullers that leave in the same turn are handled together.
    queueMicrotask(() => this.#renew());
  }

  /** Sends a request. `request` must be one token of a subject. */
  ask(puller: Puller, id: string, request: string, body: Record<string, unknown>): void {
    // The server closes a subscription that it refuses.
    if (this.#subscription.isClosed()) this.#subscription = this.#subscribe();
    this.#session.nc.publish(this.#requestSubject(puller), JSON.stringify(body), {
      reply: `${this.#prefix}.${id}_${request}`,
    });
  }

  #requestSubject({ stream, durable }: Puller): string {
    return `${this.#session.apiPrefix}.CONSUMER.MSG.NEXT.${stream}.${durable}`;
  }

  #subscribe(): Subscription {
    this.#prefix = createInbox(this.#session.inboxPrefix);
    return this.#session.nc.subscribe(`${this.#prefix}.*`, {
      callback: (error, message) => {
        // If the server refuses the subscription, it reports that as a status too.
        if (error === null) this.#receive(message);
      },
    });
  }

  #receive(message: Msg): void {
    // Other messages to the inbox are responses of the server to a request.
    if (message.reply?.startsWith('$JS.ACK.') === true) {
      const pulled = pulledMessage(this.#session.nc, message);
      const puller = this.#pullers.get(nameOf(pulled.stream, pulled.consumer));
      // The puller has left, so the message is returned for another one.
      if (puller === undefined) pulled.nak(1);
      else puller.delivered(pulled);
      return;
    }
    const token = message.subject.slice(message.subject.lastIndexOf('.') + 1);
    const split = token.indexOf('_');
    const fields = message.headers;
    if (fields === undefined || split < 0) return;
    const pending = fields.get('Nats-Pending-Messages');
    this.#ids.get(token.slice(0, split))?.answered(token.slice(split + 1), {
      code: fields.code,
      description: fields.description,
      pending: pending === '' ? null : Number(pending),
    });
  }

  #onStatus(status: Status): void {
    if (status.type === 'disconnect') {
      const former = this.#subscription;
      this.#subscription = this.#subscribe();
      former.unsubscribe();
      for (const puller of this.#pullers.values()) puller.lost();
    } else if (status.type === 'reconnect') {
      for (const puller of this.#pullers.values()) puller.resumed();
    } else if (status.type === 'error' && status.error instanceof PermissionViolationError) {
      const { operation, subject } = status.error;
      for (const puller of this.#pullers.values()) {
        const isMeant =
          operation === 'publish' ? subject === this.#requestSubject(puller) : subject === `${this.#prefix}.*`;
        if (isMeant) puller.denied(status.error);
      }
    }
  }

  /** Subscribes to a new subject. The remaining pullers request messages again, and messages to the former subject are still received. */
  #renew(): void {
    this.#isRenewing = false;
    if (!this.connected) return;
    const former = this.#subscription;
    this.#subscription = this.#subscribe();
    drain(former);
    for (const puller of this.#pullers.values()) {
      puller.lost();
      puller.resumed();
    }
  }
}

const nameOf = (stream: string, durable: string) => `${stream}/${durable}`;

/** Ends a subscription when all messages that the server had sent are received. */
function drain(subscription: Subscription): void {
  if (subscription.isClosed()) return;
  // Without a connection, no messages can arrive.
  subscription.drain().catch(() => undefined);
}

/** Delivery data that the server puts into the subject of the acknowledgement. */
export interface Delivery {
  readonly stream: string;
  readonly consumer: string;
  /** Number of deliveries of the message, including this one. */
  readonly delivery: number;
  /** Sequence in the stream. */
  readonly sequence: number;
  /** Sequence of this delivery in the consumer. */
  readonly consumerSequence: number;
  /** When the server stored the message; Unix milliseconds by its clock. */
  readonly timestamp: number;
  /** Number of messages that waited for this consumer at this delivery. */
  readonly pending: number;
}

/** A message that belongs to this process until it is acknowledged or nak'd, or until its ack wait ends. */
export interface PulledMessage extends Delivery {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: MsgHdrs | undefined;
  /** Restarts the ack wait, so that the message is not redelivered. */
  working(): void;
  /** Acknowledges the message. Awaits the server's confirmation, because an ack without one may be lost if the server dies. */
  ack(timeoutMs?: number): Promise<void>;
  /** Requests a redelivery after the delay. Without a delay, the maximum number of deliveries would soon be reached. */
  nak(delayMs: number): void;
  /** Prevents redeliveries. The server publishes the reason in an advisory. */
  terminate(reason: string): void;
}

/** Wraps a message from a pull request. See ADR-4 and ADR-13 of the server for the reply subject and its bodies. */
export function pulledMessage(nc: NatsConnection, message: Msg): PulledMessage {
  const reply = message.reply ?? '';
  return {
    ...parseAckSubject(reply),
    subject: message.subject,
    data: message.data,
    headers: message.headers,
    working: () => nc.publish(reply, '+WPI'),
    ack: async (timeoutMs = 2000) => {
      await nc.request(reply, '+ACK', { timeout: timeoutMs });
    },
    // The server treats a fraction of a nanosecond as no delay.
    nak: (delayMs) => nc.publish(reply, `-NAK ${JSON.stringify({ delay: nanos(Math.ceil(delayMs)) })}`),
    terminate: (reason) => nc.publish(reply, `+TERM ${reason}`),
  };
}

/**
 * Parses `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>`. Newer servers put `<domain>.<account>`
 * before the stream and may append a token.
 */
export function parseAckSubject(subject: string): Delivery {
  const tokens = subject.split('.');
  const [stream = '', consumer = '', delivery = 1, sequence = 0, consumerSequence = 0, nanoseconds = 0, pending = 0] =
    tokens.slice(tokens.length >= 11 ? 4 : 2);
  return {
    stream,
    consumer,
    delivery: Number(delivery),
    sequence: Number(sequence),
    consumerSequence: Number(consumerSequence),
    timestamp: Math.floor(Number(nanoseconds) / 1e6),
    pending: Number(pending),
  };
}
