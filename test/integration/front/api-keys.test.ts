import { describe, expect, test } from 'vitest';
import type { KeyView, NewKeyView, RevokedKeyView } from '@webcapture/shared/api/api-key.ts';
import { hashKey, Keys } from '../../../services/front/auth/keys.ts';
import { until } from '../../harness/until.ts';
import { dataOf, openAccount, send, type KeyList } from './accounts.ts';
import { codeOf, useAccounts } from './use-accounts.ts';

const { testFront, other, clock, admin, own, capture } = useAccounts();

describe('the lifecycle of a key', () => {
  test('a key is created, shown once, used on every front, listed and revoked', async () => {
    const { account, first } = await openAccount(testFront().url);
    expect(first).toMatchObject({ accountId: account.id, scopes: ['capture', 'read', 'manage'], status: 'active' });
    expect(first.key).toMatch(/^wc_live_[0-9A-Za-z]{38}$/);

    const body = { name: 'second', scopes: ['capture', 'capture'] };
    const second = dataOf<NewKeyView>(await own(first.key, '/keys', { body }));
    expect(second.scopes).toEqual(['capture']);
    for (const front of [testFront().url, other()]) expect((await capture(second.key, front)).status).toBe(200);
    expect(codeOf(await own(second.key, '/keys'))).toEqual([403, 'FORBIDDEN']);

    const list = await own(first.key, '/keys');
    expect(dataOf<KeyList>(list).items.map(({ id }) => id)).toEqual([second.id, first.id]);
    expect(JSON.stringify(list.body)).not.toContain('wc_live_');
    const kept = await new Keys(testFront().nats.session).get(hashKey(second.key));
    expect(JSON.stringify(kept)).not.toContain(second.key.slice(8, 20));

    const revoked = dataOf<KeyView>(await own(first.key, `/keys/${second.id}`, { method: 'DELETE' }));
    expect(revoked.status).toBe('revoked');
    expect(codeOf(await capture(second.key))).toEqual([401, 'API_KEY_REVOKED']);
    await until('the other front', async () => codeOf(await capture(second.key, other()))[1] === 'API_KEY_REVOKED', {
      deadlineMs: 1000,
    });
    const again = dataOf<KeyView>(await own(first.key, `/keys/${second.id}`, { method: 'DELETE' }));
    expect(again.revokedAt).toBe(revoked.revokedAt);
  });

  test('after a rotation both keys work for the grace period, then only the new one', async () => {
    const { first } = await openAccount(testFront().url);
    const rotate = (key: string, id: string, body?: object) =>
      own(key, `/keys/${id}/rotate`, { method: 'POST', body: body ?? {} });
    const next = dataOf<NewKeyView>(await rotate(first.key, first.id, { graceSeconds: 600 }));
    expect(next).toMatchObject({ name: 'first', scopes: first.scopes, expiresAt: null });
    expect(next.id).not.toBe(first.id);
    expect((await capture(first.key)).status).toBe(200);
    expect((await capture(next.key)).status).toBe(200);
    clock.aheadMs = 601_000;
    for (const front of [testFront().url, other()]) {
      expect(codeOf(await capture(first.key, front))).toEqual([401, 'API_KEY_EXPIRED']);
    }
    expect((await capture(next.key)).status).toBe(200);
    expect(codeOf(await rotate(next.key, first.id))).toEqual([409, 'CONFLICT']);
    // Without a grace period, the old key ends immediately, even if it is the key of the request.
    const last = dataOf<NewKeyView>(await rotate(next.key, next.id, { graceSeconds: 0 }));
    expect(codeOf(await capture(next.key))).toEqual([401, 'API_KEY_EXPIRED']);
    await own(last.key, `/keys/${last.id}`, { method: 'DELETE' });
  });

  test('after two rotations within the grace period, only one of the older keys works', async () => {
    const { first } = await openAccount(testFront().url);
    const rotate = async (by: NewKeyView, of = by) =>
      dataOf<NewKeyView>(await own(by.key, `/keys/${of.id}/rotate`, { body: {} }));
    const works = async (keys: readonly NewKeyView[]) =>
      Promise.all(keys.map(async ({ key }) => (await own(key, '/keys')).status === 200));
    const second = await rotate(first);
    const third = await rotate(second);
    expect(await works([first, second, third])).toEqual([false, true, true]);
    // The test behaves as if the answer had been lost: the undelivered key ends, and the new one replaces it.
    const fourth = await rotate(second);
    expect(await works([second, third, fourth])).toEqual([true, false, true]);
    expect(fourth).toMatchObject({ expiresAt: null, scopes: first.scopes });
    const last = await rotate(fourth, second);
    expect(await works([second, fourth, last])).toEqual([true, false, true]);
    await own(second.key, `/keys/${last.id}`, { method: 'DELETE' });
    expect(codeOf(await own(second.key, `/keys/${second.id}/rotate`, { body: {} }))).toEqual([409, 'CONFLICT']);
  });

  test('a rotated key with an expiry is followed by a key with the same lifetime', async () => {
    const { account } = await openAccount(testFront().url);
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = { accountId: account.id, name: 'short', scopes: ['manage', 'read'], expiresAt };
    const short = dataOf<NewKeyView>(await admin('/keys', { body }));
    expect(short.expiresAt).toBe(expiresAt);
    clock.aheadMs = 1_800_000;
    const next = dataOf<NewKeyView>(await own(short.key, `/keys/${short.id}/rotate`, { method: 'POST' }));
    expect(Date.parse(next.expiresAt ?? '')).toBeGreaterThan(Date.parse(expiresAt) + 1_700_000);
    clock.aheadMs = 3_601_000;
    expect(codeOf(await own(short.key, '/usage'))).toEqual([401, 'API_KEY_EXPIRED']);
    expect((await own(next.key, '/usage')).status).toBe(200);
  });
});

