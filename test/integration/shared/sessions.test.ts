import { afterAll, beforeAll, expect, test } from 'vitest';
import { Sessions, type SessionRecord } from '@webcapture/shared/captures/sessions.ts';
import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const sealed = (text: string) => ({ key: 'k', sealed: text });
const newRecord = (): SessionRecord => ({
  uuid: uuidV7(Date.now()),
  account: 'a',
  url: 'https://app.example.com/login',
  sites: ['app.example.com'],
  expiresAt: Date.now() + 60_000,
});

test('only the first of two fronts that settle a login writes its session', async () => {
  const [sessions, record] = [new Sessions(nats.session), newRecord()];
  const { account, uuid } = record;
  await sessions.create(record, sealed('first'));
  await sessions.create({ ...record, expiresAt: record.expiresAt + 5000 }, sealed('second'));
  expect(await sessions.get(account, uuid)).toEqual(record);
  expect(await sessions.stateOf(account, uuid)).toEqual(sealed('first'));
});

test('a session that was deleted is not written again', async () => {
  const [sessions, record] = [new Sessions(nats.session), newRecord()];
  const { account, uuid } = record;
  await sessions.create(record, sealed('first'));
  await sessions.delete(record);
  await sessions.create(record, sealed('second'));
  expect(await sessions.get(account, uuid)).toBeNull();
  expect(await sessions.list(account)).not.toContainEqual(record);
});
