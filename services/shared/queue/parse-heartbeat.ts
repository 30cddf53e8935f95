import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import { enumOf } from '../api/capture.ts';
import { regions } from '../runtime/regions.ts';
import { fleetKey, maxHeldJobs, parseHeldJob } from './heartbeat.ts';

// Apart from heartbeat.ts: a renderer parses no heartbeats and does not load TypeBox, which takes 25 MB of memory.

const maxSlots = 1000;
const maxCaptures = 1e7;
const maxTimeMs = 7 * 86_400_000;

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const count = (maximum: number) => Type.Integer({ minimum: 0, maximum });

const heartbeatSchema = Type.Object({
  pod: text(253),
  region: enumOf(regions),
  /** Random id of the process, which distinguishes two processes under one pod name. */
  instance: text(64),
  version: text(100),
  slots: count(maxSlots),
  busy: count(maxSlots),
  /** `up`: a browser answers or is being replaced; `down`: none could be started. */
  browser: enumOf(['up', 'down']),
  /** Pulls no more jobs: it is about to stop. */
  draining: Type.Boolean(),
  /** Captures that ended in the last five minutes, and those of them that failed for our own reasons. */
  recent: Type.Object({
    ended: count(maxCaptures),
    failedByUs: count(maxCaptures),
    queueWaitP95Ms: Type.Number(),
    /** From the delivery of the job to the acknowledgement of its result; absent before the first. */
    meanRenderMs: Type.Optional(Type.Number()),
  }),
  jobs: Type.Array(Type.Unknown(), { maxItems: maxHeldJobs }),
  /** Unix milliseconds by the pod's own clock, which may be off: nothing is decided by it. */
  at: Type.Number(),
});

/** Compiled: thousands of heartbeats a second may come, and a schema that is interpreted takes a hundred times as long. */
const validator = Compile(heartbeatSchema);

/** What a renderer publishes about itself every two seconds, under `fleet.<region>.<pod>`. */
export type RendererHeartbeat = Readonly<Omit<Static<typeof heartbeatSchema>, 'jobs'>> & {
  /** Jobs that it holds, each as `heldJobText` writes it: returned to the queue when it dies. */
  readonly jobs: readonly string[];
};

/**
 * A heartbeat as it may be trusted, or null. A renderer may be owned by the page that it shows: what it publishes must fit
 * the key that it was allowed to write to, and lie within bounds. Other fields are left out.
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

/** A pod whose clock is off may measure nonsense, and renders nevertheless. */
const duration = (ms: number) => Math.min(maxTimeMs, Math.max(0, ms));
