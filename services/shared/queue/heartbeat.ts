import type { Region } from '../runtime/regions.ts';

/** How often a renderer publishes a heartbeat, and for how long one counts as fresh. */
export const heartbeatIntervalMs = 2000;
export const heartbeatFreshMs = 5000;

/** A usual heartbeat has about 400 bytes. */
export const maxHeartbeatBytes = 16_384;

/** Of one renderer, those whose file is being stored among them. */
export const maxHeldJobs = 400;

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

/** Null for what no renderer of ours would publish. */
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

/** Where a renderer's heartbeat is kept. */
export const fleetKey = (region: Region, pod: string) => `fleet.${region}.${pod}`;
