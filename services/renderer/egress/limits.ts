/** What a lane can have too much of. */
export const laneLimits = ['connections', 'download', 'upload'] as const;
export type LaneLimit = (typeof laneLimits)[number];

/** Bounds of one lane. Times are milliseconds. */
export interface EgressLimits {
  /** For the name servers to answer. */
  readonly resolveTimeoutMs: number;
  /** For a connection to stand, over all addresses of a host. */
  readonly connectTimeoutMs: number;
  /** For a server to begin its answer. A script in the head that never comes would hold the page for ever. */
  readonly responseTimeoutMs: number;
  /** Connections open to servers at once; the next one is refused. */
  readonly maxConnections: number;
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
  maxDownloadBytes: 512 * 1024 * 1024,
  maxUploadBytes: 64 * 1024 * 1024,
};
