import type { EgressFailureKind } from '@webcapture/shared/egress/policy.ts';
import { targetOfUrl, type Target } from './target.ts';

/** Limits of a proxy session that a page can reach. */
export const sessionLimits = ['connections', 'download', 'upload'] as const;
export type SessionLimit = (typeof sessionLimits)[number];

/** Limits of one proxy session. Times are in milliseconds. */
export interface EgressLimits {
  /** Timeout of a name lookup. */
  readonly resolveTimeoutMs: number;
  /** Timeout of a connection, over all addresses of a host. */
  readonly connectTimeoutMs: number;
  /** Timeout for the start of a response. Without it, a script in the head whose server does not respond would block the page. */
  readonly responseTimeoutMs: number;
  /** Maximum number of open connections to servers; further ones are refused. */
  readonly maxConnections: number;
  /**
   * Number of requests and tunnels that are served without a delay. Nearly all pages make fewer. Further requests wait and are served
   * at `requestsPerSecond`.
   */
  readonly requestBurst: number;
  readonly requestsPerSecond: number;
  /** Maximum number of downloaded bytes. Above it, all connections are closed and new ones are refused. */
  readonly maxDownloadBytes: number;
  /**
   * Maximum number of uploaded bytes. Above it, all connections are closed and new ones are refused. A page uploads little while it is only
   * viewed.
   */
  readonly maxUploadBytes: number;
}

export const defaultLimits: EgressLimits = {
  resolveTimeoutMs: 5000,
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 10_000,
  maxConnections: 256,
  requestBurst: 1500,
  requestsPerSecond: 200,
  maxDownloadBytes: 512 * 1024 * 1024,
  maxUploadBytes: 64 * 1024 * 1024,
};

/** Statistics of a proxy session. */
export interface EgressStats {
  /** Hosts that the policy refused, in the order of their first request; at most the first 1,000. */
  readonly blockedHosts: readonly string[];
  readonly blockedRequests: number;
  /** Number of requests to names without an address or to unreachable servers, and of requests that exceeded a limit. */
  readonly failedRequests: number;
  /** Hosts that exceeded the response timeout; at most the first 1,000. */
  readonly stalledHosts: readonly string[];
  readonly stalledRequests: number;
  /** Number of open connections to servers. */
  readonly openConnections: number;
  /** Number of connections to servers made so far. */
  readonly connections: number;
  /** Bytes received from servers: bodies of plain HTTP, all bytes of a tunnel. */
  readonly bytesReceived: number;
  /** The first limit that was reached, if any. */
  readonly limitReached: SessionLimit | undefined;
}

/** Maximum number of hosts that are kept. It bounds the memory, because a page can request any number of hosts. */
const maxKept = 1000;

/** Counts what happens in a proxy session. */
export class SessionCounters {
  readonly #failures = new Map<string, EgressFailureKind>();
  readonly #blockedHosts = new Set<string>();
  readonly #stalledHosts = new Set<string>();
  readonly #bytes = { download: 0, upload: 0 };
  readonly #counts = { blockedRequests: 0, failedRequests: 0, stalledRequests: 0, connections: 0 };
  #limitReached: EgressStats['limitReached'];

  failed(target: Target, kind: Exclude<EgressFailureKind, 'closed'>): void {
    // A host and port that the policy refused once counts as refused, even if a later request to it fails for another reason.
    const known = this.#failures.get(target.key);
    if (known !== 'blocked' && (known !== undefined || this.#failures.size < maxKept)) {
      this.#failures.set(target.key, kind);
    }
    if (kind === 'blocked') {
      this.#counts.blockedRequests += 1;
      keep(this.#blockedHosts, target.host);
    } else if (kind === 'response-timeout') {
      this.#counts.stalledRequests += 1;
      keep(this.#stalledHosts, target.host);
    } else {
      this.#counts.failedRequests += 1;
    }
  }

  connected(): void {
    this.#counts.connections += 1;
  }

  /** Counts bytes. Returns true if these bytes are the first that exceed `max`. */
  transferred(direction: 'download' | 'upload', bytes: number, max: number): boolean {
    const before = this.#bytes[direction];
    this.#bytes[direction] = before + bytes;
    return before <= max && before + bytes > max;
  }

  /** Returns whether this is the first limit that the session reached. */
  reached(limit: SessionLimit): boolean {
    const isFirst = this.#limitReached === undefined;
    this.#limitReached ??= limit;
    return isFirst;
  }

  /** Returns how the last request to the server of a URL failed, if it failed. */
  failureOf(url: string): EgressFailureKind | undefined {
    const target = targetOfUrl(url);
    return target && this.#failures.get(target.key);
  }

  stats(openConnections: number): EgressStats {
    return {
      ...this.#counts,
      blockedHosts: [...this.#blockedHosts],
      stalledHosts: [...this.#stalledHosts],
      openConnections,
      bytesReceived: this.#bytes.download,
      limitReached: this.#limitReached,
    };
  }
}

function keep(set: Set<string>, value: string): void {
  if (set.size < maxKept) set.add(value);
}
