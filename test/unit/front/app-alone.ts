import { randomUUIDv7 } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { KeyRecord } from '@webcapture/shared/state/keys.ts';
import { Authenticator } from '../../../services/front/accounts/authenticator.ts';
import { KeyDesk } from '../../../services/front/accounts/key-desk.ts';
import { demoLimits } from '../../../services/front/accounts/preset-key.ts';
import { buildApp } from '../../../services/front/app.ts';
import { InFlight } from '../../../services/front/capture/in-flight.ts';
import type { FrontDeps } from '../../../services/front/deps.ts';
import { createFrontMetrics } from '../../../services/front/metrics.ts';
import type { StatusView } from '../../../services/front/status/overlay.ts';
import { silentLog } from '../../harness/nats-session.ts';

/** The application without a queue and a store behind it: a valid request gets as far as its key, which is unknown. */
export function buildAppAlone(
  options: {
    key?: KeyRecord;
    view?: () => StatusView;
    trustProxy?: boolean;
    adminToken?: string;
    capture?: FrontDeps['dispatcher']['capture'];
  } = {},
): Promise<FastifyInstance> {
  const beyond = () => {
    throw new Error('a request came further than it should');
  };
  const deps = {
    config: {
      publicUrl: 'https://capture.test/api',
      cdnUrl: 'https://cdn.test',
      minRefreshSeconds: 3600,
      persistenceSeconds: 86_400,
      trustProxy: options.trustProxy ?? false,
      queueTimeoutMs: 60_000,
      adminToken: options.adminToken,
      defaultLimits: demoLimits,
    },
    log: silentLog,
    metrics: createFrontMetrics(new Registry(), {
      installed: [],
      inFlight: new InFlight(),
      statusAgeMs: () => null,
      components: () => [],
    }),
    authenticator: new Authenticator({
      keys: { get: async () => (options.key === undefined ? null : { value: options.key, revision: 1 }) },
      accounts: { get: async () => null },
      defaultLimits: demoLimits,
    }),
    accounts: { get: beyond, create: beyond, change: beyond, list: beyond },
    keys: { list: beyond, hasAny: beyond },
    keyDesk: new KeyDesk({
      keys: { put: beyond, find: beyond, change: beyond, replace: beyond },
      onChange: beyond,
      now: Date.now,
    }),
    webhookSecrets: { get: beyond, rotate: beyond },
    usage: { read: beyond },
    admissions: { inFlight: beyond },
    gate: {
      enter: async () => ({ refused: null, remaining: 1, resetMs: 0, retryAfterMs: 0 }),
      leave: async () => undefined,
    } as unknown as FrontDeps['gate'],
    now: Date.now,
    captures: { get: beyond, fail: beyond, change: beyond },
    captureList: { list: beyond },
    followUps: { arrange: beyond },
    tasks: { schedule: beyond },
    backgroundQueue: { enqueue: beyond, enqueueRefresh: beyond },
    regions: { choose: beyond, estimatedWaitSeconds: () => null },
    clearAway: beyond,
    dispatcher: { capture: options.capture ?? beyond, deadlineOf: () => 0 } as unknown as FrontDeps['dispatcher'],
    responseCache: {
      candidate: async () => null,
      answer: async (_ask: unknown, render: () => Promise<object>) => ({ ...(await render()), fromCache: false }),
    } as unknown as FrontDeps['responseCache'],
    idempotency: {
      answer: async (_ask: unknown, run: (nameCapture: () => Promise<string>) => Promise<object>) => ({
        answer: await run(async () => randomUUIDv7()),
        replayed: false,
      }),
    } as unknown as FrontDeps['idempotency'],
    store: {
      create: beyond,
      accept: beyond,
      discard: beyond,
      stat: beyond,
      read: beyond,
      remove: beyond,
      list: beyond,
    },
    links: null,
    policy: createEgressPolicy({ allow: [] }),
    status: { view: options.view ?? beyond },
    leaving: new AbortController().signal,
  } satisfies FrontDeps;
  return buildApp(deps);
}
