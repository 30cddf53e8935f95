import { nanos, type Msg, type NatsConnection } from '@nats-io/nats-core';

/** A message that this process holds until it is acknowledged, handed back, or its ack wait runs out. */
export interface PulledMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** 1 on the first delivery. */
  readonly delivery: number;
  /** Sequence in the stream. */
  readonly sequence: number;
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
  const { delivery, sequence } = parseAckSubject(reply);
  return {
    subject: message.subject,
    data: message.data,
    delivery,
    sequence,
    working: () => nc.publish(reply, '+WPI'),
    ack: async (timeoutMs = 2000) => {
      await nc.request(reply, '+ACK', { timeout: timeoutMs });
    },
    // The server takes a fraction of a nanosecond for no delay at all.
    handBack: (delayMs) => nc.publish(reply, `-NAK ${JSON.stringify({ delay: nanos(Math.ceil(delayMs)) })}`),
    terminate: (reason) => nc.publish(reply, `+TERM ${reason}`),
  };
}

/**
 * `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>`; newer servers put
 * `<domain>.<account>` before the stream and may append a token.
 */
export function parseAckSubject(subject: string): { delivery: number; sequence: number } {
  const tokens = subject.split('.');
  const offset = tokens.length >= 11 ? 2 : 0;
  return { delivery: Number(tokens[4 + offset] ?? 1), sequence: Number(tokens[5 + offset] ?? 0) };
}
