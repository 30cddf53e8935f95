import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { Lookup, ResolvedAddress } from '@webcapture/shared/egress/lookup.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { rangeOf } from '@webcapture/shared/egress/address-range.ts';
import { connect } from '@webcapture/shared/egress/connect.ts';
import { EgressFailure } from '@webcapture/shared/egress/egress-failure.ts';
import type { LaneBooks } from './lane-books.ts';
import type { Connection, LaneConnections } from './lane-connections.ts';
import type { EgressLimits, LaneLimit } from './limits.ts';
import type { Target } from './target.ts';

export interface DiallerOptions {
  readonly policy: EgressPolicy;
  readonly lookup: Lookup | undefined;
  readonly limits: EgressLimits;
  readonly books: LaneBooks;
  readonly connections: LaneConnections;
  /** Aborts when the lane closes. */
  readonly closed: AbortSignal;
  /** Whether a lane of this proxy listens at a port of this machine. */
  readonly isLanePort: (port: number) => boolean;
  readonly reached: (limit: LaneLimit) => void;
}

/**
 * Makes a lane's connections. A name is resolved and checked once in the life of a lane, and every connection to it
 * goes to those very addresses: a name server that changes its mind between the check and the connection, or between
 * two connections, changes nothing.
 */
export class LaneDialler {
  readonly #options: DiallerOptions;
  readonly #addresses = new Map<string, Promise<readonly ResolvedAddress[]>>();
  #dialling = 0;
  #stopped: EgressFailure | undefined;

  constructor(options: DiallerOptions) {
    this.#options = options;
  }

  /** @throws EgressFailure */
  async dial(target: Target): Promise<Connection> {
    const { policy, limits, books, connections, closed, reached, isLanePort } = this.#options;
    if (this.#stopped) throw this.#stopped;
    if (!policy.allowsPort(target.port)) throw new EgressFailure('blocked', `port ${target.port} is refused`);
    if (connections.size + this.#dialling >= limits.maxConnections) {
      reached('connections');
      throw new EgressFailure('limit', `more than ${limits.maxConnections} connections`);
    }
    this.#dialling += 1;
    try {
      const addresses = await this.#resolve(target.host);
      closed.throwIfAborted();
      // Where an operator opens loopback, a page is still not to talk to its own proxy, or to that of another capture.
      if (isLanePort(target.port) && addresses.some(({ address }) => isThisMachine(address))) {
        throw new EgressFailure('blocked', 'a port of the proxy itself');
      }
      const socket = await connect(addresses, target.port, limits.connectTimeoutMs, closed);
      if (this.#stopped) {
        socket.destroy();
        throw this.#stopped;
      }
      books.connected();
      return connections.add(target, socket);
    } finally {
      this.#dialling -= 1;
    }
  }

  /** Cuts every connection and makes none any more. */
  stop(failure: EgressFailure): void {
    this.#stopped = failure;
    this.#options.connections.destroyAll(failure);
  }

  #resolve(host: string): Promise<readonly ResolvedAddress[]> {
    const known = this.#addresses.get(host);
    if (known) return known;
    const { policy, lookup, limits, closed } = this.#options;
    const options = { signal: closed, timeoutMs: limits.resolveTimeoutMs, ...(lookup && { lookup }) };
    const addresses = policy.resolve(host, options).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'URL_BLOCKED') {
        throw new EgressFailure('blocked', error.message, { cause: error.cause });
      }
      // A name server may have a bad moment; the next request to the name asks again.
      this.#addresses.delete(host);
      throw closed.aborted
        ? closed.reason
        : new EgressFailure('unresolved', 'the name has no address', { cause: error });
    });
    this.#addresses.set(host, addresses);
    return addresses;
  }
}

/** Linux takes 0.0.0.0 and :: for loopback. */
function isThisMachine(address: string): boolean {
  return ['loopback', 'unspecified'].includes(rangeOf(address)?.range ?? '');
}
