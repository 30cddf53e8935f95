import type { Capture, CaptureStatus } from '@webcapture/client';
import { Badge, type Tone } from '../../widgets/figures.tsx';

const tones: Readonly<Record<CaptureStatus, Tone>> = {
  queued: 'busy',
  rendering: 'busy',
  completed: 'good',
  failed: 'bad',
  expired: 'plain',
  deleted: 'plain',
};

/** The state of a capture, including a refresh in progress. */
export function StatusBadge({ capture }: { readonly capture: Capture }) {
  const refresh = 'refresh' in capture ? capture.refresh?.state : undefined;
  const isRefreshing = capture.status === 'completed' && (refresh === 'queued' || refresh === 'rendering');
  if (isRefreshing) return <Badge tone="busy">refreshing</Badge>;
  return <Badge tone={tones[capture.status]}>{capture.status}</Badge>;
}
