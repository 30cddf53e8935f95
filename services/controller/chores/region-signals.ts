import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { sendSignal } from '@webcapture/shared/state/signals.ts';
import type { LatestReading } from '../apply/latest-reading.ts';

/** Renderers look into every shard themselves when they hear nothing for a minute. */
export const regionSignalsIntervalMs = 5000;

export interface RegionSignalsDeps {
  readonly session: NatsSession;
  readonly regions: readonly Region[];
  readonly latest: Pick<LatestReading, 'get'>;
}

/**
 * Tells renderers the time, and in which background shards captures wait: whoever queued them may have died before it
 * told, and what the server delivers again is told by nobody else.
 */
export function sendRegionSignals({ session, regions, latest }: RegionSignalsDeps): void {
  const queue = latest.get()?.facts.queue;
  for (const region of regions) {
    const shards = queue?.kind === 'answered' ? (queue.shards[region] ?? []) : [];
    sendSignal(session, region, { shards, now: session.now() });
  }
}
