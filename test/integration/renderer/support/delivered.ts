import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';

/** A delivered message without a server. */
export function delivered(job: object, delivery = 1, changes: Partial<PulledMessage> = {}): PulledMessage {
  return {
    subject: '',
    data: Buffer.from(JSON.stringify(job)),
    delivery,
    sequence: 1,
    stream: 'CAPTURES',
    consumer: 'us-east-interactive',
    consumerSequence: 1,
    timestamp: Date.now(),
    pending: 0,
    working: () => undefined,
    ack: () => Promise.resolve(),
    nak: () => undefined,
    terminate: () => undefined,
    ...changes,
  };
}