describe('a key cannot give more than it has', () => {
  test('no other scopes, neither by creating nor by rotating a key', async () => {
    const { account, first } = await openAccount(testFront().url);
    const body = { name: 'manager', scopes: ['manage'] };
    const manager = dataOf<NewKeyView>(await own(first.key, '/keys', { body }));
    for (const scopes of [['capture'], undefined]) {
      const refused = await own(manager.key, '/keys', { body: { name: 'x', ...(scopes ? { scopes } : {}) } });
      expect(codeOf(refused)).toEqual([403, 'FORBIDDEN']);
      expect(refused.body.error?.message).toContain('"capture"');
    }
    expect(codeOf(await own(manager.key, `/keys/${first.id}/rotate`, { body: {} }))).toEqual([403, 'FORBIDDEN']);
    // A second key that the operator creates has the default scopes only.
    const plain = dataOf<NewKeyView>(await admin('/keys', { body: { accountId: account.id, name: 'plain' } }));
    expect(plain.scopes).toEqual(['capture', 'read']);
  });

  test('no later expiry, by creating or rotating a key or through a key that it created', async () => {
    const { account, first } = await openAccount(testFront().url);
    const end = new Date(Date.now() + 60_000).toISOString();
    const make = (key: string, body: object) => own(key, '/keys', { body: { name: 'x', ...body } });
    const rotate = (key: string, id: string) => own(key, `/keys/${id}/rotate`, { body: { graceSeconds: 0 } });
    const body = { accountId: account.id, name: 'short', scopes: ['manage', 'capture', 'read'], expiresAt: end };
    const short = dataOf<NewKeyView>(await admin('/keys', { body }));
    expect([first.createdBy, short.createdBy]).toEqual([null, null]);

    for (const expiresAt of [null, '2090-01-01T00:00:00Z']) {
      const refused = await make(short.key, { expiresAt });
      expect(codeOf(refused)).toEqual([400, 'VALIDATION_ERROR']);
      expect(refused.body.error?.message).toContain(`expiresAt must not be later than ${end}`);
    }
    expect(codeOf(await rotate(short.key, first.id))).toEqual([403, 'FORBIDDEN']);
    const child = dataOf<NewKeyView>(await make(short.key, { scopes: ['manage'] }));
    expect(child).toMatchObject({ expiresAt: end, createdBy: short.id });
    const earlier = new Date(Date.now() + 50_000).toISOString();
    const brief = dataOf<NewKeyView>(await make(child.key, { scopes: ['manage'], expiresAt: earlier }));
    expect(brief.expiresAt).toBe(earlier);
    clock.aheadMs = 20_000;
    // A rotation renews the lifetime, but not beyond the expiry of the creator.
    expect(dataOf<NewKeyView>(await rotate(brief.key, brief.id)).expiresAt).toBe(end);
    expect(dataOf<NewKeyView>(await rotate(child.key, child.id)).expiresAt).toBe(end);
    // A key that expires later can extend the lifetime.
    const renewed = dataOf<NewKeyView>(await rotate(first.key, short.id));
    expect(renewed.createdBy).toBe(first.id);
    expect(Date.parse(renewed.expiresAt ?? '')).toBeGreaterThan(Date.parse(end));
    expect(dataOf<NewKeyView>(await make(first.key, { expiresAt: null })).expiresAt).toBe(null);
  });

  test('the keys of another account are not found', async () => {
    const [mine, theirs] = [await openAccount(testFront().url), await openAccount(testFront().url)];
    for (const id of [theirs.first.id, 'nonsense', '*', '%3E', 'a.b', '..%2F']) {
      expect(codeOf(await own(mine.first.key, `/keys/${id}`, { method: 'DELETE' })), id).toEqual([404, 'NOT_FOUND']);
      expect(codeOf(await own(mine.first.key, `/keys/${id}/rotate`, { body: {} })), id).toEqual([404, 'NOT_FOUND']);
    }
    expect((await capture(theirs.first.key)).status).toBe(200);
    const revoked = dataOf<KeyView>(await admin(`/keys/${theirs.first.id}`, { method: 'DELETE' }));
    expect(revoked.accountId).toBe(theirs.account.id);
    expect(codeOf(await capture(theirs.first.key))).toEqual([401, 'API_KEY_REVOKED']);
    for (const id of ['nonsense', '*', '%3E']) {
      expect(codeOf(await admin(`/keys/${id}`, { method: 'DELETE' })), id).toEqual([404, 'NOT_FOUND']);
    }
  });
});

