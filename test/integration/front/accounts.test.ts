import { describe, expect, test } from 'vitest';
import type { AccountView } from '@webcapture/shared/api/account.ts';
import { until } from '../../harness/until.ts';
import { adminToken, dataOf, openAccount, send } from './accounts.ts';
import { presetKey } from './test-front.ts';
import { codeOf, useAccounts } from './use-accounts.ts';

const { testFront, other, clock, admin, own, capture } = useAccounts();

describe('accounts', () => {
  test('are created with the requested limits, and with defaults for the others', async () => {
    const limits = { tokenQuota: 100_000, ratePerMinute: 60, burst: 60, maxInFlight: 20, maxQueued: 10_000 };
    const defaults = { ...limits, isolation: 'context', allowIgnoreTlsErrors: false };
    const plain = await openAccount(testFront().url);
    expect(plain.account).toMatchObject({ name: 'Test', ...defaults, suspended: false, suspendedAt: null });
    const { account } = await openAccount(testFront().url, { ratePerMinute: 5, tokenQuota: 0 });
    expect(account).toMatchObject({ ...defaults, ratePerMinute: 5, burst: 5, tokenQuota: 0 });
  });

  test('are listed newest first, in pages', async () => {
    const made: string[] = [];
    for (let count = 0; count < 3; count++) made.unshift((await openAccount(testFront().url)).account.id);
    type List = { items: AccountView[]; nextCursor: string | null };
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const part = dataOf<List>(await admin(`/accounts?limit=2${cursor}`));
      expect(part.items.length).toBeLessThanOrEqual(2);
      seen.push(...part.items.map(({ id }) => id));
      if (part.nextCursor === null) break;
      cursor = `&cursor=${part.nextCursor}`;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => made.includes(id))).toEqual(made);
    expect(seen).toContain('demo');
    // The account of the preset key is not for tests: its limits are wide.
    const all = dataOf<List>(await admin('/accounts?limit=100'));
    expect(all.items.find(({ id }) => id === 'demo')).toMatchObject({ ratePerMinute: 6000, maxInFlight: 100 });
  });

  test('a PATCH changes only the fields that it contains', async () => {
    const { account } = await openAccount(testFront().url);
    const changed = dataOf<AccountView>(
      await admin(`/accounts/${account.id}`, { method: 'PATCH', body: { maxInFlight: 3, name: 'Renamed' } }),
    );
    expect(changed).toEqual({ ...account, maxInFlight: 3, name: 'Renamed' });
    const isolate = (isolation: string) => admin(`/accounts/${account.id}`, { method: 'PATCH', body: { isolation } });
    expect(dataOf<AccountView>(await isolate('browser'))).toEqual({ ...changed, isolation: 'browser' });
    expect(dataOf<AccountView>(await isolate('account'))).toEqual({ ...changed, isolation: 'account' });
    const allowed = await admin(`/accounts/${account.id}`, { method: 'PATCH', body: { allowIgnoreTlsErrors: true } });
    const withPermission = { ...changed, isolation: 'account', allowIgnoreTlsErrors: true };
    expect(dataOf<AccountView>(allowed)).toEqual(withPermission);
    const withdrawn = await admin(`/accounts/${account.id}`, {
      method: 'PATCH',
      body: { allowIgnoreTlsErrors: false },
    });
    expect(dataOf<AccountView>(withdrawn)).toEqual({ ...withPermission, allowIgnoreTlsErrors: false });
    const refused = await isolate('process');
    expect(codeOf(refused)).toEqual([400, 'VALIDATION_ERROR']);
    expect(refused.body.error?.message).toMatch(/isolation.*context.*browser/);
    expect(dataOf<AccountView>(await isolate('context'))).toEqual(changed);
  });

  test('a suspended account is refused on every front within a second, until it is resumed', async () => {
    const { account, first } = await openAccount(testFront().url);
    expect((await capture(first.key, other())).status).toBe(200);
    const suspend = (suspended: boolean) =>
      admin(`/accounts/${account.id}`, { method: 'PATCH', body: { suspended } }).then(dataOf<AccountView>);
    const once = await suspend(true);
    expect(once.suspended).toBe(true);
    expect((await suspend(true)).suspendedAt).toBe(once.suspendedAt);

    // The front that suspends the account refuses immediately; other fronts refuse within a second.
    expect(codeOf(await capture(first.key))).toEqual([401, 'UNAUTHORIZED']);
    await until('the other front to refuse', async () => (await capture(first.key, other())).status === 401, {
      deadlineMs: 1000,
    });
    for (const path of ['/keys', '/usage', '/captures/x']) {
      expect(codeOf(await own(first.key, path)), path).toEqual([403, 'FORBIDDEN']);
    }
    await suspend(false);
    await until('the other front to accept', async () => (await capture(first.key, other())).status === 200, {
      deadlineMs: 1000,
    });
  });
});

