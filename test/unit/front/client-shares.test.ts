import { describe, expect, test } from 'vitest';
import { BodyShares } from '../../../services/front/http/body-shares.ts';
import { addressKey } from '../../../services/front/http/connections.ts';
import { TokenBuckets } from '../../../services/front/http/token-buckets.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['2001:DB8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:1:2:3:4', '2001:db8:0:0::/64'],
  ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', 'unknown'],
  ['unknown', 'unknown'],
  ['1.2.3', 'unknown'],
  ['192.0.2.1:8080', 'unknown'],
  ['x:y', 'unknown'],
])('the address %j counts as %s', (ip, key) => {
  expect(addressKey(ip)).toBe(key);
});

test('a token bucket refills, has at most its capacity as debt, and is separate for each key', () => {
  let now = 0;
  const buckets = new TokenBuckets({ capacity: 10, perSecond: 2, now: () => now });
  buckets.spend('a', 4);
  expect([buckets.level('a'), buckets.level('b')]).toEqual([6, 10]);
  buckets.spend('a', 100);
  expect([buckets.level('a'), buckets.secondsUntil('a', 1)]).toEqual([-10, 6]);
  now = 6000;
  expect([buckets.level('a'), buckets.secondsUntil('a', 1)]).toEqual([2, 1]);
  now = 60_000;
  expect(buckets.level('a')).toBe(10);
});

describe('large bodies of an account', () => {
  const mebibytes = 1024 * 1024;
  const present = new AbortController().signal;

  test('wait for each other in order, for at least their share of time, and not for other accounts', async () => {
    const shares = new BodyShares({ bytesPerSecond: 150 * mebibytes });
    const since = performance.now();
    const release = await shares.reserve('a', 30 * mebibytes, present);
    release?.();
    const order: string[] = [];
    const later = ['second', 'third'].map(async (name) => {
      expect(await shares.reserve('a', 8 * mebibytes, present)).not.toBeNull();
      order.push(name);
    });
    expect(await shares.reserve('b', 8 * mebibytes, present)).not.toBeNull();
    expect(order).toEqual([]);
    await Promise.all(later);
    expect(order).toEqual(['second', 'third']);
    expect(performance.now() - since).toBeGreaterThan(190);
  });

  test('are refused if there is no room within the maximum wait, or if the client disconnects', async () => {
    const shares = new BodyShares({ maxWaitMs: 50 });
    await shares.reserve('a', 32 * mebibytes, present);
    expect(await shares.reserve('a', 1, present)).toBeNull();
    const gone = new AbortController();
    const patient = new BodyShares();
    await patient.reserve('a', 32 * mebibytes, present);
    const waiting = patient.reserve('a', 1, gone.signal);
    gone.abort();
    expect(await waiting).toBeNull();
  });
});
