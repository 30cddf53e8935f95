import { expect, test } from 'vitest';
import { changedAccount } from '../../../services/front/api/admin.ts';
import { keyView, parseExpiry } from '../../../services/front/auth/key-issuer.ts';
import { demoLimits } from '../../../services/front/auth/preset-key.ts';
import { ReadCache } from '../../../services/front/read-cache.ts';

const now = Date.UTC(2026, 5, 1);

test.each<[string | null | undefined, number | undefined]>([
  [undefined, undefined],
  [null, undefined],
  ['2026-06-01T00:00:00.001Z', now + 1],
  ['2026-06-01T02:00+01:00', now + 3_600_000],
  ['2030-01-31T00:00:00Z', Date.UTC(2030, 0, 31)],
])('parseExpiry reads expiresAt %s', (text, time) => {
  expect(parseExpiry(text, now)).toBe(time);
});

test.each(['', 'tomorrow', '2030-01-31', '2030-13-01T00:00:00Z', '2030-01-31T00:00:00', '2026-06-01T00:00:00Z'])(
  'parseExpiry refuses expiresAt %j',
  (text) => {
    expect(() => parseExpiry(text, now)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  },
);

const account = { id: 'a', name: 'A', createdAt: 1, ...demoLimits };
test.each([
  [account, { name: 'B' }, { ...account, name: 'B' }],
  [account, { suspended: true }, { ...account, suspendedAt: now }],
  [{ ...account, suspendedAt: 5 }, { suspended: true }, { ...account, suspendedAt: 5 }],
  [{ ...account, suspendedAt: 5 }, { burst: 1 }, { ...account, burst: 1, suspendedAt: 5 }],
  [{ ...account, suspendedAt: 5 }, { suspended: false }, account],
])('the account %j is changed by %j', (record, change, expected) => {
  expect(changedAccount(record, change, now)).toEqual(expected);
});

test.each([
  [{}, 'active'],
  [{ expiresAt: now + 1 }, 'active'],
  [{ expiresAt: now }, 'expired'],
  [{ expiresAt: now, revokedAt: now }, 'revoked'],
] as const)('a key with %j is %s', (fields, status) => {
  const record = { id: 'k', account: 'a', name: 'n', scopes: [], createdAt: 0, ...fields };
  expect(keyView(record, now).status).toBe(status);
});

test('a read cache does not keep missing, failed, expired or forgotten values', async () => {
  const start = 1000;
  let time = 0;
  const cache = new ReadCache<string | null>({ maxAgeMs: 100, now: () => start + time });
  const reading = (value: string | null) => cache.get('k', async () => value);
  expect(await reading(null)).toBe(null);
  await expect(cache.get('k', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await reading('one')).toBe('one');
  time = 99;
  expect(await reading('two')).toBe('one');
  time = 101;
  expect(await reading('two')).toBe('two');
  cache.forget('k');
  expect(await reading('three')).toBe('three');
});
