import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { createHeartbeatFaults, Fleet } from '@webcapture/shared/queue/fleet.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { createStatisticsMetrics, Statistics, statisticsIntervalMs } from '@webcapture/shared/statistics/statistics.ts';
import { createAuth } from './auth/create-auth.ts';
import { ensurePresetKey, keepPresetKey } from './auth/preset-key.ts';
import { createPipeline } from './capture/create-pipeline.ts';
import { InFlight, RegionQueues, RegionSelector } from './capture/regions.ts';
import type { FrontConfig } from './config.ts';
import { createFrontMetrics } from './metrics.ts';
import { ConnectionMonitor } from './nats.ts';
import { buildApp } from './server.ts';
import type { LinkSigner } from './signed-links.ts';
import { overlayStatus, StatusCache } from './status-cache.ts';

/** Components that a connected front needs. */
interface FrontParts {
  readonly config: FrontConfig;
  readonly session: NatsSession;
  readonly store: FileStore;
  /** If set, clients are redirected to signed links for files. */
  readonly linkSigner?: LinkSigner | undefined;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Ends the background work of the front. It aborts after everything else, because clients may still wait for captures. */
  readonly signal: AbortSignal;
  /** When it aborts, each response closes its connection. */
  readonly leaving: AbortSignal;
  /** Unix milliseconds; for the expiry of keys and the current month. */
  readonly now?: () => number;
  /** Timeout of the look-up of an API key, and of the check of its limits; the default is that of each. */
  readonly checkTimeoutMs?: number | undefined;
  /** Interval of writes of statistics; ten seconds by default. */
  readonly statisticsMs?: number | undefined;
}

/** Creates a front from a connection to NATS: an application that can listen. */
export async function createFront(parts: FrontParts): Promise<FastifyInstance> {
  const { config, session, log, metrics: registry, signal, now = session.now, checkTimeoutMs } = parts;
  const { defaultLimits, presetKey } = config;
  const auth = createAuth(session, { defaultLimits, now, lookupTimeoutMs: checkTimeoutMs });
  const { accounts, keys } = auth;
  if (presetKey !== undefined) await ensurePresetKey(presetKey, { accounts, keys, now });

  const link = new ConnectionMonitor();
  void link.follow(session);
  if (presetKey !== undefined) void keepPresetKey(presetKey, { accounts, keys, now }, { link, log, signal });
  const fleet = new Fleet(undefined, createHeartbeatFaults(registry, log));
  void fleet.follow(session, { log, signal });
  const installed = config.regions;
  const clock = { now: session.now, monotonic: () => performance.now() };
  const status = new StatusCache(
    installed.map(({ region }) => region),
    link,
    clock,
  );
  void status.follow(session, { log, signal });
  const inFlight = new InFlight();
  const queues = new RegionQueues(session, installed);
  await queues.look();
  void queues.follow(signal);
  const regions = new RegionSelector({
    installed,
    home: config.homeRegion,
    fleet,
    queues,
    inFlight,
    queued: () => status.queued(),
    isPending: (region) => status.isPending(region),
    link,
  });

  const metrics = createFrontMetrics(registry, {
    installed,
    inFlight,
    statusAgeMs: () => status.ageMs(),
    components: () => overlayStatus(status.view()).components ?? [],
  });
  const statistics = new Statistics(session, createStatisticsMetrics(registry));
  const shared = { ...parts, ...auth, registry, metrics, now, regions, statistics };
  const capturing = await createPipeline({ ...shared, link, inFlight });
  const app = await buildApp({ ...config, ...shared, ...capturing, fleet, status });
  const stopWriting = writeStatistics(statistics, { session, log, intervalMs: parts.statisticsMs });
  app.addHook('onClose', async () => {
    await capturing.close();
    await stopWriting();
    await capturing.limiter.flush();
  });
  return app;
}

/** Timeout of the last write of statistics. */
const lastWriteMs = 2000;

/** Writes the statistics periodically. The returned function stops that and writes the rest. */
function writeStatistics(
  statistics: Statistics,
  {
    session,
    log,
    intervalMs = statisticsIntervalMs,
  }: { readonly session: NatsSession; readonly log: Logger; readonly intervalMs?: number | undefined },
): () => Promise<void> {
  const write = () =>
    statistics.flush().catch((error: unknown) => log.debug({ err: error }, 'the usage history could not be written'));
  const timer = setInterval(() => void write(), intervalMs).unref();
  return async () => {
    clearInterval(timer);
    if (session.connected()) await withDeadline(write(), lastWriteMs, 'writing statistics').catch(() => undefined);
  };
}
