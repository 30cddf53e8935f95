import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Deliveries } from '@webcapture/shared/accounts/deliveries.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import { readBatchItems } from '@webcapture/shared/captures/batch-state.ts';
import { Batches } from '@webcapture/shared/captures/batches.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { SignLink } from '@webcapture/shared/files/open-store.ts';
import { storeHtml, removeHtml } from '@webcapture/shared/files/stored-html.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { createHeartbeatFaults, Fleet } from '@webcapture/shared/queue/fleet.ts';
import { removeCaptureFiles, FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { DeadLetters } from '@webcapture/shared/queue/dead-letters.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { NotableCaptures } from '@webcapture/shared/statistics/notable-captures.ts';
import {
  createStatisticsMetrics,
  Statistics,
  statisticsIntervalMs,
  UsageHistory,
} from '@webcapture/shared/statistics/statistics.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { Admission } from './admission.ts';
import { createAuth } from './auth/create-auth.ts';
import { ensurePresetKey, keepPresetKey } from './auth/preset-key.ts';
import { ByteQuota, EmbeddedShare } from './byte-quota.ts';
import { BackgroundQueue } from './capture/background-queue.ts';
import { CaptureList } from './capture/capture-list.ts';
import { createDispatcher } from './capture/create-dispatcher.ts';
import { CapturePipeline } from './capture/pipeline.ts';
import type { HtmlStore } from './capture/publish-job.ts';
import { InFlight, RegionSelector, RegionQueues } from './capture/regions.ts';
import { ResponseCache } from './capture/response-cache.ts';
import type { FrontConfig } from './config.ts';
import { CaptureEvents } from './events/capture-events.ts';
import { EventStreams } from './events/event-stream.ts';
import { OverviewCache } from './events/overview.ts';
import { IdempotencyKeys } from './idempotency/keys.ts';
import { Idempotency } from './idempotency/lease.ts';
import { createCacheMetrics, createFrontMetrics, createIdempotencyMetrics } from './metrics.ts';
import { ConnectionMonitor } from './nats.ts';
import { builtDashboard } from './plugins/dashboard/routes.ts';
import { SignInCode } from './plugins/dashboard/sign-in-code.ts';
import { HistoryCache } from './plugins/status-page/history-cache.ts';
import { buildApp } from './server.ts';
import { SignedLinks } from './signed-links.ts';
import { PictureComparisons } from './pictures/picture-comparisons.ts';
import { overlayStatus, StatusCache } from './status-cache.ts';

/** Components that a connected front needs. */
interface FrontParts {
  readonly config: FrontConfig;
  readonly session: NatsSession;
  readonly store: FileStore;
  /** If set, clients are redirected to signed links for files. */
  readonly signLink?: SignLink | undefined;
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
  const { config, session, store, signLink, log, metrics, signal, leaving, now = session.now, checkTimeoutMs } = parts;
  const { accounts, keys, authenticator, links, keyIssuer } = createAuth(session, {
    defaultLimits: config.defaultLimits,
    now,
    lookupTimeoutMs: checkTimeoutMs,
  });
  if (config.presetKey !== undefined) {
    await ensurePresetKey(config.presetKey, { accounts, keys, now });
  }
  const link = new ConnectionMonitor();
  const fleet = new Fleet(undefined, createHeartbeatFaults(metrics, log));
  const board = new StatusCache(
    config.regions.map(({ region }) => region),
    link,
    { now: session.now, monotonic: () => performance.now() },
  );
  void link.follow(session);
  if (config.presetKey !== undefined) {
    void keepPresetKey(config.presetKey, { accounts, keys, now }, { link, log, signal });
  }
  void fleet.follow(session, { log, signal });
  void board.follow(session, { log, signal });
  const statusHistory = new HistoryCache();
  void statusHistory.follow(session, { log, signal });

  const statistics = new Statistics(session, createStatisticsMetrics(metrics));
  const captures = new Captures(session, statistics.changed);
  const inFlight = new InFlight();
  const queues = new RegionQueues(session, config.regions);
  await queues.look();
  void queues.follow(signal);
  const regions = new RegionSelector({
    installed: config.regions,
    home: config.homeRegion,
    fleet,
    queues,
    inFlight,
    queued: () => board.queued(),
    isPending: (region) => board.isPending(region),
    link,
  });
  const tickets = new Tickets(session);
  link.onReconnect(() => tickets.forget());
  const jobs = new Jobs(session, tickets);
  const tasks = new Tasks(session);
  const followUps = new FollowUps(tasks, new ExpiryIndex(session, session.now));
  const htmlStore: HtmlStore = {
    put: (target, html, expiresAt) => storeHtml(session, target, html, expiresAt),
    remove: (name) => removeHtml(session, name),
  };
  const cache = new Cache(session);
  const frontMetrics = createFrontMetrics(metrics, {
    installed: config.regions,
    inFlight,
    statusAgeMs: () => board.ageMs(),
    components: () => overlayStatus(board.view()).components ?? [],
  });
  const secretsKeys = SecretsKeys.of(config.secretsKeys);
  const usage = new AccountUsage(session);
  const holdsFiles = config.storage.bucket === undefined;
  const embeddedShare = new EmbeddedShare(session, { percent: config.accountStoreShare, holdsFiles, log });
  await embeddedShare.look();
  void embeddedShare.follow(signal);
  const { defaultLimits } = config;
  const byteQuota = new ByteQuota({ accounts, usage, defaultLimits, share: embeddedShare, now });
  const comparisons = new PictureComparisons({ store, now, log });
  const { dispatcher, resultQueue } = createDispatcher({
    session,
    link,
    captures,
    jobs,
    tickets,
    followUps,
    tasks,
    cache,
    store,
    htmlStore,
    regions,
    inFlight,
    byteQuota,
    comparisons,
    secretsKeys,
    queueTimeoutMs: config.queueTimeoutMs,
    onSettled: (settled) => frontMetrics.settled(settled),
    onMalformed: () => frontMetrics.malformedResult(),
    log,
  });
  const responseCache = new ResponseCache({
    session,
    cache,
    authenticator,
    captures,
    store,
    count: createCacheMetrics(metrics),
    log,
  });
  const limiter = new Limiter(session, usage, now);
  const admission = new Admission({ limiter, embeddedShare, captures, log, signal, now, checkTimeoutMs });
  const idempotency = new Idempotency({
    keys: new IdempotencyKeys(session),
    count: createIdempotencyMetrics(metrics),
    now,
    log,
  });
  const backgroundQueue = new BackgroundQueue({ captures, jobs, tasks, regions, htmlStore, now: session.now, log });
  const { publicUrl, cdnUrl, trustProxy, proxyHops, maxConnectionsPerAddress, corsOrigins } = config;
  const { minRefreshSeconds, persistenceSeconds, allowIgnoreTlsErrors, adminToken, presetKey, signInCode } = config;
  const policy = createEgressPolicy({ allow: config.egressAllow, deny: config.egressDeny });
  const limits = { minRefreshSeconds, persistenceSeconds, allowIgnoreTlsErrors };
  const pipeline = new CapturePipeline({
    limits,
    secretsKeys,
    policy,
    statistics,
    cdnUrl,
    authenticator,
    responseCache,
    idempotency,
    admission,
    dispatcher,
    backgroundQueue,
    regions,
    captures,
    followUps,
    store,
    now,
    log,
  });
  const app = await buildApp({
    publicUrl,
    cdnUrl,
    trustProxy,
    proxyHops,
    maxConnectionsPerAddress,
    corsOrigins,
    allowIgnoreTlsErrors,
    defaultLimits,
    adminToken,
    log,
    metrics: frontMetrics,
    registry: metrics,
    leaving,
    now,
    store,
    authenticator,
    links,
    accounts,
    keys,
    keyIssuer,
    limiter,
    admission,
    limits,
    secretsKeys,
    pipeline,
    responseCache,
    idempotency,
    batches: new Batches(session),
    readItems: (batch) => readBatchItems(session, batch, now()),
    statistics,
    regions,
    backgroundQueue,
    captures,
    followUps,
    tasks,
    policy,
    usage,
    embeddedShare,
    status: board,
    statusHistory,
    captureList: new CaptureList(session, undefined, now),
    removeCaptureFiles: (record) =>
      removeCaptureFiles(record, { store, cache, removeHtml: (name) => htmlStore.remove(name) }),
    signedLinks: signLink === undefined ? null : new SignedLinks(signLink, now),
    webhookSecrets: new WebhookSecrets(session),
    deliveries: new Deliveries(session),
    usageHistory: new UsageHistory(session),
    captureEvents: new CaptureEvents(session, leaving),
    streams: new EventStreams({ leaving, metrics: frontMetrics }),
    overview: new OverviewCache({ fleet, status: () => board.view() }),
    notableCaptures: new NotableCaptures(session),
    deadLetters: new DeadLetters(session),
    dashboardFolder: builtDashboard,
    // Signed links lead to this origin.
    fileOrigins: signLink === undefined ? [] : ['https://storage.googleapis.com'],
    signInCode: signInCode && presetKey ? new SignInCode({ code: signInCode, key: presetKey, now }) : undefined,
  });
  const stopWriting = writeStatistics(statistics, { session, log, intervalMs: parts.statisticsMs });
  app.addHook('onClose', async () => {
    await comparisons.close();
    await resultQueue.close();
    await stopWriting();
    await limiter.flush();
  });
  return app;
}

/** Timeout of the last write of statistics. */
const lastWriteMs = 2000;

/** Writes the statistics periodically. The returned function stops that and writes the rest. */
function writeStatistics(
  statistics: Pick<Statistics, 'flush'>,
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
