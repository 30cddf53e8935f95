import { JetStreamApiError } from '@nats-io/jetstream';
import { describe, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { AdmissionVerdict } from '@webcapture/shared/accounts/limits.ts';
import {
  Admission,
  refusalOf,
  RetryLaterError,
  type AdmissionDeps,
  type ReservationRequest,
} from '../../../services/front/admission.ts';
import { rateLimitHeaders } from '../../../services/front/api/answers.ts';
import { demoLimits } from '../../../services/front/auth/preset-key.ts';
import { RequestFacts } from '../../../services/front/http/request-facts.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';

const passed: AdmissionVerdict = { refused: null, remaining: 5, resetMs: 0, retryAfterMs: 0 };
const account = { id: 'a', name: 'A', createdAt: 0, ...demoLimits };

/** Returns the rate limit headers and Retry-After of the response for a verdict. */
async function headersOf(
  verdict: AdmissionVerdict,
  waitSeconds: number | null = null,
): Promise<Record<string, string | undefined>> {
  const admission = new Admission({
    limiter: fake({ admit: async () => verdict, release: async () => undefined }),
    embeddedShare: fake({ limit: () => undefined }),
    captures: fake({ get: async () => null }),
    log: silentLog,
    signal: new AbortController().signal,
  });
  const request = { id: 'x', tokens: 1, priority: 'background', until: Date.now() + 60_000, waitSeconds } as const;
  const facts = new RequestFacts();
  const refusal = await admission.admit(account, request, facts).then(
    () => null,
    (error: unknown) => error,
  );
  const retryAfter = refusal instanceof RetryLaterError ? String(refusal.retryAfterSeconds) : undefined;
  return { ...(facts.rateLimit && rateLimitHeaders(facts.rateLimit)), 'retry-after': retryAfter };
}

const now = Date.UTC(2026, 11, 31, 23, 59, 59, 999);

test.each<[Partial<AdmissionVerdict>, string | undefined, string]>([
  [{}, undefined, '0'],
  [{ resetMs: 1 }, undefined, '1'],
  [{ resetMs: 1000 }, undefined, '1'],
  [{ refused: 'rate', retryAfterMs: 1, resetMs: 2001 }, '1', '3'],
  [{ refused: 'rate', retryAfterMs: 0 }, '1', '0'],
  [{ refused: 'rate', retryAfterMs: 1001 }, '2', '0'],
  [{ refused: 'quota' }, undefined, '0'],
  [{ refused: 'in-flight' }, '2', '0'],
  [{ refused: 'queued' }, '2', '0'],
])('the headers of the verdict %j have Retry-After %s', async (verdict, retryAfter, reset) => {
  const headers = await headersOf({ ...passed, ...verdict });
  expect(headers['retry-after']).toBe(retryAfter);
  expect(headers).toMatchObject({
    'x-ratelimit-limit': '6000',
    'x-ratelimit-remaining': '5',
    'x-ratelimit-reset': reset,
  });
});

test.each<[AdmissionVerdict['refused'], number | null, string | undefined]>([
  ['queued', null, '2'],
  ['queued', 0, '2'],
  ['queued', 2, '2'],
  ['queued', 3, '3'],
  ['queued', 3600, '3600'],
  ['queued', 3601, '3600'],
  ['in-flight', 100, '2'],
  ['quota', 100, undefined],
  [null, 100, undefined],
])('a refusal for %s while the queue takes %s seconds has Retry-After %s', async (refused, waitSeconds, retryAfter) => {
  expect((await headersOf({ ...passed, refused }, waitSeconds))['retry-after']).toBe(retryAfter);
});

test.each<[AdmissionVerdict['refused'], string | undefined, string]>([
  [null, undefined, ''],
  ['rate', 'RATE_LIMIT_EXCEEDED', '6000 captures a minute'],
  ['quota', 'QUOTA_EXCEEDED', '2027-01-01T00:00:00.000Z'],
  ['in-flight', 'QUEUE_FULL', '100 captures in progress'],
  ['queued', 'QUEUE_FULL', '10000 queued background captures'],
])('a refusal for %s has the code %s', (refused, code, message) => {
  const error = refusalOf({ ...passed, refused }, demoLimits, { tokens: 2, now, waitSeconds: null });
  expect(error?.code).toBe(code);
  expect(error?.message ?? '').toContain(message);
});

describe('admission', () => {
  const away = new JetStreamApiError({ code: 503, err_code: 10_008, description: 'away' });

  const stage = (deps: Partial<Omit<AdmissionDeps, 'log'>> & { admit?: () => Promise<AdmissionVerdict> } = {}) => {
    const released: string[] = [];
    const admission = new Admission({
      limiter: fake({
        admit: deps.admit ?? (async () => passed),
        release: async (_account, id) => void released.push(id),
      }),
      embeddedShare: fake({ limit: () => undefined }),
      captures: fake({ get: async () => null }),
      log: silentLog,
      signal: new AbortController().signal,
      ...deps,
    });
    return { admission, released };
  };
  const request = (): ReservationRequest => ({
    id: 'x',
    tokens: 1,
    priority: 'interactive',
    until: Date.now() + 60_000,
    waitSeconds: null,
  });
  const reserve = (admission: Admission) => admission.admit(account, request(), new RequestFacts());

  test(
    'refuses if the limits cannot be checked, and releases what may have been reserved',
    { tags: 'long' },
    async () => {
      for (const admit of [() => Promise.reject(away), () => new Promise<never>(() => undefined)]) {
        const { admission, released } = stage({ admit });
        const start = performance.now();
        const refusal = reserve(admission);
        await expect(refusal).rejects.toMatchObject({
          code: 'INTERNAL_ERROR',
          message: expect.stringContaining('again'),
        });
        // The check is retried for 3 s.
        expect(performance.now() - start).toBeLessThan(4500);
        await until('the reservation to be released', () => released.includes('x'));
      }
    },
  );

  test('retries when the server was unavailable for a moment', async () => {
    let calls = 0;
    const { admission } = stage({ admit: async () => (calls++ === 0 ? Promise.reject(away) : passed) });
    await reserve(admission);
    expect(calls).toBe(2);
  });

  test.each<[string, CaptureRecord['status'] | undefined]>([
    ['a capture that got no record', undefined],
    ['a completed capture', 'completed'],
    ['a failed capture', 'failed'],
  ])('the reservation of %s is released when release() resolves', async (_name, status) => {
    const { admission, released } = stage();
    await (await reserve(admission)).release(status === undefined ? undefined : ({ status } as CaptureRecord));
    expect(released).toEqual(['x']);
  });

  test('keeps the reservation of a capture in progress until the capture has ended', async () => {
    let status: CaptureRecord['status'] = 'rendering';
    let reads = 0;
    const get = async () => {
      reads++;
      return { value: { status } as CaptureRecord, revision: 1 };
    };
    const { admission, released } = stage({ captures: fake({ get }) });
    await (await reserve(admission)).release({ status: 'queued' } as CaptureRecord);
    await until('two readings', () => reads >= 2);
    expect(released).toEqual([]);
    status = 'completed';
    await until('the reservation to be released', () => released.length === 1);
  });

  test('a release delays an answer by no more than a second', async () => {
    const { admission } = stage({
      limiter: fake({ admit: async () => passed, release: () => new Promise(() => undefined) }),
    });
    const start = performance.now();
    await (await reserve(admission)).release(undefined);
    expect(performance.now() - start).toBeGreaterThan(900);
    expect(performance.now() - start).toBeLessThan(2500);
  });
});
