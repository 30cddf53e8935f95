import { Ajv } from 'ajv';
import { randomUUIDv7 } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureRequestSchema, type CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { demoLimits } from '../../../services/front/auth/preset-key.ts';
import type { AwaitedResult } from '../../../services/front/capture/await-end.ts';
import type { Dispatch } from '../../../services/front/capture/dispatcher.ts';
import { CapturePipeline, type CapturePipelineDeps } from '../../../services/front/capture/pipeline.ts';
import { RequestFacts, WaitClock } from '../../../services/front/http/request-facts.ts';
import { LeaseLostError } from '../../../services/front/idempotency/lease.ts';
import type { CacheTurn } from '../../../services/front/capture/response-cache.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

/** Validates and fills in defaults as the route does. */
const withDefaults = new Ajv({ strict: false, useDefaults: true }).compile(captureRequestSchema);

/** The calls of the steps, in order. */
let events: string[];
let open: CaptureRecord;
beforeEach(() => {
  events = [];
  open = newRecord({ account: 'a' });
});

const note = (event: string) => async () => void events.push(event);
const account = { id: 'a', name: 'A', createdAt: 0, ...demoLimits };
const completed = (): AwaitedResult => ({
  record: { ...open, status: 'completed', outcome: newOutcome() },
  bytes: null,
});

interface Steps {
  readonly nameCapture?: (() => Promise<void>)[];
  readonly refusal?: ServiceError;
  readonly publish?: () => Promise<never>;
  readonly end?: () => Promise<AwaitedResult>;
}

/** Runs the pipeline with these steps on a request with a cache lease; returns the answer and the facts. */
async function capture(steps: Steps, { body = {}, gone = new AbortController() } = {}) {
  const unexpected = () => {
    throw new Error('this step is unexpected');
  };
  const names = [...(steps.nameCapture ?? [])];
  const key = { name: 'key', ttl: 60 };
  const cacheLease = {
    uuid: open.uuid,
    key,
    extend: () => void events.push('extend cache lease'),
    release: () => void events.push('release cache lease'),
  };
  const lease = {
    renew: async ({ uuid = randomUUIDv7() } = {}) => {
      await names.shift()?.();
      events.push('name');
      return uuid;
    },
    complete: async (answer: object | null) =>
      void events.push(answer === null ? 'complete without an answer' : 'complete'),
    release: note('release key'),
    close: () => void events.push('close key lease'),
  };
  const dispatch = {
    record: open,
    publish: async () => {
      events.push('publish');
      await steps.publish?.();
      return { wait: async () => steps.end?.() ?? completed() };
    },
    close: (end: AwaitedResult | undefined) =>
      void events.push(`close dispatch ${end?.record.status ?? 'without an end'}`),
  } as unknown as Dispatch;
  const deps: CapturePipelineDeps = {
    limits: { minRefreshSeconds: 3600, persistenceSeconds: 86_400, allowIgnoreTlsErrors: false },
    policy: fake({ checkLiteral: () => undefined }),
    cdnUrl: 'https://cdn.test',
    authenticator: fake({
      authenticate: async () => ({ account, key: { id: 'k', account: 'a', name: 'n', scopes: [], createdAt: 0 } }),
    }),
    responseCache: fake({
      candidate: async () => null,
      acquire: async (): Promise<CacheTurn> => ({ kind: 'lease', lease: cacheLease }),
      hit: () => null,
    }),
    idempotency: fake({ acquire: async () => ({ kind: 'lease', lease }) }),
    admission: fake({
      admit: async (_account, _request, facts) => {
        facts.rateLimit = { limit: 1, remaining: 1, resetSeconds: 9 };
        if (steps.refusal !== undefined) throw steps.refusal;
        return { release: async (record) => void events.push(`release reservation ${record?.status}`) };
      },
    }),
    dispatcher: fake({ prepare: async () => dispatch, deadlineOf: (_request, acceptedAt) => acceptedAt + 1000 }),
    backgroundQueue: fake({
      enqueue: () => Promise.reject(new ServiceError('QUEUE_FULL', undefined, { causedBy: 'service' })),
    }),
    sessions: fake({ get: unexpected }),
    regions: fake({ estimatedWaitSeconds: () => 7 }),
    captures: fake({ get: unexpected, fail: unexpected }),
    followUps: fake({ schedule: unexpected }),
    store: fake({ stat: unexpected, read: unexpected }),
    statistics: fake({ hit: unexpected }),
    now: Date.now,
    log: silentLog,
  };
  const facts = new RequestFacts();
  const request = { url: 'https://example.com/', ...body } as CaptureRequest;
  expect(withDefaults(request)).toBe(true);
  const call = {
    body: request,
    authorization: 'Bearer key',
    idempotencyKeys: [],
    clientGone: gone.signal,
  };
  const answer = new CapturePipeline(deps).capture(call, facts);
  return { facts, answer: await answer.catch((error: unknown) => error) };
}

