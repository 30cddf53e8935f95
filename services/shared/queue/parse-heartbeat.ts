import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import { regions } from '../runtime/regions.ts';
import { oneOf } from '../api/one-of.ts';
import { fleetKey, maxHeldJobs, parseHeldJob } from './heartbeat.ts';

// Separate from heartbeat.ts, because renderers do not parse heartbeats.

const maxSlots = 1000;
const maxCaptures = 1e7;
const maxTimeMs = 7 * 86_400_000;

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const count = (maximum: number) => Type.Integer({ minimum: 0, maximum });

const heartbeatSchema = Type.Object({
  pod: text(253),
  region: oneOf(regions),
  /** Random id of the process, which distinguishes two processes under one pod name. */
  instance: text(64),
  version: text(100),
  slots: count(maxSlots),
  busy: count(maxSlots),
  /** `up` means that a browser answers or is being replaced; `down`, that no browser could be started. */
  browser: oneOf(['up', 'down']),
  /** Whether the renderer is about to stop, and therefore pulls no more jobs. */
  draining: Type.Boolean(),
  /** Number of captures that ended in the last five minutes, and how many of them failed because of the service. */
  recent: Type.Object({
    ended: count(maxCaptures),
    internalFailures: count(maxCaptures),
    /** Interactive captures among `ended` whose waits `queueWaitP95Ms` describes; absent in heartbeats of older versions. */
    interactive: Type.Optional(count(maxCaptures)),
    /** 95th percentile of the time that interactive captures waited in the queue. */
    queueWaitP95Ms: Type.Number(),
    /** Mean time from the delivery of a job to the acknowledgement of its result. Absent before the first acknowledgement. */
    meanRenderMs: Type.Optional(Type.Number()),
  }),
  jobs: Type.Array(Type.Unknown(), { maxItems: maxHeldJobs }),
  /** Unix milliseconds by the pod's clock, which may be wrong. Nothing depends on them. */
  at: Type.Number(),
});

/**
 * The schema is compiled. Thousands of heartbeats may arrive in a second, and interpreting the schema would take a hundred times as long.
 */
const validator = Compile(heartbeatSchema);

/** The heartbeat that a renderer publishes every two seconds under `fleet.<region>.<pod>`. */
export type RendererHeartbeat = Readonly<Omit<Static<typeof heartbeatSchema>, 'jobs'>> & {
  /** Jobs that the renderer has taken, as written by `heldJobText`. They are returned to the queue if the renderer dies. */
  readonly jobs: readonly string[];
};

/**
 * Returns a validated heartbeat, or null. A page may have compromised its renderer. Therefore a heartbeat must match the key that the
 * renderer may write, and its values must be within limits. Unknown fields are dropped.
 */
export function parseHeartbeat(key: string, value: unknown): RendererHeartbeat | null {
  if (!validator.Check(value) || key !== fleetKey(value.region, value.pod)) return null;
  const { recent, jobs, ...rest } = withoutOthers(value, heartbeatSchema.properties);
  const { queueWaitP95Ms, meanRenderMs, ...counts } = withoutOthers(
    recent,
    heartbeatSchema.properties.recent.properties,
  );
  return {
    ...rest,
    recent: {
      ...counts,
      queueWaitP95Ms: duration(queueWaitP95Ms),
      ...(meanRenderMs === undefined ? {} : { meanRenderMs: duration(meanRenderMs) }),
    },
    jobs: jobs.filter((job): job is string => parseHeldJob(job) !== null),
  };
}

const withoutOthers = <T extends object>(value: T, known: object): T =>
  Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(known, name))) as T;

/** A pod with a wrong clock may measure invalid durations, but it can render. Its heartbeat is therefore accepted. */
const duration = (ms: number) => Math.min(maxTimeMs, Math.max(0, ms));
