import { afterAll, beforeAll, expect, test } from 'vitest';
import { Admissions } from '@webcapture/shared/state/admissions.ts';
import type { AccountLimits } from '@webcapture/shared/state/admission.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
let fronts: Admissions[];
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  const sessions = await Promise.all([1, 2, 3, 4].map(() => nats.connect()));
  fronts = sessions.map(
    (session) =>
      new Admissions(session, {
        readUsage: () => Promise.resolve({ tokens: 0, reserved: 0, queued: 0 }),
        bookedOf: () => Promise.resolve([]),
      }),
  );
});
afterAll(() => nats[Symbol.asyncDispose]());

const wide: AccountLimits = { tokenQuota: 1e6, ratePerMinute: 1e6, burst: 1e6, maxInFlight: 1e6, maxQueued: 1e6 };

/** `count` requests, spread over four fronts, all at once; how many were admitted. */
async function hammer(account: string, limits: AccountLimits, count: number): Promise<number> {
  const verdicts = await Promise.all(
    Array.from({ length: count }, async (_, index) =>
      fronts[index % fronts.length]?.admit(account, limits, {
        id: `${account}-${index}`,
        tokens: 1,
        lane: 'interactive',
        until: Date.now() + 60_000,
      }),
    ),
  );
  return verdicts.filter((verdict) => verdict?.refused === null).length;
}

test.each([
  ['rate', { ...wide, ratePerMinute: 1, burst: 50 }, 50],
  ['quota', { ...wide, tokenQuota: 70 }, 70],
  ['flight', { ...wide, maxInFlight: 30 }, 30],
])('four fronts hammered at once admit exactly what the %s limit allows', async (account, limits, allowed) => {
  expect(await hammer(account, limits, 400)).toBe(allowed);
});

test('places given back can be taken again, exactly', async () => {
  const limits = { ...wide, maxInFlight: 10 };
  expect(await hammer('back', limits, 40)).toBe(10);
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => fronts[index % 4]?.release('back', `back-${index}`)),
  );
  expect(await hammer('back', limits, 40)).toBe(10);
});
