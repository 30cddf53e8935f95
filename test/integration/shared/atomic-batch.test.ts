import { afterAll, beforeAll, expect, test } from 'vitest';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import { commitBatch, Entries } from '@webcapture/shared/nats/entries.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

test('a batch writes all of its messages', async () => {
  const db = new Entries(nats.session, 'db');
  await commitBatch(nats.session.nc, [
    { subject: db.subject('both.a'), data: '1', expectedSequence: 0 },
    { subject: db.subject('both.b'), data: '2', expectedSequence: 0 },
  ]);
  expect(await db.get('both.a')).toMatchObject({ value: 1 });
  expect(await db.get('both.b')).toMatchObject({ value: 2 });
});

test('a conflict of one message rejects the whole batch', async () => {
  const db = new Entries(nats.session, 'db');
  await db.create('torn.b', 'there');
  const batch = commitBatch(nats.session.nc, [
    { subject: db.subject('torn.a'), data: '1', expectedSequence: 0 },
    { subject: db.subject('torn.b'), data: '2', expectedSequence: 0 },
  ]);
  await expect(batch).rejects.toSatisfy(isWriteConflict);
  expect(await db.get('torn.a')).toBeNull();
  expect(await db.get('torn.b')).toMatchObject({ value: 'there' });
});

test('eighty batches of eight concurrent writers on one counter lose no increment', async () => {
  const db = new Entries(nats.session, 'db');
  const increment = async (member: number): Promise<void> => {
    const counter = await db.get<number>('counter');
    try {
      await commitBatch(nats.session.nc, [
        {
          subject: db.subject('counter'),
          data: String((counter?.value ?? 0) + 1),
          expectedSequence: counter?.revision ?? 0,
        },
        { subject: db.subject(`member.${member}`), data: 'true', expectedSequence: 0 },
      ]);
    } catch (error) {
      if (!isWriteConflict(error)) throw error;
      return increment(member);
    }
  };
  // With eight concurrent writers, most batches have a conflict.
  let next = 0;
  const writer = async () => {
    while (next < 80) await increment(next++);
  };
  await Promise.all(Array.from({ length: 8 }, writer));
  expect(await db.get('counter')).toMatchObject({ value: 80 });
});
