import { regions, type Region } from '../runtime/regions.ts';

const browserStates = ['up', 'starting', 'down'] as const;

/** What a renderer says of itself every two seconds, under `fleet.<region>.<pod>`. */
export interface RendererHeartbeat {
  readonly pod: string;
  readonly region: Region;
  /** Random, of the process: two processes under the name of one pod are told apart by it. */
  readonly instance?: string;
  readonly version: string;
  readonly slots: number;
  readonly busy: number;
  /** `up`: the browser answers; `starting`: one is on its way; `down`: it could not be started. */
  readonly browser: (typeof browserStates)[number];
  /** Pulls no more jobs: it is about to stop. */
  readonly draining: boolean;
  /** Captures that ended in the last five minutes, and those of them that failed for our own reasons. */
  readonly recent: {
    readonly ended: number;
    readonly failedByUs: number;
    readonly queueWaitP95Ms: number;
    /** From the delivery of the job to the acknowledgement of its result; absent before the first. */
    readonly meanRenderMs?: number;
  };
  /** Jobs that it holds, each as {@link heldJobText} writes it: handed back when it dies. */
  readonly jobs?: readonly string[];
  /** Unix milliseconds by the pod's own clock, which may be off: nothing is decided by it. */
  readonly at: number;
}

/** How often a renderer says it, and for how long a heartbeat counts as fresh. */
export const heartbeatIntervalMs = 2000;
export const heartbeatFreshMs = 5000;

/** The longest that a heartbeat may be; a usual one has about 400 bytes. */
export const maxHeartbeatBytes = 16_384;

const maxSlots = 1000;

/** Of one renderer, those whose file is being stored among them. */
export const maxHeldJobs = 400;
const maxCaptures = 1e7;
const maxTimeMs = 7 * 86_400_000;

/**
 * A heartbeat as it may be trusted, or null. A renderer may be owned by the page that it shows: what it says must fit
 * the key that it was allowed to write to, and lie within bounds. What else it says is left out.
 */
export function parseHeartbeat(key: string, value: unknown): RendererHeartbeat | null {
  if (!isRecord(value) || !isRecord(value['recent'])) return null;
  const { pod, region, instance, version, slots, busy, browser, draining, recent, at } = value;
  const { jobs } = value;
  const { ended, failedByUs, queueWaitP95Ms, meanRenderMs } = recent;
  const knownRegion = regions.find((known) => known === region);
  const state = browserStates.find((known) => known === browser);
  if (knownRegion === undefined || state === undefined || typeof draining !== 'boolean') return null;
  if (!isText(pod, 253) || key !== fleetKey(knownRegion, pod) || !isText(version, 100)) return null;
  if (instance !== undefined && !isText(instance, 64)) return null;
  if (!isCount(slots, maxSlots) || !isCount(busy, maxSlots)) return null;
  if (!isCount(ended, maxCaptures) || !isCount(failedByUs, maxCaptures)) return null;
  if (!isNumber(queueWaitP95Ms) || !isNumber(at)) return null;
  if (meanRenderMs !== undefined && !isNumber(meanRenderMs)) return null;
  if (jobs !== undefined && (!Array.isArray(jobs) || jobs.length > maxHeldJobs)) return null;
  return {
    pod,
    region: knownRegion,
    ...(instance === undefined ? {} : { instance }),
    version,
    slots,
    busy,
    browser: state,
    draining,
    recent: {
      ended,
      failedByUs,
      queueWaitP95Ms: duration(queueWaitP95Ms),
      ...(meanRenderMs === undefined ? {} : { meanRenderMs: duration(meanRenderMs) }),
    },
    ...(jobs === undefined ? {} : { jobs: jobs.filter((job): job is string => parseHeldJob(job) !== null) }),
    at,
  };
}

/** A delivery of a job, as its consumer knows it; the region is the renderer's. */
export interface HeldJob {
  /** Of the consumer, without the region: `interactive` or `background-<shard>`. */
  readonly queue: string;
  readonly delivery: number;
  /** In the stream, and of the delivery. */
  readonly sequence: number;
  readonly consumerSequence: number;
}

export const heldJobText = ({ queue, delivery, sequence, consumerSequence }: HeldJob): string =>
  `${queue}:${delivery}:${sequence}:${consumerSequence}`;

/** Null for what no renderer of ours would say. */
export function parseHeldJob(text: unknown): HeldJob | null {
  const match = typeof text === 'string' && text.length < 80 ? heldJobForm.exec(text) : null;
  if (match === null) return null;
  const [, queue = '', delivery, sequence, consumerSequence] = match;
  return {
    queue,
    delivery: Number(delivery),
    sequence: Number(sequence),
    consumerSequence: Number(consumerSequence),
  };
}

const heldJobForm = /^(interactive|background-[0-7]):(\d{1,9}):(\d{1,16}):(\d{1,16})$/;

/** Where a renderer's heartbeat stands. */
export const fleetKey = (region: Region, pod: string) => `fleet.${region}.${pod}`;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const isText = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= maxLength;
const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isCount = (value: unknown, max: number): value is number =>
  isNumber(value) && Number.isInteger(value) && value >= 0 && value <= max;
/** A pod whose clock is off may measure nonsense, and renders nevertheless. */
const duration = (ms: number) => Math.min(maxTimeMs, Math.max(0, ms));
