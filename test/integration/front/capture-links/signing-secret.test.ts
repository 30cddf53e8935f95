import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type NewKeyView, scopes } from '@webcapture/shared/api/api-key.ts';
import type { NewSigningSecret } from '@webcapture/shared/api/signing-secret.ts';
import type { KeyRecord } from '../../../../services/front/auth/keys.ts';
import { until } from '../../../harness/until.ts';
import { dataOf, openAccount, send } from '../accounts.ts';
import { presetKey } from '../test-front.ts';
import { page, sign, useLinks } from './use-links.ts';

const { testFront, other, signer, clock, outcome, rotate, newSigner } = useLinks();

describe('POST /keys/{id}/signing-secret', () => {
  const path = (id: string) => `${testFront().url}/keys/${id}/signing-secret`;

  test('creates a secret that is shown once, and links of the previous one are valid for a grace period', async () => {
    const id = randomUUID();
    const key = await testFront().makeKey({ id });
    const made = await send(path(id), key, { method: 'POST' });
    const first = dataOf<NewSigningSecret>(made);
    expect(first).toEqual({
      keyId: id,
      secret: expect.stringMatching(/^wcs_[\w-]{43}$/) as string,
      previousUntil: null,
    });
    expect(made.headers.get('cache-control')).toBe('no-store');
    const old = sign(first, page());
    expect(await outcome(old)).toEqual([200, undefined]);
    expect(await outcome(old, other())).toEqual([200, undefined]);

    const before = Date.now();
    const second = await rotate(id, key);
    expect(second.secret).not.toBe(first.secret);
    const until = Date.parse(second.previousUntil ?? '');
    expect(until).toBeGreaterThanOrEqual(before + 86_400_000);
    expect(until).toBeLessThanOrEqual(Date.now() + 86_400_000);
    for (const query of [old, sign(first, page()), sign(second, page())])
      expect(await outcome(query)).toEqual([200, undefined]);

    const third = await rotate(id, key, { graceSeconds: 60 });
    expect(await outcome(old)).toEqual([200, undefined]);
    clock.aheadMs = 61_000;
    expect(await outcome(old)).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(sign(second, page()))).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(sign(third, page()))).toEqual([200, undefined]);
  });

  test('without a grace period ends the previous secret on every front within a second', async () => {
    const own = await newSigner();
    const query = sign(own, page());
    for (const front of [testFront().url, other()]) expect(await outcome(query, front)).toEqual([200, undefined]);
    const next = await rotate(own.keyId, own.key, { graceSeconds: 0 });
    expect(next.previousUntil).toBeNull();
    expect(await outcome(query)).toEqual([401, 'UNAUTHORIZED']);
    await until('the other front to have heard of it', async () => (await outcome(query, other()))[0] === 401, {
      deadlineMs: 1000,
    });
    expect(await outcome(sign(next, page()), other())).toEqual([200, undefined]);
  });

  test('needs a key of the same account with the same scopes and no earlier expiry', async () => {
    const account = `account-${randomUUID()}`;
    const id = randomUUID();
    await testFront().makeKey({ id, account });
    const asked = async (changes: Partial<KeyRecord>) => {
      const { status, body } = await send(path(id), await testFront().makeKey({ account, ...changes }), {
        method: 'POST',
      });
      return [status, body.error?.code];
    };
    expect(await asked({})).toEqual([200, undefined]);
    expect(await asked({ account: 'another' })).toEqual([404, 'NOT_FOUND']);
    expect(await asked({ scopes: ['capture', 'read'] })).toEqual([403, 'FORBIDDEN']);
    expect(await asked({ scopes: ['manage', 'read'] })).toEqual([403, 'FORBIDDEN']);
    expect(await asked({ expiresAt: Date.now() + 60_000 })).toEqual([403, 'FORBIDDEN']);
    expect((await send(path(id), null, { method: 'POST' })).status).toBe(401);
    expect((await send(path('nothing'), presetKey, { method: 'POST' })).status).toBe(404);
  });

  test('a secret ends when the key that created it is revoked with cascade', async () => {
    const { first } = await openAccount(testFront().url);
    const makeKey = async (name: string) =>
      dataOf<NewKeyView>(await send(`${testFront().url}/keys`, first.key, { body: { name, scopes } }));
    const [stolen, mine] = [await makeKey('stolen'), await makeKey('mine')];
    const theirs = await rotate(first.id, stolen.key);
    const own = await rotate(mine.id, mine.key);
    const queries = [sign(theirs, page()), sign(own, page())] as const;
    for (const query of queries) expect(await outcome(query)).toEqual([200, undefined]);
    // The new secret keeps the one of the stolen key among its previous secrets.
    await rotate(first.id, first.key);
    expect(await outcome(queries[0])).toEqual([200, undefined]);
    const revoked = await send(`${testFront().url}/keys/${stolen.id}?cascade=true`, first.key, { method: 'DELETE' });
    expect(revoked.status).toBe(200);
    expect(await outcome(queries[0])).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(queries[1])).toEqual([200, undefined]);
    expect(await outcome(sign(await rotate(first.id, first.key), page()))).toEqual([200, undefined]);
  });

  test('is refused for a revoked or expired key', async () => {
    const account = `account-${randomUUID()}`;
    const [caller, revoked, expired] = [await testFront().makeKey({ account }), randomUUID(), randomUUID()];
    await testFront().makeKey({ id: revoked, account, revokedAt: 1 });
    await testFront().makeKey({ id: expired, account, expiresAt: 1 });
    for (const id of [revoked, expired]) {
      const { status, body } = await send(path(id), caller, { method: 'POST' });
      expect([status, body.error?.code]).toEqual([409, 'CONFLICT']);
    }
  });

  test.each([
    [{ graceSeconds: -1 }, 400],
    [{ graceSeconds: 2_592_000 }, 200],
    [{ graceSeconds: 2_592_001 }, 400],
    [{ graceSeconds: '60' }, 400],
    [{ grace: 60 }, 400],
  ])('%j is answered with %i', async (body, status) => {
    expect((await send(path(signer().keyId), signer().key, { body })).status).toBe(status);
  });
});
