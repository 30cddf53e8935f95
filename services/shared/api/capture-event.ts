import type { CaptureStatus } from './capture.ts';

/** The data of an event `capture` of GET /events: how a capture stands after a change. */
export interface CaptureEvent {
  readonly uuid: string;
  readonly status: CaptureStatus;
  /** State of the latest refresh; null if there was none. */
  readonly refresh: 'queued' | 'rendering' | 'completed' | 'failed' | null;
}
