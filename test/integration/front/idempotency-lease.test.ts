import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pendingView } from '@webcapture/shared/captures/view.ts';
import { IdempotencyKeys, type IdempotencyEntry } from '../../../services/front/idempotency/keys.ts';
import { newRecord } from '../../harness/records.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
let keys: IdempotencyKeys;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  keys = new IdempotencyKeys(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const newLease = () => ({ uuid: randomUUIDv7(), until: Date.now() + 15_000 });
const wanted = (bodyHash = 'hash') => ({ bodyHash, lease: newLease() });
const holders = (entries: readonly IdempotencyEntry[]) => new Set(entries.map(({ lease }) => lease.uuid));

test('of many concurrent requests for a key one gets the lease, and one takes it over', async () => {
  const key = randomUUID();
  const claimed = await Promise.all(Array.from({ length: 8 }, () => keys.acquire('a', key, wanted())));
  expect(holders(claimed).size).toBe(1);
  const lost = claimed[0]?.lease.uuid;
  const taken = await Promise.all(Array.from({ length: 8 }, () => keys.acquire('a', key, wanted(), lost)));
  expect(holders(taken).size).toBe(1);
  expect(taken[0]?.lease.uuid).not.toBe(lost);
});

test('a request with another body cannot take a lease over', async () => {
  const [key, first] = [randomUUID(), wanted()];
  await keys.acquire('a', key, first);
  expect(await keys.acquire('a', key, wanted('another'), first.lease.uuid)).toMatchObject({ bodyHash: 'hash' });
});

test('only its holder can extend a lease or give it another uuid', async () => {
  const [key, first, next] = [randomUUID(), wanted(), newLease()];
  await keys.acquire('a', key, first);
  expect(await keys.renew('a', key, randomUUIDv7(), newLease())).toBe(false);
  expect(await keys.renew('a', key, first.lease.uuid, next)).toBe(true);
  // The call is repeated, as if the acknowledgement had been lost.
  expect(await keys.renew('a', key, first.lease.uuid, next)).toBe(true);
  expect((await keys.acquire('a', key, wanted())).lease).toEqual(next);
});

test('a stored answer is neither replaced nor released nor taken over', async () => {
  const [key, first] = [randomUUID(), wanted()];
  const { uuid } = first.lease;
  const answer = {
    uuid,
    region: 'us-east',
    data: pendingView(newRecord({ uuid }), { cdnUrl: 'https://cdn.test' }),
  } as const;
  await keys.acquire('a', key, first);
  await keys.keep('a', key, randomUUIDv7(), { ...answer, data: null });
  await keys.keep('a', key, uuid, answer);
  await keys.keep('a', key, uuid, { ...answer, data: null });
  await keys.release('a', key, uuid);
  expect(await keys.acquire('a', key, wanted(), uuid)).toEqual({ ...first, answer });
});

test('a released key accepts any body, and accounts do not share keys', async () => {
  const [key, first, second, others] = [randomUUID(), wanted(), wanted('another'), wanted()];
  await keys.acquire('a', key, first);
  await keys.release('a', key, randomUUIDv7());
  expect((await keys.acquire('a', key, wanted())).lease).toEqual(first.lease);
  await keys.release('a', key, first.lease.uuid);
  expect(await keys.acquire('a', key, second)).toEqual({ ...second, answer: null });
  expect(await keys.acquire('b', key, others)).toEqual({ ...others, answer: null });
});
