import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { UsageLedger, type LedgerWrite } from '@webcapture/shared/captures/ledger.ts';
import type { Usage } from '@webcapture/shared/captures/usage.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { noUsage } from '@webcapture/shared/captures/usage.ts';

let nats: TestNats;
let db: Entries;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  db = new Entries(nats.session, 'db');
});
afterAll(() => nats[Symbol.asyncDispose]());

const one: Usage = { ...noUsage, tokens: 1, captures: 1 };
const newShard = () => `usage.${randomUUID()}.202611.0`;

function newWrite(shard: string, key = `capture.${randomUUID()}`, expectedSequence = 0): LedgerWrite {
  return {
    record: { subject: db.subject(key), data: JSON.stringify({ key }), expectedSequence },
    changes: [{ shard, change: one }],
  };
}

const tokensOf = async (shard: string) => (await db.get<Usage>(shard))?.value.tokens;

test('a record that another writer changed fails alone; the others of its batch are counted once', async () => {
  const ledger = new UsageLedger(nats.session);
  const shard = newShard();
  const writes = Array.from({ length: 40 }, (_, index) =>
    newWrite(shard, undefined, index === 7 || index === 30 ? 999_999 : 0),
  );
  const ends = await Promise.allSettled(writes.map((each) => ledger.write(each, 10_000)));
  const failed = ends.flatMap((end, index) =>
    end.status === 'rejected' ? [[index, isWriteConflict(end.reason)]] : [],
  );
  expect(failed).toEqual([
    [7, true],
    [30, true],
  ]);
  expect(await tokensOf(shard)).toBe(38);
});

test('one record that is written twice at once is counted once', async () => {
  const ledger = new UsageLedger(nats.session);
  const shard = newShard();
  const key = `capture.${randomUUID()}`;
  const ends = await Promise.allSettled([0, 1].map(() => ledger.write(newWrite(shard, key), 10_000)));
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(await tokensOf(shard)).toBe(1);
});

test('several processes that write the same shard lose no usage', async () => {
  const ledgers = Array.from({ length: 4 }, () => new UsageLedger(nats.session));
  const shard = newShard();
  const keep = async (ledger: UsageLedger, key: string): Promise<void> => {
    // The write is retried after a conflict, as in a compare-and-set.
    await ledger.write(newWrite(shard, key), 10_000).catch((error: unknown) => {
      if (!isWriteConflict(error)) throw error;
      return keep(ledger, key);
    });
  };
  await Promise.all(
    ledgers.flatMap((ledger) => Array.from({ length: 100 }, () => keep(ledger, `capture.${randomUUID()}`))),
  );
  expect(await tokensOf(shard)).toBe(400);
});

test('a write that waits beyond its deadline fails and is not counted', async () => {
  const ledger = new UsageLedger(nats.session);
  const shard = newShard();
  await expect(ledger.write(newWrite(shard), 0)).rejects.toThrow('waiting to write the usage of a capture');
  await ledger.write(newWrite(shard), 10_000);
  expect(await tokensOf(shard)).toBe(1);
});
