import { statusIntervalMs } from '@webcapture/shared/api/status.ts';
import type { LeaseTimes } from './leader/lease.ts';

export const fleetLeaseTimes: LeaseTimes = Object.freeze({
  ttlMs: 6000,
  marginMs: 1500,
  renewMs: 1500,
  retryMs: 250,
  pollMs: 500,
  requestMs: 1000,
});

/** The margin is long enough for one request and the time to end the work. */
export const kubernetesLeaseTimes: LeaseTimes = Object.freeze({
  ttlMs: 9000,
  marginMs: 2500,
  renewMs: 2000,
  retryMs: 500,
  pollMs: 1000,
  requestMs: 2000,
});

/** Intervals and time limits, in milliseconds. */
export const controllerTimes = {
  /** Interval of readings and decisions. */
  tickMs: 1000,
  statusMs: statusIntervalMs,
  storageProbeMs: 10_000,
  /** Interval of probes of a bucket. Buckets charge for requests: at 30 s, probing costs half a dollar a month. */
  bucketProbeMs: 30_000,
  /** Time to the next probe or canary after a failed one. It is short, to confirm or clear the problem soon. */
  storageRetryMs: 2000,
  canaryRetryMs: 15_000,
  /** Maximum duration of a canary capture. */
  canaryDeadlineMs: 20_000,
  sweepMs: 5000,
  /** Interval of checks for expired files. */
  expiryMs: 5000,
  /** Interval of checks for daily expiry entries to move to their minutes. */
  expandDaysMs: 10 * 60_000,
  /** Interval between the starts of two audits of the records. */
  recordAuditMs: 86_400_000,
  /** Interval at which the leader applies the wanted configuration of all streams. Any controller creates missing ones immediately. */
  provisionMs: 60_000,
  /**
   * Time without a leader after which the controllers with the newest configuration are considered dead. The other controllers then become
   * candidates again.
   */
  vacantMs: 10_000,
  lease: fleetLeaseTimes,
  kubernetes: { lease: kubernetesLeaseTimes, regionsMs: 500, costsMs: 5000 },
};

export type ControllerTimes = Readonly<typeof controllerTimes>;