describe('a revocation with cascade also revokes the keys that the key has created', () => {
  const make = async (by: NewKeyView) =>
    dataOf<NewKeyView>(await own(by.key, '/keys', { body: { name: 'made', scopes: ['manage', 'read', 'capture'] } }));
  const revoke = async (by: NewKeyView, of: NewKeyView, query = '?cascade=true') =>
    dataOf<RevokedKeyView>(await own(by.key, `/keys/${of.id}${query}`, { method: 'DELETE' }));
  const works = async (keys: readonly NewKeyView[]) =>
    Promise.all(keys.map(async ({ key }) => (await own(key, '/keys')).status === 200));

  test('at any depth, including rotated keys, but not the requesting key and the keys that it created', async () => {
    const { first } = await openAccount(testFront().url);
    const stolen = await make(first);
    const child = await make(stolen);
    const grandchild = await make(child);
    const rotated = dataOf<NewKeyView>(await own(grandchild.key, `/keys/${grandchild.id}/rotate`, { body: {} }));
    const sibling = await make(first);
    const asking = await make(stolen);
    const ofAsking = await make(asking);
    const all = [first, stolen, child, grandchild, rotated, sibling, asking, ofAsking];

    expect(await revoke(first, sibling, '')).not.toHaveProperty('alsoRevoked');
    expect(await revoke(first, sibling, '?cascade=false')).not.toHaveProperty('alsoRevoked');
    const revoked = await revoke(asking, stolen);
    expect(revoked).toMatchObject({ id: stolen.id, status: 'revoked', isComplete: true });
    expect(revoked.alsoRevoked?.toSorted()).toEqual([child, grandchild, rotated].map(({ id }) => id).toSorted());
    expect(await works(all)).toEqual([true, false, false, false, false, false, true, true]);
    expect((await revoke(first, stolen)).alsoRevoked?.toSorted()).toEqual([asking.id, ofAsking.id].toSorted());
    expect(await works(all)).toEqual([true, ...Array<boolean>(7).fill(false)]);
    const ended = await revoke(first, first);
    expect([ended.alsoRevoked, await works([first])]).toEqual([[], [false]]);
  });

  test('for the operator, in any account', async () => {
    const { first } = await openAccount(testFront().url);
    const child = await make(first);
    const revoked = await admin(`/keys/${first.id}?cascade=true`, { method: 'DELETE' });
    expect(dataOf<RevokedKeyView>(revoked)).toMatchObject({ id: first.id, alsoRevoked: [child.id], isComplete: true });
    expect(await works([first, child])).toEqual([false, false]);
  });

  test('and leaves no key that is created meanwhile, on any front', async () => {
    const { first } = await openAccount(testFront().url);
    const stolen = await make(first);
    const made: NewKeyView[] = [];
    const thief = async (front: string) => {
      for (let by = stolen; ;) {
        const body = { name: 'thief', scopes: ['manage'] };
        const answer = await send(`${front}/keys`, by.key, { body });
        if (answer.status !== 200) return;
        by = dataOf<NewKeyView>(answer);
        made.push(by);
      }
    };
    const thieves = [testFront().url, other(), testFront().url, other()].map(thief);
    await until('some keys to be made', () => made.length >= 8);
    const revoked = await revoke(first, stolen);
    await Promise.all(thieves);
    expect(revoked.isComplete).toBe(true);
    const list = dataOf<KeyList>(await own(first.key, '/keys?limit=100')).items;
    expect(list.filter(({ status }) => status === 'active').map(({ id }) => id)).toEqual([first.id]);
  });

  test('up to 1000 keys per request, and the next request revokes the rest', async () => {
    const { account, first } = await openAccount(testFront().url);
    const keys = new Keys(testFront().nats.session);
    const record = {
      account: account.id,
      name: 'many',
      scopes: ['read'] as const,
      createdAt: Date.now(),
      madeBy: first.id,
    };
    const many = Array.from({ length: 1010 }, (_, index) => index);
    for (let start = 0; start < many.length; start += 40) {
      await Promise.all(
        many
          .slice(start, start + 40)
          .map((index) =>
            keys.add({ hash: hashKey(`${account.id}-${index}`), record: { ...record, id: `many-${index}` } }, []),
          ),
      );
    }
    const part = dataOf<RevokedKeyView>(await admin(`/keys/${first.id}?cascade=true`, { method: 'DELETE' }));
    expect([part.alsoRevoked?.length, part.isComplete]).toEqual([1000, false]);
    const rest = dataOf<RevokedKeyView>(await admin(`/keys/${first.id}?cascade=true`, { method: 'DELETE' }));
    expect([rest.alsoRevoked?.length, rest.isComplete]).toEqual([10, true]);
  });
});
