// @module-tag long
import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import { hashKey, Keys } from '../../../services/front/auth/keys.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { Authenticator } from '../../../services/front/auth/authenticator.ts';
import { CaptureLinks } from '../../../services/front/auth/capture-links.ts';
import { linkSecretPrefix, LinkSecrets } from '../../../services/front/auth/link-secrets.ts';
import { demoLimits } from '../../../services/front/auth/preset-key.ts';
import { UnknownKeys } from '../../../services/front/auth/unknown-keys.ts';
import { startTestNats, streamSettings, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { presetKey, startTestFront } from './test-front.ts';
import { provision } from '../../../services/controller/streams.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

/** Creates the key check of a front, with its own connection. */
async function openFront() {
  const session = await nats.connect();
  const keys = new Keys(session);
  const authenticator = new Authenticator({
    keys,
    accounts: new Accounts(session),
    unknownKeys: new UnknownKeys({ session, keys }),
    defaultLimits: demoLimits,
    now: session.now,
    lookupTimeoutMs: 30_000,
  });
  const ask = (token: string) =>
    authenticator.authenticate(`Bearer ${token}`, 'capture').then(
      () => 'OK',
      (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
    );
  return { session, ask };
}

async function makeKey(): Promise<string> {
  const key = `key-${randomUUID()}`;
  const record = { id: randomUUID(), account: 'holder', name: 'test', scopes, createdAt: Date.now() };
  await new Keys(nats.session).put(hashKey(key), record);
  return key;
}

/** Counts the reads of the database during `work`. */
async function readsDuring(work: () => Promise<unknown>): Promise<number> {
  let reads = 0;
  const subscriptions = ['$JS.API.STREAM.MSG.GET.KV_db', '$JS.API.DIRECT.GET.KV_db', '$JS.API.DIRECT.GET.KV_db.>'].map(
    (subject) => nats.session.nc.subscribe(subject, { callback: () => void reads++ }),
  );
  await nats.session.nc.flush();
  await work();
  await nats.session.nc.flush();
  for (const subscription of subscriptions) subscription.unsubscribe();
  return reads;
}

/** Sends distinct unknown keys, `atOnce` at the same time. */
async function attack(ask: (token: string) => Promise<string>, count: number, atOnce: number): Promise<string[]> {
  const answers: string[] = [];
  for (let sent = 0; sent < count; sent += atOnce) {
    answers.push(...(await Promise.all(Array.from({ length: atOnce }, () => ask(randomUUID())))));
  }
  return answers;
}

test('10,000 unknown keys cost few reads, and valid keys still work, cached or not', async () => {
  const front = await openFront();
  const [known, fresh] = [await makeKey(), await makeKey()];
  expect(await front.ask(known)).toBe('OK');
  const took = { known: 0, fresh: 0 };
  const reads = await readsDuring(async () => {
    const attacking = attack(front.ask, 10_000, 1000);
    const start = performance.now();
    const asking = {
      known: front.ask(known).then((answer) => ((took.known = performance.now() - start), answer)),
      fresh: front.ask(fresh).then((answer) => ((took.fresh = performance.now() - start), answer)),
    };
    expect(await asking.known).toBe('OK');
    expect(await asking.fresh).toBe('OK');
    // A key that is created during the attack is valid immediately on the attacked front.
    expect(await front.ask(await makeKey())).toBe('OK');
    expect(new Set(await attacking)).toEqual(new Set(['UNAUTHORIZED']));
  });
  // Allowed requests: 50 immediately and 20 a second at the leader, a batch for each 500 keys, and the reads for valid and new keys.
  expect(reads).toBeLessThan(400);
  expect(took.known).toBeLessThan(5000);
});

test('excess unknown keys get RATE_LIMIT_EXCEEDED, and a valid key is accepted between them', async () => {
  const front = await openFront();
  const fresh = await makeKey();
  const attacking = attack(front.ask, 8000, 8000);
  expect(['OK', 'RATE_LIMIT_EXCEEDED']).toContain(await front.ask(fresh));
  await until('the valid key to get through', async () => (await front.ask(fresh)) === 'OK');
  expect(new Set(await attacking)).toEqual(new Set(['UNAUTHORIZED', 'RATE_LIMIT_EXCEEDED']));
});

test('a repeated unknown key is not looked up, and works on every front as soon as it is created', async () => {
  const fronts = [await openFront(), await openFront()];
  const key = `key-${randomUUID()}`;
  for (const { ask } of fronts) expect(await ask(key)).toBe('UNAUTHORIZED');
  const reads = await readsDuring(async () => {
    for (let index = 0; index < 50; index++) for (const { ask } of fronts) expect(await ask(key)).toBe('UNAUTHORIZED');
  });
  // A missing key is cached for two seconds, which a slow machine may exceed.
  expect(reads).toBeLessThanOrEqual(4);
  const record = { id: randomUUID(), account: 'holder', name: 'test', scopes, createdAt: Date.now() };
  await new Keys(nats.session).put(hashKey(key), record);
  // After a flush, each front has received the message about the key.
  for (const { session } of fronts) await session.nc.flush();
  for (const { ask } of fronts) expect(await ask(key)).toBe('OK');
});

test('2,000 links of unknown keys cost few reads, and valid links still work, cached or not', async () => {
  const session = await nats.connect();
  const keys = new Keys(session);
  const secrets = new LinkSecrets(session);
  const links = new CaptureLinks({
    secrets,
    authenticator: new Authenticator({
      keys,
      accounts: new Accounts(session),
      defaultLimits: demoLimits,
      now: session.now,
    }),
    unknownKeys: new UnknownKeys({ session, keys: secrets, prefix: linkSecretPrefix }),
    now: Date.now,
    lookupTimeoutMs: 30_000,
  });
  const expires = String(Math.floor(Date.now() / 1000) + 60);
  const open = (id: string, secret: string) => {
    const text = `GET /capture?expires=${expires}&key=${id}`;
    const signature = createHmac('sha256', secret).update(text).digest('hex');
    return links.verify(String(new URLSearchParams({ key: id, expires, signature }))).then(
      () => 'OK',
      (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
    );
  };
  const newLink = async () => {
    const hash = hashKey(await makeKey());
    const { value, revision } = (await keys.get(hash)) ?? {};
    if (value === undefined || revision === undefined) throw new Error('the key is not there');
    const found = { value, revision, hash };
    const { secret } = await secrets.rotate(found, found, { graceMs: 0, now: Date.now() });
    return () => open(value.id, secret);
  };
  const [known, fresh] = [await newLink(), await newLink()];
  expect(await known()).toBe('OK');
  const reads = await readsDuring(async () => {
    const attacking = Promise.all(Array.from({ length: 2000 }, () => open(randomUUID(), 'x')));
    expect(await Promise.all([known(), fresh()])).toEqual(['OK', 'OK']);
    expect(new Set(await attacking)).toEqual(new Set(['UNAUTHORIZED']));
    expect(await (await newLink())()).toBe('OK');
    // An id that cannot exist is not looked up.
    expect(new Set(await Promise.all(['', 'a.b', '*', '>', 'x'.repeat(100)].map((id) => open(id, 'x'))))).toEqual(
      new Set(['UNAUTHORIZED']),
    );
  });
  expect(reads).toBeLessThan(300);
});

test('the preset key works again on running fronts after NATS has lost its disk', async () => {
  await using testFront = await startTestFront();
  const fronts = [testFront.url, await testFront.addFront()];
  const headers = { authorization: `Bearer ${presetKey}` };
  const works = async () => {
    const answers = await Promise.all(fronts.map((front) => fetch(`${front}/usage`, { headers })));
    return answers.every(({ status }) => status === 200);
  };
  expect(await works()).toBe(true);
  await testFront.nats.kill();
  await testFront.nats.wipe();
  await testFront.nats.start();
  // Creates the streams like the controller.
  const made = async () => {
    await provision(testFront.nats.session.jsm, streamSettings, ['us-east']);
    return true;
  };
  await until('the streams to be made', () => made().catch(() => false));
  await until('the key to work', works);
});
