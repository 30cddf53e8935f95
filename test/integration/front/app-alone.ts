import { randomUUIDv7 } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { KeyRecord } from '../../../services/front/auth/keys.ts';
import type { VerifiedLink } from '../../../services/front/auth/capture-links.ts';
import { Authenticator } from '../../../services/front/auth/authenticator.ts';
import type { SignInCode } from '../../../services/front/plugins/dashboard/sign-in-code.ts';
import { KeyIssuer } from '../../../services/front/auth/key-issuer.ts';
import { demoLimits } from '../../../services/front/auth/preset-key.ts';
import { CapturePipeline } from '../../../services/front/capture/pipeline.ts';
import { InFlight } from '../../../services/front/capture/regions.ts';
import type { ClientLimitOptions } from '../../../services/front/http/client-limits.ts';
import type { RequestFacts } from '../../../services/front/http/request-facts.ts';
import { createFrontMetrics } from '../../../services/front/metrics.ts';
import { buildApp } from '../../../services/front/server.ts';
import type { StatusView } from '../../../services/front/status-cache.ts';
import { HistoryCache } from '../../../services/front/plugins/status-page/history-cache.ts';
import { silentLog } from '../../harness/nats-session.ts';

/** No client limits: most tests send more invalid requests than a real client. */
const unlimited: Partial<ClientLimitOptions> = {
  failures: { capacity: 1e6, perSecond: 1 },
  bytes: { capacity: 1e9, perSecond: 1 },
};

const tooFar = (): never => {
  throw new Error('a request came further than it should');
};

