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

/** A request and the time to end its work fit between the end of acting and the end of the lease. */
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
  /** Interval of probes of a bucket, which charges for them: at 30 s a probe costs half a dollar a month. */
  bucketProbeMs: 30_000,
  /** Time to the next probe or canary after a failed one: it soon confirms or clears the problem. */
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
  /**
   * Interval at which the leader applies the wanted configuration of all streams; any controller creates missing ones
   * at once.
   */
  provisionMs: 60_000,
  /**
   * After this time without a leader, the controllers with the newest configuration are gone, and the others become
   * candidates again.
   */
  vacantMs: 10_000,
  lease: fleetLeaseTimes,
  kubernetes: { lease: kubernetesLeaseTimes, regionsMs: 500, costsMs: 5000 },
};

export type ControllerTimes = Readonly<typeof controllerTimes>;
