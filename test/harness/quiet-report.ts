import type { StatusReport } from '@webcapture/shared/api/status.ts';

/** A status report that names no component. */
export const quietReport: StatusReport = {
  components: [],
  pending: [],
  queued: {},
  waiting: {},
  retired: {},
  clusters: [],
  overall: 'operational',
  at: 0,
};
