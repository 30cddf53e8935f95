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

/** A request and the time to end what it began fit between the end of acting and the end of the lease. */
export const kubernetesLeaseTimes: LeaseTimes = Object.freeze({
  ttlMs: 9000,
  marginMs: 2500,
  renewMs: 2000,
  retryMs: 500,
  pollMs: 1000,
  requestMs: 2000,
});

/** How often things are done, in milliseconds. */
export const controllerTimes = {
  /** A reading of everything, and a decision. */
  tickMs: 1000,
  statusMs: statusIntervalMs,
  storageProbeMs: 10_000,
  /** Of a bucket, which charges for it: at 30 s a probe costs half a dollar a month. */
  bucketProbeMs: 30_000,
  /** Until the next probe of the store, or canary, after one that failed: what is wrong is confirmed, or over, soon. */
  storageRetryMs: 2000,
  canaryRetryMs: 15_000,
  /** How long a canary capture may take. */
  canaryDeadlineMs: 20_000,
  sweepMs: 5000,
  /** How often it is looked for what has expired. */
  expiryMs: 5000,
  /** How often it is looked whether a day's expiries are to be moved to their minutes. */
  expandDaysMs: 10 * 60_000,
  /** From the start of one audit of the records to that of the next. */
  recordAuditMs: 86_400_000,
  /** The wanted configuration of all streams is applied by the leader; what is missing is made at once by anybody. */
  provisionMs: 60_000,
  /** After this time without a leader, the controllers with the newest configuration are gone, and the others become candidates again. */
  vacantMs: 10_000,
  lease: fleetLeaseTimes,
  kubernetes: { lease: kubernetesLeaseTimes, regionsMs: 500, costsMs: 5000 },
};

export type ControllerTimes = Readonly<typeof controllerTimes>;
