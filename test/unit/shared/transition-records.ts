import type { CaptureRecord, CaptureRefresh } from '@webcapture/shared/captures/capture-record.ts';
import type { RefreshOrder } from '@webcapture/shared/captures/transitions.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

export const day = 86_400_000;
export const accepted = Date.UTC(2026, 10, 30, 12);
export const now = accepted + 60_000;
export const outcome = newOutcome({ capturedAt: now });
export const failure = { code: 'CAPTURE_FAILED', message: 'It did not work.', cause: 'service' } as const;
export const later = accepted + 2 * day;

export const newRefresh = (changes: Partial<CaptureRefresh> = {}): CaptureRefresh => ({
  revision: 2,
  state: 'queued',
  by: 'request',
  region: 'us-east',
  acceptedAt: now,
  startBy: now + day,
  deadline: now + day,
  ...changes,
});
export const orderOf = (revision: number, acceptedAt = now): RefreshOrder => {
  const { state: _state, ...order } = newRefresh({ revision, acceptedAt });
  return order;
};
export const background = (changes: Partial<CaptureRecord> = {}) =>
  newRecord({ priority: 'background', acceptedAt: accepted, tokenCost: 3, ...changes });
export const completed = (changes: Partial<CaptureRecord> = {}) =>
  background({ status: 'completed', outcome, ...changes });

/** A record in every possible state, by name. */
export const records: Readonly<Record<string, CaptureRecord>> = {
  queued: background(),
  rendering: background({ status: 'rendering' }),
  failed: background({ status: 'failed', failure, endedAt: now }),
  completed: completed(),
  'refresh queued': completed({ refresh: newRefresh() }),
  'refresh rendering': completed({ refresh: newRefresh({ state: 'rendering' }) }),
  'refresh completed': completed({ refresh: newRefresh({ state: 'completed' }) }),
  'refresh failed': completed({ refresh: newRefresh({ state: 'failed', failure }) }),
  expired: completed({ status: 'expired' }),
  'expired while refreshed': completed({ status: 'expired', refresh: newRefresh({ state: 'rendering' }) }),
  deleted: completed({ status: 'deleted' }),
  'deleted while refreshed': completed({ status: 'deleted', refresh: newRefresh() }),
};
export const recordOf = (name: string): CaptureRecord => records[name] ?? background();