test('a capture takes its steps in order, and releases what it reserved', async () => {
  const { answer, facts } = await capture({});
  expect(answer).toMatchObject({ uuid: open.uuid, data: { status: 'completed' } });
  expect(events).toEqual([
    'name',
    'name',
    'publish',
    'extend cache lease',
    'close dispatch completed',
    'release reservation completed',
    'complete',
    'close key lease',
  ]);
  expect(facts).toMatchObject({ account: 'a', record: { uuid: open.uuid }, rateLimit: { remaining: 1 } });
});

describe('a capture releases its reservations', () => {
  test('when the limits refuse it', async () => {
    const refusal = new ServiceError('QUOTA_EXCEEDED');
    const { answer, facts } = await capture({ refusal });
    expect(answer).toBe(refusal);
    expect(events).toEqual(['name', 'release cache lease', 'release key', 'close key lease']);
    // The response has the limits of the account, but names no capture.
    expect(facts).toMatchObject({ account: 'a', rateLimit: { resetSeconds: 9 } });
    expect(facts.record).toBeUndefined();
  });

  test('when it cannot be queued', async () => {
    const { answer } = await capture({
      publish: () => Promise.reject(new ServiceError('QUEUE_FULL', undefined, { causedBy: 'service' })),
    });
    expect(answer).toMatchObject({ code: 'QUEUE_FULL' });
    // The job may be in the queue nevertheless, so the reservation is released when the record has ended.
    expect(events.slice(2)).toEqual([
      'publish',
      'close dispatch without an end',
      'release reservation queued',
      'release cache lease',
      'release key',
      'close key lease',
    ]);
  });

  test('when it fails', async () => {
    const failure = { code: 'NAVIGATION_FAILED', message: 'There is no such host.', cause: 'page' } as const;
    const end = async (): Promise<AwaitedResult> => ({ record: { ...open, status: 'failed', failure }, bytes: null });
    const { answer } = await capture({ end });
    expect(answer).toMatchObject({ code: failure.code, message: failure.message, causedBy: 'page' });
    expect(events.slice(4)).toEqual([
      'close dispatch failed',
      'release reservation failed',
      'release cache lease',
      'release key',
      'close key lease',
    ]);
  });

  test('except its cache lease, when the client disconnects', async () => {
    const gone = new AbortController();
    const end = async (): Promise<AwaitedResult> => {
      gone.abort();
      return { record: { ...open, status: 'rendering' }, bytes: null };
    };
    const { answer } = await capture({ end }, { gone });
    expect(answer).toBeNull();
    expect(events.slice(4)).toEqual([
      'close dispatch rendering',
      'release reservation rendering',
      'complete without an answer',
      'close key lease',
    ]);
  });

  test('when the background queue is full, and returns the time of the next attempt', async () => {
    const { answer } = await capture({}, { body: { background: true } });
    expect(answer).toMatchObject({ code: 'QUEUE_FULL', retryAfterSeconds: 7 });
    expect(events).toEqual(['name', 'release reservation undefined', 'release key', 'close key lease']);
  });
});

test('a request that loses its key lease just before the capture is queued starts again, and queues one capture', async () => {
  const lost = () => Promise.reject(new LeaseLostError());
  const { answer } = await capture({ nameCapture: [async () => undefined, lost] });
  expect(answer).toMatchObject({ uuid: open.uuid });
  expect(events.filter((event) => event === 'publish')).toHaveLength(1);
  expect(events.slice(0, 4)).toEqual([
    'name',
    'close dispatch without an end',
    'release reservation undefined',
    'release cache lease',
  ]);
  expect(events).not.toContain('release key');
});

test('the wait clock counts a wait that ends with an error', async () => {
  const clock = new WaitClock();
  const failing = new Promise<never>((_, reject) => setTimeout(reject, 30, new Error('over')));
  await expect(clock.during(failing)).rejects.toThrow('over');
  expect(clock.waitedMs).toBeGreaterThan(20);
});
