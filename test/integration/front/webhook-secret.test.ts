import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WebhookSecretView } from '@webcapture/shared/api/webhook.ts';
import { signingSecrets } from '@webcapture/shared/accounts/rotated-secret.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import { dataOf, send } from './accounts.ts';
import { startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let other: string;
let clock = 0;
beforeAll(async () => {
  front = await startTestFront({}, { now: () => Date.now() + clock });
  other = await front.addFront();
});
afterAll(() => front[Symbol.asyncDispose]());

const ask = async (key: string, base = front.url) =>
  dataOf<WebhookSecretView>(await send(`${base}/webhooks/secret`, key));
const rotate = (key: string, body?: unknown) =>
  send(`${front.url}/webhooks/secret/rotate`, key, body === undefined ? { method: 'POST' } : { body });

describe('GET /webhooks/secret', () => {
  test('returns the secret of the account, the same for all keys and fronts', async () => {
    const account = `account-${randomUUID()}`;
    const keys = [await front.makeKey({ account }), await front.makeKey({ account })];
    const answers = await Promise.all(keys.flatMap((key) => [ask(key), ask(key, other)]));
    expect(answers[0]).toEqual({ secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/), previous: [] });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    // Returns the secrets with which the controller will sign.
    const kept = await new WebhookSecrets(front.nats.session).get(account);
    expect(signingSecrets(kept, Date.now())).toEqual([answers[0]?.secret]);
  });

  test('returns different secrets for different accounts', async () => {
    const [one, two] = [await ask(await front.makeKey()), await ask(await front.makeKey())];
    expect(one.secret).not.toBe(two.secret);
  });
});

describe('POST /webhooks/secret/rotate', () => {
  test('returns a new secret, while the old one signs for a day or the requested time', async () => {
    const key = await front.makeKey();
    const { secret: old } = await ask(key);
    const before = Date.now();
    const rotated = dataOf<WebhookSecretView>(await rotate(key));
    expect(rotated.secret).not.toBe(old);
    expect(rotated.previous).toEqual([{ secret: old, signsUntil: expect.any(String) }]);
    const until = Date.parse(rotated.previous[0]?.signsUntil ?? '');
    expect(until).toBeGreaterThanOrEqual(before + 86_400_000);
    expect(until).toBeLessThanOrEqual(Date.now() + 86_400_000);
    expect(await ask(key, other)).toEqual(rotated);

    const again = dataOf<WebhookSecretView>(await rotate(key, { graceSeconds: 60 }));
    expect(again.previous.map(({ secret }) => secret)).toEqual([rotated.secret, old]);
    clock = 61_000;
    try {
      expect(await ask(key)).toEqual({ secret: again.secret, previous: [] });
    } finally {
      clock = 0;
    }
  });

  test('ends the old secret at once with a grace of 0', async () => {
    const key = await front.makeKey();
    const { secret: old } = await ask(key);
    const rotated = dataOf<WebhookSecretView>(await rotate(key, { graceSeconds: 0 }));
    expect(rotated.previous).toEqual([]);
    expect(rotated.secret).not.toBe(old);
  });

  test.each([
    [{ graceSeconds: -1 }, 'graceSeconds must be an integer from 0 to 604800'],
    [{ graceSeconds: 604_801 }, 'graceSeconds must be an integer from 0 to 604800'],
    [{ graceSeconds: '60' }, 'graceSeconds must be an integer from 0 to 604800'],
    [{ grace: 60 }, 'grace is not a field of the request; did you mean graceSeconds?'],
  ])('refuses %j and keeps the secret', async (body, message) => {
    const key = await front.makeKey();
    const before = await ask(key);
    const answer = await rotate(key, body);
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.body.error?.message).toContain(message);
    expect(await ask(key)).toEqual(before);
  });
});

test('answers with a secret are not cacheable', async () => {
  const key = await front.makeKey();
  for (const answer of [await send(`${front.url}/webhooks/secret`, key), await rotate(key)]) {
    expect(answer.headers.get('cache-control')).toBe('no-store');
  }
});

test('both routes need a key with the manage scope', async () => {
  const key = await front.makeKey({ scopes: ['capture', 'read'] });
  const path = `${front.url}/webhooks/secret`;
  for (const answer of [await send(path, key), await rotate(key), await rotate(key, { graceSeconds: 'x' })]) {
    expect([answer.status, answer.body.error?.code]).toEqual([403, 'FORBIDDEN']);
  }
  for (const answer of [await send(path, null), await send(`${path}/rotate`, 'nonsense', { method: 'POST' })]) {
    expect([answer.status, answer.body.error?.code]).toEqual([401, 'UNAUTHORIZED']);
  }
});
