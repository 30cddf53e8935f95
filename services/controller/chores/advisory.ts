/** What the server says of a message that it will not deliver again. */
export interface Advisory {
  readonly reason: 'max_deliveries' | 'terminated';
  /** Sequence of the message in the stream. */
  readonly sequence: number;
  readonly deliveries: number;
}

const types = {
  'io.nats.jetstream.advisory.v1.max_deliver': 'max_deliveries',
  'io.nats.jetstream.advisory.v1.terminated': 'terminated',
} as const;

/** Reads an advisory of nats-server (its schemas: github.com/nats-io/jsm.go); null when it is none of those two. */
export function parseAdvisory(data: Uint8Array): Advisory | null {
  let advisory: unknown;
  try {
    advisory = JSON.parse(new TextDecoder().decode(data));
  } catch {
    return null;
  }
  if (typeof advisory !== 'object' || advisory === null) return null;
  const { type, stream_seq: sequence, deliveries } = advisory as Record<string, unknown>;
  if (typeof type !== 'string' || !Object.hasOwn(types, type) || typeof sequence !== 'number') return null;
  const reason = types[type as keyof typeof types];
  return { reason, sequence, deliveries: typeof deliveries === 'number' ? deliveries : 0 };
}
