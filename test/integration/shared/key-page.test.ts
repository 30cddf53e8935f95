import { JetStreamApiError } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allKeys, countKeys } from '@webcapture/shared/nats/read-many.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

/** More keys than the server returns in one response. */
const many = 100_003;

test('more keys than fit in one response are all returned, each once', { tags: 'long' }, async () => {
  const { nc, js } = nats.session;
  for (let index = 0; index < many; index++) {
    nc.publish(`$KV.db.big.${index}`, '1');
    if (index % 5000 === 0) await nc.flush();
  }
  await js.publish('$KV.db.other.0', '1');
  const { keys, sequence } = await allKeys(nats.session, 'db', 'big.*');
  expect(sequence).toBe(many + 1);
  expect(keys.length).toBe(many);
  expect(new Set(keys).size).toBe(many);
  expect(keys.every((key) => /^big\.\d+$/.test(key))).toBe(true);
  expect(await countKeys(nats.session, 'db', 'big.*')).toBe(many);
});

test('a filter without matches returns no keys', async () => {
  expect((await allKeys(nats.session, 'db', 'none.*')).keys).toEqual([]);
  expect(await countKeys(nats.session, 'db', 'none.*')).toBe(0);
});

test('an error of the server is thrown as a JetStreamApiError', async () => {
  await expect(countKeys(nats.session, 'not-there', '>')).rejects.toThrow(JetStreamApiError);
});
