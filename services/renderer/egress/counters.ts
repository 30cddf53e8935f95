import type { EgressFailureKind } from '@webcapture/shared/egress/policy.ts';
import { targetOfUrl, type Target } from './target.ts';

/** What a proxy session can have too much of. */
export const sessionLimits = ['connections', 'download', 'upload'] as const;
export type SessionLimit = (typeof sessionLimits)[number];

/** Limits of one proxy session. Times are milliseconds. */
export interface EgressLimits {
  /** For the name servers to answer. */
  readonly resolveTimeoutMs: number;
  /** For a connection to stand, over all addresses of a host. */
  readonly connectTimeoutMs: number;
  /** For a server to begin its answer. A script in the head that never comes would hold the page for ever. */
  readonly responseTimeoutMs: number;
  /** Connections open to servers at once; the next one is refused. */
  readonly maxConnections: number;
  /** Requests and tunnels that are served at once, more than nearly all pages make; beyond them so many a second, and the others wait. */
  readonly requestBurst: number;
  readonly requestsPerSecond: number;
  /** Bytes downloaded in all; then every connection is cut and none is made any more. */
  readonly maxDownloadBytes: number;
  /** Bytes uploaded in all, to the same end. A page that is looked at has little to send. */
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

/** What a proxy session has seen so far. */
export interface EgressStats {
  /** Hosts that the policy refused, in the order of their first request; at most the first 1,000. */
  readonly blockedHosts: readonly string[];
  readonly blockedRequests: number;
  /** Requests to names without an address, to servers that cannot be reached, and beyond the limits. */
  readonly failedRequests: number;
  /** Hosts that did not begin an answer in time; at most the first 1,000. */
  readonly stalledHosts: readonly string[];
  readonly stalledRequests: number;
  /** Connections to servers that stand now. */
  readonly openConnections: number;
  /** Connections to servers made so far. */
  readonly connections: number;
  /** Bytes that came from servers: bodies of plain http, everything in a tunnel. */
  readonly bytesReceived: number;
  /** The limit that was met, if one was. */
  readonly limitReached: SessionLimit | undefined;
}

/** A page may ask for any number of hosts; memory does not grow with them. */
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
    // A host and port once refused stays refused, whatever else happens to its requests.
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

  /** Counts bytes; whether it is with them that there are more than `max`. */
  transferred(direction: 'download' | 'upload', bytes: number, max: number): boolean {
    const before = this.#bytes[direction];
    this.#bytes[direction] = before + bytes;
    return before <= max && before + bytes > max;
  }

  /** Whether it is the first one. */
  reached(limit: SessionLimit): boolean {
    const isFirst = this.#limitReached === undefined;
    this.#limitReached ??= limit;
    return isFirst;
  }

  /** How the last request to the server of a URL failed, when one did. */
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
