import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signingSecrets } from '@webcapture/shared/accounts/rotated-secret.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
let secrets: WebhookSecrets;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  secrets = new WebhookSecrets(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const newAccount = () => `account-${randomUUID()}`;
const now = 1_700_000_000_000;

test('the secret of an account is 32 random bytes, and is created once', async () => {
  const [one, other] = [newAccount(), newAccount()];
  const { secret, former } = await secrets.get(one);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  expect(former).toEqual([]);
  expect(await secrets.get(one)).toEqual({ secret, former });
  expect((await secrets.get(other)).secret).not.toBe(secret);
});

test('concurrent first reads return the same secret', async () => {
  const account = newAccount();
  const other = new WebhookSecrets(await nats.connect());
  const asked = Array.from({ length: 8 }, () => [secrets.get(account), other.get(account)]).flat();
  const found = new Set((await Promise.all(asked)).map(({ secret }) => secret));
  expect([...found]).toEqual([(await secrets.get(account)).secret]);
});

test('after a rotation the old secret also signs until its grace period ends', async () => {
  const account = newAccount();
  const { secret: old } = await secrets.get(account);
  const rotated = await secrets.rotate(account, 1000, now);
  expect(rotated.secret).not.toBe(old);
  expect(await secrets.get(account)).toEqual(rotated);
  expect(signingSecrets(rotated, now + 999)).toEqual([rotated.secret, old]);
  expect(signingSecrets(rotated, now + 1000)).toEqual([rotated.secret]);
});

test('without a grace period, all old secrets end at once', async () => {
  const account = newAccount();
  await secrets.get(account);
  await secrets.rotate(account, 60_000, now);
  const { secret, former } = await secrets.rotate(account, 0, now + 1);
  expect(former).toEqual([]);
  expect((await secrets.get(account)).secret).toBe(secret);
});

test('a second rotation keeps every secret that a receiver may still know', async () => {
  const account = newAccount();
  const { secret: first } = await secrets.get(account);
  const { secret: second } = await secrets.rotate(account, 60_000, now);
  const last = await secrets.rotate(account, 600_000, now + 1000);
  // The longer grace period of a later rotation does not extend the first secret.
  expect(last.former).toEqual([
    { secret: second, until: now + 601_000 },
    { secret: first, until: now + 60_000 },
  ]);
  const after = await secrets.rotate(account, 60_000, now + 60_000);
  expect(after.former.map(({ secret }) => secret)).toEqual([last.secret, second]);
});

test('after many rotations, at most four old secrets also sign', async () => {
  const account = newAccount();
  const made = [(await secrets.get(account)).secret];
  for (let count = 0; count < 6; count++) made.unshift((await secrets.rotate(account, 60_000, now)).secret);
  expect(signingSecrets(await secrets.get(account), now)).toEqual(made.slice(0, 5));
});

test('concurrent rotations all count', async () => {
  const account = newAccount();
  const { secret: first } = await secrets.get(account);
  const rotated = await Promise.all([1, 2, 3].map(() => secrets.rotate(account, 60_000, now)));
  const all = signingSecrets(await secrets.get(account), now);
  expect(new Set(all)).toEqual(new Set([first, ...rotated.map(({ secret }) => secret)]));
  expect(all.at(-1)).toBe(first);
});

test('an account without a secret can rotate', async () => {
  const account = newAccount();
  const rotated = await secrets.rotate(account, 60_000, now);
  expect(rotated.former).toEqual([]);
  expect(await secrets.get(account)).toEqual(rotated);
});
