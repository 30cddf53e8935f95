import { JetStreamApiError } from '@nats-io/jetstream';
import { describe, expect, test, vi } from 'vitest';
import { hashKey, type KeyRecord } from '../../../services/front/auth/keys.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { Authenticator, bearerToken, type AuthenticatorDeps } from '../../../services/front/auth/authenticator.ts';
import { demoLimits, ensurePresetKey } from '../../../services/front/auth/preset-key.ts';
import { buildAppAlone } from './app-alone.ts';
import { fake } from '../../harness/fake.ts';

test.each<[string | undefined, string | null]>([
  ['Bearer abc', 'abc'],
  ['bearer abc', 'abc'],
  ['BEARER   abc  ', 'abc'],
  ['Bearer a+/=b', 'a+/=b'],
  ['Bearer', null],
  ['Bearer ', null],
  ['Bearer a b', null],
  ['Basic abc', null],
  ['abc', null],
  ['', null],
  [undefined, null],
])('bearerToken parses the header "%s"', (header, token) => {
  expect(bearerToken(header)).toBe(token);
});

const now = 1_000_000;
const record: KeyRecord = { id: 'k', account: 'a', name: 'n', scopes, createdAt: 0 };

const noAccount: Pick<AuthenticatorDeps, 'accounts' | 'defaultLimits'> = {
  accounts: fake({ get: async () => null }),
  defaultLimits: demoLimits,
};

function authenticate(
  key: Partial<KeyRecord> | null,
  scope: 'capture' | 'read' = 'capture',
  deps: Partial<AuthenticatorDeps> = {},
) {
  const keys = {
    get: async (hash: string) =>
      key === null || hash !== hashKey('token') ? null : { value: { ...record, ...key }, revision: 1 },
  };
  return new Authenticator({ keys: fake(keys), ...noAccount, now: () => now, ...deps }).authenticate(
    'Bearer token',
    scope,
  );
}

test('authenticate returns the record of a valid key', async () => {
  expect((await authenticate({})).key).toEqual(record);
  expect(await authenticate({ expiresAt: now + 1, revokedAt: now + 1, scopes: ['capture'] })).toMatchObject({
    key: { id: 'k' },
  });
});

test('an account has the limits of its record, and the defaults for the others', async () => {
  const accounts = { get: async () => ({ value: { id: 'a', name: 'A', createdAt: 0, tokenQuota: 5 }, revision: 1 }) };
  const { account } = await authenticate({}, 'capture', { accounts: fake(accounts) });
  expect(account).toEqual({ ...demoLimits, id: 'a', name: 'A', createdAt: 0, tokenQuota: 5 });
  expect((await authenticate({})).account).toMatchObject({ id: 'a', ...demoLimits });
});

test('a key is cached for less than half a second, and concurrent requests share one read', async () => {
  let reads = 0;
  let value: KeyRecord = record;
  const get = async () => {
    reads++;
    return { value, revision: 1 };
  };
  const authenticator = new Authenticator({ keys: fake({ get }), ...noAccount, now: () => now });
  const ask = () => authenticator.authenticate('Bearer token', 'capture');
  let time = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => time);
  try {
    await Promise.all(Array.from({ length: 50 }, ask));
    expect(reads).toBe(1);
    value = { ...record, revokedAt: 1 };
    await ask();
    time += 500;
    await expect(ask()).rejects.toMatchObject({ code: 'API_KEY_REVOKED' });
  } finally {
    clock.mockRestore();
  }

  value = record;
  authenticator.forgetKey(hashKey('token'));
  await ask();
});

test('an unknown key works as soon as it is created', async () => {
  let value: KeyRecord | null = null;
  const get = async () => (value === null ? null : { value, revision: 1 });
  const authenticator = new Authenticator({ keys: fake({ get }), ...noAccount, now: () => now });
  await expect(authenticator.authenticate('Bearer token', 'capture')).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  value = record;
  await authenticator.authenticate('Bearer token', 'capture');
});

test.each<[Partial<KeyRecord> | null, string]>([
  [null, 'UNAUTHORIZED'],
  [{ expiresAt: now }, 'API_KEY_EXPIRED'],
  [{ revokedAt: now }, 'API_KEY_REVOKED'],
  [{ revokedAt: now, expiresAt: now }, 'API_KEY_REVOKED'],
  [{ scopes: ['read', 'manage'] }, 'FORBIDDEN'],
  [{ scopes: [] }, 'FORBIDDEN'],
])('%j is refused with %s', async (key, code) => {
  await expect(authenticate(key)).rejects.toMatchObject({ code });
});

