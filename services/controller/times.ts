import { statusIntervalMs } from '@webcapture/shared/api/status.ts';
import type { KubernetesTimes } from './kubernetes/run.ts';
import type { LeaseTimes } from './leader/lease.ts';

/** How often things are done, in milliseconds. */
export interface ControllerTimes {
  /** A reading of everything, and a decision. */
  readonly tickMs: number;
  readonly statusMs: number;
  readonly storageProbeMs: number;
  /** Of a bucket, which charges for it: at 30 s a probe costs half a dollar a month. */
  readonly bucketProbeMs: number;
  /** Until the next probe of the store, or canary, after one that failed: what is wrong is confirmed, or over, soon. */
  readonly storageRetryMs: number;
  readonly canaryRetryMs: number;
  /** How long a canary capture may take. */
  readonly canaryDeadlineMs: number;
  readonly sweepMs: number;
  /** How often it is looked for what has expired. */
  readonly expiryMs: number;
  /** How often it is looked whether a day's expiries are to be moved to their minutes. */
  readonly expandDaysMs: number;
  /** From the start of one audit of the records to that of the next. */
  readonly recordAuditMs: number;
  /** The wanted configuration of all streams is applied by the leader; what is missing is made at once by anybody. */
  readonly provisionMs: number;
  readonly lease: LeaseTimes;
  readonly kubernetes: KubernetesTimes;
}

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

export const controllerTimes: ControllerTimes = Object.freeze({
  tickMs: 1000,
  statusMs: statusIntervalMs,
  storageProbeMs: 10_000,
  bucketProbeMs: 30_000,
  storageRetryMs: 2000,
  canaryRetryMs: 15_000,
  canaryDeadlineMs: 20_000,
  sweepMs: 5000,
  expiryMs: 5000,
  expandDaysMs: 10 * 60_000,
  recordAuditMs: 86_400_000,
  provisionMs: 60_000,
  lease: fleetLeaseTimes,
  kubernetes: { lease: kubernetesLeaseTimes, regionsMs: 500, costsMs: 5000 },
});