describe('bad input', () => {
  test.each<[string, string, unknown, string]>([
    ['POST', '/admin/accounts', {}, 'name is required'],
    ['POST', '/admin/accounts', { name: ' ' }, 'name must be a string'],
    ['POST', '/admin/accounts', { name: 'a\nb' }, 'name must be a string'],
    ['POST', '/admin/accounts', { name: 'x'.repeat(201) }, 'name must be a string'],
    ['POST', '/admin/accounts', { name: 'x', tokenQuota: -1 }, 'tokenQuota must be an integer from 0'],
    ['POST', '/admin/accounts', { name: 'x', tokenQuota: '5' }, 'tokenQuota must be an integer'],
    ['POST', '/admin/accounts', { name: 'x', ratePerMinute: 0 }, 'ratePerMinute must be an integer from 1'],
    ['POST', '/admin/accounts', { name: 'x', burst: 1.5 }, 'burst must be an integer'],
    ['POST', '/admin/accounts', { name: 'x', quota: 5 }, 'did you mean tokenQuota?'],
    ['POST', '/admin/accounts', [], 'the body must be a JSON object'],
    ['PATCH', '/admin/accounts/demo', {}, 'at least one of name, tokenQuota'],
    ['PATCH', '/admin/accounts/demo', { suspended: 'yes' }, 'suspended must be true or false'],
    ['POST', '/admin/keys', { name: 'x' }, 'accountId is required'],
    ['POST', '/admin/keys', { accountId: 'demo', name: 'x', scopes: [] }, 'scopes must be a list, not empty,'],
    ['POST', '/admin/keys', { accountId: 'demo', name: 'x', scopes: ['root'] }, 'scopes.0 must be one of capture'],
    ['POST', '/admin/keys', { accountId: 'demo', name: 'x', scopes: 'read' }, 'scopes must be a list'],
    ['POST', '/admin/keys', { accountId: 'demo', name: 'x', expiresAt: 'tomorrow' }, 'expiresAt must be a date'],
    ['POST', '/admin/keys', { accountId: 'demo', name: 'x', expiresAt: '2030-02-30' }, 'expiresAt must be a date'],
    ['POST', '/admin/keys', { accountId: 'demo', name: 'x', expiresAt: 5 }, 'expiresAt must be a string, or null'],
    [
      'POST',
      '/admin/keys',
      { accountId: 'demo', name: 'x', expiresAt: '2020-01-01T00:00:00Z' },
      'expiresAt must be in the future',
    ],
    ['POST', '/keys', { scopes: ['read'] }, 'name is required'],
    ['POST', '/keys', { name: 'x', accountId: 'demo' }, 'accountId is not a field'],
    ['POST', '/keys/x/rotate', { graceSeconds: -1 }, 'graceSeconds must be an integer from 0 to 2592000'],
    ['POST', '/keys/x/rotate', { graceSeconds: 2_592_001 }, 'graceSeconds'],
    ['POST', '/keys/x/rotate', null, 'the body must be a JSON object, not null'],
    ['PATCH', '/admin/accounts/demo', {}, 'the body must contain at least one of name, tokenQuota'],
    ['DELETE', '/keys/x?cascade=yes', undefined, 'cascade must be one of true, false'],
    ['DELETE', '/keys/x?casacde=true', undefined, 'casacde is not a field'],
    ['DELETE', '/admin/keys/x?cascade=1', undefined, 'cascade must be one of true, false'],
    ['GET', '/keys?limit=0', undefined, 'limit must be an integer from 1 to 100'],
    ['GET', '/keys?limit=101', undefined, 'limit must be an integer from 1 to 100'],
    ['GET', '/keys?limit=ten', undefined, 'limit must be an integer'],
    ['GET', '/keys?cursor=*', undefined, 'cursor must be a string'],
    ['GET', '/admin/accounts?page=2', undefined, 'page is not a field'],
  ])('%s %s with %j is refused', async (method, path, body, message) => {
    const token = path.startsWith('/admin') ? adminToken : presetKey;
    const answer = await send(testFront().url + path, token, { method, body });
    expect(codeOf(answer)).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.body.error?.message).toContain(message);
  });

  test.each(['unknown', '*', '%3E'])('an account %s that does not exist is not found', async (id) => {
    const body = { suspended: true };
    expect(codeOf(await admin(`/accounts/${id}`, { method: 'PATCH', body }))).toEqual([404, 'NOT_FOUND']);
    const key = { accountId: decodeURIComponent(id), name: 'x' };
    expect(codeOf(await admin('/keys', { body: key }))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('GET /usage', () => {
  test('returns usage, limits and period, and starts at 0 in the next month', async () => {
    const { first } = await openAccount(testFront().url, { tokenQuota: 50 });
    await capture(first.key);
    await send(`${testFront().url}/capture`, first.key, { body: { url: 'https://example.com/', antiBot: true } });
    expect(dataOf(await own(first.key, '/usage'))).toEqual({
      tokensUsed: 3,
      tokensReserved: 0,
      tokenQuota: 50,
      periodStart: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/),
      periodEnd: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/),
      ratePerMinute: 60,
      inFlight: 0,
      queued: 0,
      queuedBytes: 0,
      maxQueuedBytes: 2 ** 30,
      storedBytes: 110,
      maxStoredBytes: 100 * 2 ** 30,
      persistedBytes: 0,
      maxPersistedBytes: 100 * 2 ** 30,
      embeddedBytes: 110,
      maxEmbeddedBytes: null,
    });
    clock.aheadMs = 32 * 86_400_000;
    expect(dataOf(await own(first.key, '/usage'))).toMatchObject({ tokensUsed: 0 });
  });

  test('needs a key with the read scope', async () => {
    expect(codeOf(await send(`${testFront().url}/usage`, null))).toEqual([401, 'UNAUTHORIZED']);
    const key = await testFront().makeKey({ scopes: ['capture'] });
    expect(codeOf(await own(key, '/usage'))).toEqual([403, 'FORBIDDEN']);
  });
});