test('a key that cannot be looked up is refused within seconds', { tags: 'long' }, async () => {
  const away = new JetStreamApiError({ code: 503, err_code: 10_008, description: 'away' });
  for (const get of [() => Promise.reject(away), () => new Promise<never>(() => undefined)]) {
    const start = performance.now();
    const refusal = new Authenticator({ keys: fake({ get }), ...noAccount, now: () => now }).authenticate(
      'Bearer token',
      'capture',
    );
    await expect(refusal).rejects.toMatchObject({ code: 'INTERNAL_ERROR', message: expect.stringContaining('again') });
    // The look-up is retried for 3 s.
    expect(performance.now() - start).toBeLessThan(4500);
  }
});

describe('authentication over HTTP', () => {
  const post = async (key: Partial<KeyRecord> | null, headers: Record<string, string>) => {
    const app = await buildAppAlone(key === null ? {} : { key: { ...record, ...key } });
    return app.inject({ method: 'POST', url: '/capture', headers, payload: { url: 'https://example.com/' } });
  };

  test.each<[string, Partial<KeyRecord> | null, Record<string, string>, string]>([
    ['no key', {}, {}, 'UNAUTHORIZED'],
    ['another scheme', {}, { authorization: 'Basic YTpi' }, 'UNAUTHORIZED'],
    ['an unknown key', null, { authorization: 'Bearer token' }, 'UNAUTHORIZED'],
    ['an expired key', { expiresAt: 1 }, { authorization: 'Bearer token' }, 'API_KEY_EXPIRED'],
    ['a revoked key', { revokedAt: 1 }, { authorization: 'Bearer token' }, 'API_KEY_REVOKED'],
    [
      'a key without the scope: the route knows no 403',
      { scopes: ['read'] },
      { authorization: 'Bearer token' },
      'UNAUTHORIZED',
    ],
  ])('POST /capture returns 401 for %s', async (_name, key, headers, code) => {
    const answer = await post(key, headers);
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    expect(answer.json()).toMatchObject({ success: false, error: { code }, data: null });
  });

  test('POST /capture reports an invalid body before an invalid key', async () => {
    const app = await buildAppAlone();
    const answer = await app.inject({ method: 'POST', url: '/capture', payload: { url: 'nonsense' } });
    expect(answer.statusCode).toBe(400);
  });

  test('GET /captures returns 403 if the key lacks the scope', async () => {
    const app = await buildAppAlone({ key: { ...record, scopes: ['capture'] } });
    const answer = await app.inject({ url: '/captures/x', headers: { authorization: 'Bearer token' } });
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'FORBIDDEN']);
  });
});

describe('the preset key', () => {
  const memory = () => {
    const [accounts, keys] = [new Map<string, unknown>(), new Map<string, unknown>()];
    const get = (map: Map<string, unknown>) => async (id: string) =>
      map.has(id) ? { value: map.get(id) as never, revision: 1 } : null;
    return {
      now: () => now,
      keysByHash: keys,
      accountsById: accounts,
      accounts: {
        get: get(accounts),
        create: async (account: { id: string }) => void accounts.set(account.id, account),
      },
      keys: {
        get: get(keys),
        put: async (hash: string, key: KeyRecord) => void keys.set(hash, key),
      },
    };
  };

  test('creates the account demo and a key with all scopes', async () => {
    const stores = memory();
    await ensurePresetKey('a-preset-key-of-any-form', stores);
    expect(stores.accountsById.get('demo')).toMatchObject({ id: 'demo' });
    expect(stores.keysByHash.get(hashKey('a-preset-key-of-any-form'))).toMatchObject({ account: 'demo', scopes });
  });

  test('gives a new account wide limits, and does not change those of an existing one', async () => {
    const stores = memory();
    await ensurePresetKey('a-preset-key-of-any-form', stores);
    expect(stores.accountsById.get('demo')).toMatchObject(demoLimits);
    stores.accountsById.set('demo', { id: 'demo', name: 'Mine', createdAt: 1, ...demoLimits, tokenQuota: 7 });
    await ensurePresetKey('a-preset-key-of-any-form', stores);
    expect(stores.accountsById.get('demo')).toMatchObject({ tokenQuota: 7 });
  });

  test('leaves an existing key unchanged', async () => {
    const stores = memory();
    await ensurePresetKey('a-preset-key-of-any-form', stores);
    const hash = hashKey('a-preset-key-of-any-form');
    stores.keysByHash.set(hash, { ...record, revokedAt: 5 });
    await ensurePresetKey('a-preset-key-of-any-form', stores);
    expect(stores.keysByHash.get(hash)).toMatchObject({ revokedAt: 5 });
  });
});
