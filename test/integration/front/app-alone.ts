import { randomUUIDv7 } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import type { Sessions } from '@webcapture/shared/captures/sessions.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { KeyRecord } from '../../../services/front/auth/keys.ts';
import type { VerifiedLink } from '../../../services/front/auth/capture-links.ts';
import { Authenticator } from '../../../services/front/auth/authenticator.ts';
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
import { fake } from '../../harness/fake.ts';
import { silentLog } from '../../harness/nats-session.ts';

/** Client limits are off, because most tests send more invalid requests than a real client. */
const unlimited: Partial<ClientLimitOptions> = {
  failures: { capacity: 1e6, perSecond: 1 },
  bytes: { capacity: 1e9, perSecond: 1 },
};

const tooFar = (): never => {
  throw new Error('a request came further than it should');
};

/** Returns a fake connection to NATS. Each of its methods calls `beyond`. */
export function unreachable(beyond: () => never): NatsSession {
  const client: object = new Proxy(beyond, { get: () => client });
  const session = { js: client, jsm: client, nc: client, kvPrefix: '$KV', now: Date.now, connected: () => true };
  return { ...session, onStatus: () => () => undefined } as unknown as NatsSession;
}

/** Builds the application without queue and store. A valid request fails at the look-up of its key, because no key is known. */
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
    signInCode?: string;
    presetKey?: string;
    /** None by default. */
    log?: Logger;
    /** Replaces everything that the application calls. */
    beyond?: () => never;
  } = {},
): Promise<FastifyInstance> {
  const { beyond = tooFar } = options;
  const authenticator = new Authenticator({
    keys: fake({
      get: async (hash: string) => {
        const value = (await options.lookUp?.(hash)) ?? options.key;
        return value === undefined ? null : { value, revision: 1 };
      },
    }),
    accounts: fake({ get: async () => null }),
    defaultLimits: demoLimits,
    now: Date.now,
  });
  const keyIssuer = new KeyIssuer({
    keys: fake({ put: beyond, find: beyond, change: beyond, add: beyond, madeByKey: beyond }),
    linkSecrets: fake({ rotate: beyond, endMadeBy: beyond }),
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
  const store = { stat: beyond, read: beyond, remove: beyond };
  const sessions = fake<Sessions>({ get: beyond, list: beyond, delete: beyond });
  const regions = { choose: beyond, estimatedWaitSeconds: () => null };
  const admission = {
    admit: async (_account: unknown, _request: unknown, facts: Pick<RequestFacts, 'rateLimit'>) => {
      facts.rateLimit = { limit: 1, remaining: 1, resetSeconds: 0 };
      return { release: async () => undefined };
    },
  };
  const lease = {
    renew: async () => randomUUIDv7(),
    complete: async () => undefined,
    release: async () => undefined,
    close: () => undefined,
  };
  const limits = { minRefreshSeconds: 3600, persistenceSeconds: 86_400, allowIgnoreTlsErrors: false };
  const pipeline = new CapturePipeline({
    limits,
    policy: createEgressPolicy({ allow: [] }),
    cdnUrl,
    authenticator,
    responseCache: fake({
      candidate: async () => null,
      acquire: async () => ({ kind: 'lease', lease: null }),
      hit: () => null,
    }),
    idempotency: fake({ acquire: async () => ({ kind: 'lease', lease }) }),
    admission: fake(admission),
    sessions,
    dispatcher: fake({ prepare: options.dispatch ?? beyond, deadlineOf: () => 0 }),
    backgroundQueue: fake({ enqueue: beyond }),
    regions: fake(regions),
    captures: fake(captures),
    followUps: fake(followUps),
    store: fake(store),
    statistics: fake({ hit: beyond }),
    now,
    log: silentLog,
  });
  return buildApp({
    publicUrl: options.publicUrl ?? 'https://capture.test/api',
    cdnUrl,
    trustProxy: options.trustProxy ?? false,
    proxyHops: options.proxyHops ?? 1,
    maxConnectionsPerAddress: options.maxConnectionsPerAddress ?? 256,
    corsOrigins: options.corsOrigins ?? [],
    clientLimits: options.clientLimits ?? unlimited,
    allowIgnoreTlsErrors: false,
    defaultLimits: demoLimits,
    adminToken: options.adminToken,
    log: options.log ?? silentLog,
    metrics,
    registry,
    leaving: new AbortController().signal,
    signal: new AbortController().signal,
    session: unreachable(beyond),
    now: options.now ?? now,
    store: fake(store),
    authenticator,
    links: fake({ verify: options.verifyLink ?? beyond }),
    accounts: fake({ get: beyond, create: beyond, change: beyond, list: beyond }),
    keys: fake({ list: beyond, names: beyond, hasAny: beyond }),
    keyIssuer,
    limiter: fake({ inFlight: beyond }),
    admission: fake(admission),
    limits,
    sessions,
    pipeline,
    responseCache: fake({ candidate: beyond, hit: beyond }),
    idempotency: fake({ acquire: beyond }),
    statistics: fake({ hit: beyond }),
    regions: fake(regions),
    backgroundQueue: fake({ enqueue: beyond, enqueueRefresh: beyond }),
    captures: fake(captures),
    followUps: fake(followUps),
    tasks: fake({ publish: beyond, schedule: beyond }),
    policy: fake({ checkLiteral: beyond }),
    usage: fake({ read: beyond }),
    embeddedShare: fake({ limit: beyond, holdsFiles: true }),
    status: { view: options.view ?? beyond },
    statusHistory: options.history ?? new HistoryCache(),
    fleet: fake({ load: beyond, heard: beyond }),
    dashboardFolder: options.dashboardFolder ?? '/nowhere',
    signInCode: options.signInCode,
    presetKey: options.presetKey,
  });
}
