import { nanos, type Msg, type NatsConnection } from '@nats-io/nats-core';

/** A message that this process holds until it is acknowledged, handed back, or its ack wait runs out. */
export interface PulledMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** 1 on the first delivery. */
  readonly delivery: number;
  /** Sequence in the stream. */
  readonly sequence: number;
  /** What this delivery is called by its consumer. */
  readonly consumer: string;
  readonly consumerSequence: number;
  /** When the server stored it, in Unix milliseconds by its clock. */
  readonly timestamp: number;
  /** How many more messages waited for this consumer when this one was delivered. */
  readonly pending: number;
  /** Keeps it from being delivered again for another ack wait. */
  working(): void;
  /** Done with it. Awaits the server's word: an ack that nobody confirmed may be lost when the server dies. */
  ack(timeoutMs?: number): Promise<void>;
  /** Hands it back; delivered again after the delay. (Without a delay, deliveries burn up at once.) */
  handBack(delayMs: number): void;
  /** Never deliver it again; the server tells why in an advisory. */
  terminate(reason: string): void;
}

/** Wraps a message that a pull request brought; see the server's ADR-4 and ADR-13 for the reply subject and the words. */
export function pulledMessage(nc: NatsConnection, message: Msg): PulledMessage {
  const reply = message.reply ?? '';
  const { consumer, delivery, sequence, consumerSequence, timestamp, pending } = parseAckSubject(reply);
  return {
    subject: message.subject,
    data: message.data,
    delivery,
    sequence,
    consumer,
    consumerSequence,
    timestamp,
    pending,
    working: () => nc.publish(reply, '+WPI'),
    ack: async (timeoutMs = 2000) => {
      await nc.request(reply, '+ACK', { timeout: timeoutMs });
    },
    // The server takes a fraction of a nanosecond for no delay at all.
    handBack: (delayMs) => nc.publish(reply, `-NAK ${JSON.stringify({ delay: nanos(Math.ceil(delayMs)) })}`),
    terminate: (reason) => nc.publish(reply, `+TERM ${reason}`),
  };
}

/** What the server says of a delivery in the subject of its acknowledgement. */
export interface Delivery {
  readonly stream: string;
  readonly consumer: string;
  /** 1 on the first delivery. */
  readonly delivery: number;
  /** Sequence in the stream. */
  readonly sequence: number;
  readonly consumerSequence: number;
  /** When it was stored, Unix milliseconds. */
  readonly timestamp: number;
  /** Messages that were still to be delivered. */
  readonly pending: number;
}

/**
 * `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>`; newer servers put
 * `<domain>.<account>` before the stream and may append a token.
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

/** Whether a message was delivered by a consumer: what else comes to an inbox is the server's word about a request. */
export const isDelivery = (message: Msg): boolean => message.reply?.startsWith('$JS.ACK.') === true;
