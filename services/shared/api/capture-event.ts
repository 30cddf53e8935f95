import type { Region } from '../runtime/regions.ts';
import type { CaptureStatus } from './capture.ts';

/** The data of an event `capture` of GET /events: how a capture stands after a change. */
export interface CaptureEvent {
  readonly uuid: string;
  readonly status: CaptureStatus;
  /** State of the latest refresh; null if there was none. */
  readonly refresh: 'queued' | 'rendering' | 'completed' | 'failed' | null;
}

/** Where a capture is that a client waits for: in the queue of its region, in the browser, or on its way into the file store. */
export type CaptureStep = 'queued' | 'rendering' | 'storing';

/** The data of an event `progress` of POST /capture. */
export interface CaptureProgress {
  readonly uuid: string;
  readonly region: Region;
  readonly step: CaptureStep;
}
