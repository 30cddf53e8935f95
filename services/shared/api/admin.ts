import { type Static, Type } from 'typebox';
import { regions } from '../runtime/regions.ts';
import { enumOf } from './capture.ts';
import { statusValues } from './status.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const dateTime = (description: string) => Type.String({ format: 'date-time', description });

/** Renderers of a region that are listed by name; all of them are counted. */
export const maxListedPods = 200;

const podSchema = Type.Object({
  pod: Type.String({ description: 'Name of the pod, or of the process where there is no cluster.' }),
  slots: count('Captures that it can render at the same time.'),
  busy: count('Slots in use.'),
  version: Type.String(),
  ageMs: count('Milliseconds since its last heartbeat.'),
});

const regionOverviewSchema = Type.Object({
  region: enumOf(regions),
  renderers: count('Renderers that accept captures.'),
  slots: count('Slots of these renderers.'),
  busy: count('Slots in use.'),
  queued: Type.Object(
    { interactive: Type.Integer({ minimum: 0 }), background: Type.Integer({ minimum: 0 }) },
    { description: 'Captures that wait for a renderer, as of the last status of the controller.' },
  ),
  status: enumOf(statusValues),
  meanRenderMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Mean time that renderers spent on a capture within the last five minutes; null if there was none.',
  }),
  pods: Type.Array(podSchema, {
    description: `Renderers with a fresh heartbeat, by name; at most ${maxListedPods}.`,
  }),
});

/** The `data` of GET /admin/overview, and of each event of GET /admin/events. */
export const overviewSchema = Type.Object({
  at: dateTime('Time of this overview.'),
  status: enumOf(statusValues, { description: 'Overall status of the service, as of GET /status.' }),
  regions: Type.Array(regionOverviewSchema),
});
export type Overview = Static<typeof overviewSchema>;
