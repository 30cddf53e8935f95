import { statusIntervalMs } from '@webcapture/shared/contract/status-report.ts';
import { kubeLeaseTimes } from './kube/kube-lease.ts';
import type { KubeTimes } from './kube/run-kubernetes.ts';
import { leaseTimes, type LeaseTimes } from './leader/lease.ts';

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
  readonly kube: KubeTimes;
}

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
  lease: leaseTimes,
  kube: { lease: kubeLeaseTimes, regionsMs: 500, costsMs: 5000 },
});
