/** Why something outside could not be reached, or did not answer: for a page's requests, and for webhooks. */
export type EgressFailureKind =
  /** The policy refuses the host, one of its addresses, or the port. */
  | 'blocked'
  /** The name has no address, or the name servers do not answer. */
  | 'unresolved'
  /** No address of the host took the connection. */
  | 'unreachable'
  /** No address of the host answered in time. */
  | 'connect-timeout'
  /** The connection stood, but the answer did not begin in time. */
  | 'response-timeout'
  /** The lane has its most connections or bytes. */
  | 'limit'
  /** The lane is closed. */
  | 'closed';

export class EgressFailure extends Error {
  readonly kind: EgressFailureKind;

  constructor(kind: EgressFailureKind, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'EgressFailure';
    this.kind = kind;
  }
}

/** Any thrown value as a failure: what is not one yet is a connection that broke. */
export function toEgressFailure(thrown: unknown): EgressFailure {
  if (thrown instanceof EgressFailure) return thrown;
  return new EgressFailure('unreachable', 'the connection failed', { cause: thrown });
}
