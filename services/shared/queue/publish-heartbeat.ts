import type { Entries } from '../nats/entries.ts';
import type { Region } from '../runtime/regions.ts';
import { fleetKey, heartbeatFreshMs } from './heartbeat.ts';
import type { RendererHeartbeat } from './parse-heartbeat.ts';

/** Publishes a heartbeat. It expires soon after it is no longer fresh. */
export async function publishHeartbeat(live: Entries, heartbeat: RendererHeartbeat): Promise<void> {
  const ttlSeconds = Math.ceil((heartbeatFreshMs * 2) / 1000);
  await live.put(fleetKey(heartbeat.region, heartbeat.pod), heartbeat, { ttlSeconds });
}

/** Withdraws the heartbeat of a renderer that has stopped. */
export async function withdrawHeartbeat(live: Entries, region: Region, pod: string): Promise<void> {
  await live.delete(fleetKey(region, pod));
}
