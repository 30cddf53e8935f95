import type { Capture, CaptureStatus } from '@webcapture/client';
import { Badge, type Tone } from '../../widgets/figures.tsx';

export const statusTones: Readonly<Record<CaptureStatus, Tone>> = {
  queued: 'busy',
  rendering: 'busy',
  completed: 'good',
  failed: 'bad',
  expired: 'plain',
  deleted: 'plain',
};

/** The state of a capture, including a refresh in progress, and the status of an error page. */
export function StatusBadge({ capture }: { readonly capture: Capture }) {
  const refresh = 'refresh' in capture ? capture.refresh?.state : undefined;
  const isRefreshing = capture.status === 'completed' && (refresh === 'queued' || refresh === 'rendering');
  if (isRefreshing) return <Badge tone="busy">refreshing</Badge>;
  const httpStatus = ('report' in capture && capture.report.httpStatus) || 0;
  if (capture.status === 'completed' && httpStatus >= 400) {
    return <Badge tone="warning">completed, HTTP {httpStatus}</Badge>;
  }
  return <Badge tone={statusTones[capture.status]}>{capture.status}</Badge>;
}
