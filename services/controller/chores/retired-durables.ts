import type { Region } from '@webcapture/shared/contract/regions.ts';
import { isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { consumerConfigs, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';

/**
 * Removes the durables of regions that are no longer installed, once nothing waits in them and nobody holds a job of
 * theirs. What waits is swept when its time is up.
 */
export async function removeRetiredDurables(
  session: NatsSession,
  regions: readonly Region[],
  log: Logger,
): Promise<void> {
  const wanted = new Set(consumerConfigs(regions).map(({ config }) => config.durable_name));
  for await (const info of session.jsm.consumers.list(streamNames.captures)) {
    const durable = info.config.durable_name;
    if (durable === undefined || wanted.has(durable) || info.num_pending > 0 || info.num_ack_pending > 0) continue;
    // A consumer counts what waits for it a moment after it came; the stream knows at once.
    const { state } = await session.jsm.streams.info(streamNames.captures, {
      subjects_filter: info.config.filter_subject ?? '>',
    });
    if (Object.keys(state.subjects ?? {}).length > 0) continue;
    try {
      await session.jsm.consumers.delete(streamNames.captures, durable);
      log.info({ durable }, 'removed the queue of a region that is no longer installed');
    } catch (error) {
      if (!isNotProvisioned(error)) throw error;
    }
  }
}
