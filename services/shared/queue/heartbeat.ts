import type { Region } from '../runtime/regions.ts';

/** Interval of the heartbeats of a renderer. */
export const heartbeatIntervalMs = 2000;
/** Time for which a heartbeat counts as fresh. */
export const heartbeatFreshMs = 5000;

/** Maximum size of a heartbeat. A typical one has about 400 bytes. */
export const maxHeartbeatBytes = 16_384;

/** Maximum number of held jobs of one renderer, including those whose file is being stored. */
export const maxHeldJobs = 400;

/** Identifies a delivery of a job in the same way as its consumer. The region is that of the renderer. */
export interface HeldJob {
  /** Name of the consumer without the region: `interactive` or `background-<shard>`. */
  readonly queue: string;
  readonly delivery: number;
  /** Sequence of the message in the stream, and sequence of the delivery. */
  readonly sequence: number;
  readonly consumerSequence: number;
}

export const heldJobText = ({ queue, delivery, sequence, consumerSequence }: HeldJob): string =>
  `${queue}:${delivery}:${sequence}:${consumerSequence}`;

/** Parses the text; returns null if it is invalid. */
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

/** Returns the key of a renderer's heartbeat. */
export const fleetKey = (region: Region, pod: string) => `fleet.${region}.${pod}`;
