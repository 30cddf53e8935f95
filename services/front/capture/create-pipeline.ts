import type { Registry } from 'prom-client';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import type { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { Sessions } from '@webcapture/shared/captures/sessions.ts';
import { begin } from '@webcapture/shared/captures/transitions.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { removeHtml, storeHtml } from '@webcapture/shared/files/stored-html.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Statistics } from '@webcapture/shared/statistics/statistics.ts';
import { Admission } from '../admission.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { ByteQuota, EmbeddedShare } from '../byte-quota.ts';
import type { FrontConfig } from '../config.ts';
import { IdempotencyKeys } from '../idempotency/keys.ts';
import { Idempotency } from '../idempotency/lease.ts';
import { createCacheMetrics, createIdempotencyMetrics, type FrontMetrics } from '../metrics.ts';
import type { ConnectionMonitor } from '../nats.ts';
import { createComparisonMetrics, PictureComparisons } from '../pictures/picture-comparisons.ts';
import { BackgroundQueue } from './background-queue.ts';
import { Dispatcher } from './dispatcher.ts';
import { CapturePipeline } from './pipeline.ts';
import type { HtmlStore } from './publish-job.ts';
import type { InFlight, RegionSelector } from './regions.ts';
import { type ReceivedReply, ReplyInbox } from './reply-inbox.ts';
import { ResponseCache } from './response-cache.ts';
import { ResultQueue } from './result-queue.ts';
import { ResultSettler, type SettlementDeps } from './settlement.ts';

interface PipelineParts {
  readonly config: FrontConfig;
  readonly session: NatsSession;
  readonly link: ConnectionMonitor;
  readonly store: FileStore;
  readonly accounts: Accounts;
  readonly authenticator: Authenticator;
  readonly statistics: Statistics;
  readonly regions: RegionSelector;
  readonly inFlight: InFlight;
  readonly metrics: FrontMetrics;
  readonly registry: Registry;
  readonly log: Logger;
  /** Stops the background work of the front when it aborts. */
  readonly signal: AbortSignal;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly checkTimeoutMs?: number | undefined;
}

/** Creates the components that process captures, from admission to settlement, and returns the components that the routes use. */
export async function createPipeline(parts: PipelineParts) {
  const { config, session, link, store, authenticator, statistics, regions, metrics, registry, log, now } = parts;
  const { minRefreshSeconds, persistenceSeconds, allowIgnoreTlsErrors, defaultLimits, cdnUrl } = config;
  const captures = new Captures(session, statistics.changed);
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
  const secretsKeys = SecretsKeys.of(config.secretsKeys);

  const usage = new AccountUsage(session);
  const holdsFiles = config.storage.bucket === undefined;
  const embeddedShare = new EmbeddedShare(session, { percent: config.accountStoreShare, holdsFiles, log });
  await embeddedShare.look();
  void embeddedShare.follow(parts.signal);
  const byteQuota = new ByteQuota({ accounts: parts.accounts, usage, defaultLimits, share: embeddedShare, now });
  const limiter = new Limiter(session, usage, now);
  const { signal, checkTimeoutMs } = parts;
  const admission = new Admission({ limiter, embeddedShare, captures, log, signal, now, checkTimeoutMs });

  const sessions = new Sessions(session);
  const comparisons = new PictureComparisons({ store, now, log, count: createComparisonMetrics(registry) });
  const onSettled: SettlementDeps['onSettled'] = (settled) => metrics.settled(settled);
  const onMalformed = () => metrics.malformedResult();
  const settling = { captures, store, comparisons, cache, tickets, byteQuota, sessions, secretsKeys, onSettled, log };
  const settlements = new ResultSettler(settling);
  const onStarted = async ({ result, region }: ReceivedReply) => {
    const ticket = await tickets.open(result.ticket);
    if (ticket?.region !== region) onSettled({ outcome: 'forged', region, tokens: 0 });
    // An interactive capture has no record yet.
    else if (result.outcome.kind === 'started' && ticket.draft === undefined) {
      await captures.change(ticket, begin(ticket.revision));
    }
  };
  const inbox = new ReplyInbox(session, {
    log,
    onMalformed,
    onStarted: (reply) =>
      void onStarted(reply).catch((error: unknown) =>
        log.debug({ err: error }, 'the start of a rendering could not be recorded'),
      ),
  });
  const dispatcher = new Dispatcher({
    captures,
    jobs,
    settlements,
    link,
    inbox,
    regions,
    inFlight: parts.inFlight,
    htmlStore,
    store,
    maxPayload: () => session.nc.info?.max_payload ?? 0,
    queueTimeoutMs: config.queueTimeoutMs,
    now: session.now,
    log,
  });
  const resultQueue = new ResultQueue({
    session,
    settlements,
    captures,
    followUps,
    jobs,
    tasks,
    removeHtml: (name) => htmlStore.remove(name),
    onMalformed,
    log,
  });
  const backgroundQueue = new BackgroundQueue({ captures, jobs, tasks, regions, htmlStore, now: session.now, log });

  const count = createCacheMetrics(registry);
  const responseCache = new ResponseCache({ session, cache, authenticator, captures, store, count, log });
  const idempotency = new Idempotency({
    keys: new IdempotencyKeys(session),
    count: createIdempotencyMetrics(registry),
    now,
    log,
  });
  const shared = {
    limits: { minRefreshSeconds, persistenceSeconds, allowIgnoreTlsErrors },
    secretsKeys,
    sessions,
    policy: createEgressPolicy({ allow: config.egressAllow, deny: config.egressDeny }),
    captures,
    followUps,
    responseCache,
    idempotency,
    admission,
    backgroundQueue,
  };
  const pipeline = new CapturePipeline({
    ...shared,
    cdnUrl,
    authenticator,
    dispatcher,
    regions,
    statistics,
    store,
    now,
    log,
  });
  const close = async () => {
    await comparisons.close();
    await resultQueue.close();
  };
  return { ...shared, pipeline, tasks, usage, embeddedShare, limiter, close };
}
