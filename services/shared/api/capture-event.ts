import type { Region } from '../runtime/regions.ts';
import type { CaptureStatus } from './capture.ts';

/** The data of an event `capture` of GET /events: the state of a capture after a change. */
export interface CaptureEvent {
  readonly uuid: string;
  readonly status: CaptureStatus;
  /** State of the latest refresh; null if there was none. */
  readonly refresh: 'queued' | 'rendering' | 'completed' | 'failed' | null;
  /** Share of different pixels that the latest refresh has found. It is absent if the refresh was not compared. */
  readonly changedShare?: number;
}

/** Steps of an interactive capture: it is in the queue of its region, it is rendered, its file is stored. */
export type CaptureStep = 'queued' | 'rendering' | 'storing';

/** The data of an event `progress` of POST /capture. */
export interface CaptureProgress {
  readonly uuid: string;
  readonly region: Region;
  readonly step: CaptureStep;
}