/** Builds the application without queue and store: a valid request gets as far as its key, which is unknown. */
export function buildAppAlone(
  options: {
    key?: KeyRecord;
    view?: () => StatusView;
    history?: HistoryCache;
    publicUrl?: string;
    now?: () => number;
    trustProxy?: boolean;
    proxyHops?: number;
    maxConnectionsPerAddress?: number;
    corsOrigins?: readonly string[];
    clientLimits?: Partial<ClientLimitOptions>;
    /** Replaces the look-up of the key. */
    lookUp?: (hash: string) => Promise<KeyRecord | null>;
    registry?: Registry;
    adminToken?: string;
    /** Replaces the verification of a link. */
    verifyLink?: () => Promise<VerifiedLink>;
    dispatch?: () => Promise<never>;
    /** Folder of a built dashboard; none by default. */
    dashboardFolder?: string;
    signInCode?: SignInCode;
    /** None by default. */
    log?: Logger;
    /** Replaces everything behind the application. */
    beyond?: () => never;
  } = {},
): Promise<FastifyInstance> {
  const { beyond = tooFar } = options;
  const authenticator = new Authenticator({
    keys: {
      get: async (hash: string) => {
        const value = (await options.lookUp?.(hash)) ?? options.key;
        return value === undefined ? null : { value, revision: 1 };
      },
    },
    accounts: { get: async () => null },
    defaultLimits: demoLimits,
    now: Date.now,
  });
  const keyIssuer = new KeyIssuer({
    keys: { put: beyond, find: beyond, change: beyond, add: beyond, madeByKey: beyond },
    linkSecrets: { rotate: beyond, endMadeBy: beyond },
    onChange: beyond,
    onLinkSecret: beyond,
    now: Date.now,
  });
  const registry = options.registry ?? new Registry();
  const metrics = createFrontMetrics(registry, {
    installed: [],
    inFlight: new InFlight(),
    statusAgeMs: () => null,
    components: () => [],
  });
  const cdnUrl = 'https://cdn.test';
  const now = Date.now;
  const captures = { get: beyond, fail: beyond, change: beyond };
  const followUps = { schedule: beyond };
  const store = { stat: beyond, read: beyond };
  const regions = { choose: beyond, estimatedWaitSeconds: () => null };
  const admission = {
    admit: async (_account: unknown, _request: unknown, facts: Pick<RequestFacts, 'rateLimit'>) => {
      facts.rateLimit = { limit: 1, remaining: 1, resetSeconds: 0 };
      return { release: async () => undefined };
    },
  };
  const lease = {
    nameCapture: async () => randomUUIDv7(),
    complete: async () => undefined,
    release: async () => undefined,
    close: () => undefined,
  };
  const pipeline = new CapturePipeline({
    limits: { minRefreshSeconds: 3600, persistenceSeconds: 86_400, allowIgnoreTlsErrors: false },
    policy: createEgressPolicy({ allow: [] }),
    cdnUrl,
    authenticator,
    responseCache: {
      candidate: async () => null,
      acquire: async () => ({ kind: 'lease', lease: null }),
      hit: () => null,
    },
    idempotency: { acquire: async () => ({ kind: 'lease', lease }) },
    admission,
    dispatcher: { prepare: options.dispatch ?? beyond, deadlineOf: () => 0 },
    backgroundQueue: { enqueue: beyond },
    regions,
    captures,
    followUps,
    store,
    statistics: { hit: beyond },
    now,
    log: silentLog,
  });
  return buildApp({
    http: {
      publicUrl: options.publicUrl ?? 'https://capture.test/api',
      trustProxy: options.trustProxy ?? false,
      proxyHops: options.proxyHops ?? 1,
      maxConnectionsPerAddress: options.maxConnectionsPerAddress ?? 256,
      corsOrigins: options.corsOrigins ?? [],
      clientLimits: options.clientLimits ?? unlimited,
      log: options.log ?? silentLog,
      metrics,
      registry,
      leaving: new AbortController().signal,
    },
    capture: { pipeline, authenticator, store, metrics },
    captureLinks: { links: { verify: options.verifyLink ?? beyond }, now },
    captures: {
      cdnUrl,
      authenticator,
      captures,
      captureList: { list: beyond },
      followUps,
      tasks: { schedule: beyond },
      regions,
      admission,
      backgroundQueue: { enqueueRefresh: beyond },
      allowIgnoreTlsErrors: false,
      removeCaptureFiles: beyond,
      store,
      now,
      log: silentLog,
    },
    files: { store, links: null, now },
    keys: { authenticator, keys: { list: beyond }, keyIssuer, now },
    signingSecrets: { authenticator, keyIssuer },
    webhooks: { authenticator, webhookSecrets: { get: beyond, rotate: beyond }, now },
    webhookDeliveries: {
      authenticator,
      captures,
      followUps,
      deliveries: { list: beyond },
      tasks: { publish: beyond, schedule: beyond },
      policy: { checkLiteral: beyond },
      now,
    },
    usage: {
      authenticator,
      usage: { read: beyond },
      limiter: { inFlight: beyond },
      embeddedShare: { limit: beyond, holdsFiles: true },
      usageHistory: { read: beyond },
      keys: { names: beyond },
      now,
    },
    admin: {
      adminToken: options.adminToken,
      defaultLimits: demoLimits,
      accounts: { get: beyond, create: beyond, change: beyond, list: beyond },
      authenticator,
      keys: { hasAny: beyond },
      keyIssuer,
      overview: { view: beyond, follow: beyond },
      streams: { reserve: beyond },
      notableCaptures: { list: beyond },
      usageHistory: { sumByAccount: beyond },
      deadLetters: { list: beyond },
      now,
    },
    events: { authenticator, captureEvents: { listen: beyond, onKeyChange: beyond }, streams: { reserve: beyond } },
    status: { view: options.view ?? beyond },
    thumbnails: { authenticator, captures, followUps, now },
    mcp: {
      publicUrl: 'https://capture.test/api',
      cdnUrl,
      authenticator,
      pipeline,
      metrics,
      captures,
      followUps,
      status: { view: options.view ?? beyond },
      now,
    },
    statusPage: { history: options.history ?? new HistoryCache(), now: options.now ?? now },
    dashboard: { folder: options.dashboardFolder ?? '/nowhere', cdnUrl, signInCode: options.signInCode },
  });
}
