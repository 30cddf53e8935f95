import type { Region } from '../contract/regions.ts';
import type { NatsSession } from '../nats/connect.ts';
import { signalSubject } from '../nats/streams.ts';

/**
 * What renderers of a region are told on `signals.<region>` (core NATS, so a message may get lost): by whoever queues a
 * background capture, and every few seconds by the leader of the fleet.
 */
export interface RegionSignal {
  /** Background shards in which something waits. */
  readonly shards: readonly number[];
  /** Unix milliseconds by the clock of the NATS server, from the leader alone. */
  readonly now?: number;
}

/** Tells the renderers of a region; core NATS. Throws when the connection is closed. */
export function sendSignal({ nc }: Pick<NatsSession, 'nc'>, region: Region, signal: RegionSignal): void {
  nc.publish(signalSubject(region), JSON.stringify(signal));
}
