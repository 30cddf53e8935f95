import { type Static, Type } from 'typebox';
import { captureStatuses, enumOf } from './capture.ts';

/** The data of an event `capture` of GET /events: how a capture stands after a change. */
export const captureEventSchema = Type.Object({
  uuid: Type.String({ format: 'uuid' }),
  status: enumOf(captureStatuses),
  refresh: Type.Union([enumOf(['queued', 'rendering', 'completed', 'failed']), Type.Null()], {
    description: 'State of the latest refresh; null if there was none.',
  }),
});
export type CaptureEvent = Static<typeof captureEventSchema>;
