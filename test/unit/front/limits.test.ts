import { JetStreamApiError } from '@nats-io/jetstream';
import { describe, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { AdmissionRequest, AdmissionVerdict } from '@webcapture/shared/state/admission.ts';
import { demoLimits } from '../../../services/front/accounts/preset-key.ts';
import { Gate, type GateDeps } from '../../../services/front/limits/gate.ts';
import { limitHeaders } from '../../../services/front/limits/limit-headers.ts';
import { refusalOf } from '../../../services/front/limits/refusal.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';

const passed: AdmissionVerdict = { refused: null, remaining: 5, resetMs: 0, retryAfterMs: 0 };
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
])('headers of %j: Retry-After %s', (verdict, retryAfter, reset) => {
  const headers = limitHeaders(demoLimits, { ...passed, ...verdict });
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
])('refused by %s while the queue takes %s seconds: Retry-After %s', (refused, waitSeconds, retryAfter) => {
  expect(limitHeaders(demoLimits, { ...passed, refused }, waitSeconds)['retry-after']).toBe(retryAfter);
});

test.each<[AdmissionVerdict['refused'], string | undefined, string]>([
  [null, undefined, ''],
  ['rate', 'RATE_LIMIT_EXCEEDED', '6000 captures a minute'],
  ['quota', 'QUOTA_EXCEEDED', '2027-01-01T00:00:00.000Z'],
  ['in-flight', 'QUEUE_FULL', '100 captures under way'],
  ['queued', 'QUEUE_FULL', '10000 background captures'],
])('refused by %s: %s', (refused, code, message) => {
  const error = refusalOf({ ...passed, refused }, demoLimits, { tokens: 2, now });
  expect(error?.code).toBe(code);
  expect(error?.message ?? '').toContain(message);
});

describe('the gate', () => {
  const account = { id: 'a', name: 'A', createdAt: 0, ...demoLimits };
  const away = new JetStreamApiError({ code: 503, err_code: 10_008, description: 'away' });

  const stage = (deps: Partial<Omit<GateDeps, 'log'>> & { admit?: () => Promise<AdmissionVerdict> } = {}) => {
    const released: string[] = [];
    const gate = new Gate({
      admissions: {
        admit: deps.admit ?? (async () => passed),
        release: async (_account, id) => void released.push(id),
      },
      captures: { get: async () => null },
      log: silentLog,
      signal: new AbortController().signal,
      ...deps,
    });
    return { gate, released };
  };
  const request = (): AdmissionRequest => ({ id: 'x', tokens: 1, lane: 'interactive', until: Date.now() + 60_000 });

  test('lets nothing through when the limits cannot be checked, and gives back what may have been taken', async () => {
    for (const admit of [() => Promise.reject(away), () => new Promise<never>(() => undefined)]) {
      const { gate, released } = stage({ admit });
      const start = performance.now();
      const refusal = gate.enter(account, request());
      await expect(refusal).rejects.toMatchObject({
        code: 'INTERNAL_ERROR',
        message: expect.stringContaining('again'),
      });
      // They are asked for for 3 s.
      expect(performance.now() - start).toBeLessThan(4500);
      await until('the place to be given back', () => released.includes('x'));
    }
  });

  test('tries again when the server was away for a moment', async () => {
    let calls = 0;
    const { gate } = stage({ admit: async () => (calls++ === 0 ? Promise.reject(away) : passed) });
    expect(await gate.enter(account, request())).toEqual(passed);
  });

  test.each<[string, CaptureRecord['status'] | undefined]>([
    ['a capture that got no record', undefined],
    ['a completed capture', 'completed'],
    ['a failed capture', 'failed'],
  ])('has given back the place of %s when it says so', async (_name, status) => {
    const { gate, released } = stage();
    await gate.leave('a', request(), status === undefined ? undefined : ({ status } as CaptureRecord));
    expect(released).toEqual(['x']);
  });

  test('keeps the place of a capture that goes on, until it has ended', async () => {
    let status: CaptureRecord['status'] = 'rendering';
    let reads = 0;
    const get = async () => {
      reads++;
      return { value: { status } as CaptureRecord, revision: 1 };
    };
    const { gate, released } = stage({ captures: { get } });
    await gate.leave('a', request(), { status: 'queued' } as CaptureRecord);
    await until('two readings', () => reads >= 2);
    expect(released).toEqual([]);
    status = 'completed';
    await until('the place to be given back', () => released.length === 1);
  });

  test('does not keep an answer waiting for long', async () => {
    const { gate } = stage({ admissions: { admit: async () => passed, release: () => new Promise(() => undefined) } });
    const start = performance.now();
    await gate.leave('a', request(), undefined);
    // For a second.
    expect(performance.now() - start).toBeGreaterThan(900);
    expect(performance.now() - start).toBeLessThan(2500);
  });
});
