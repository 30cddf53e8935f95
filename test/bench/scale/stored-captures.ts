import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { nanos } from '@nats-io/nats-core';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { captureKey } from '@webcapture/shared/captures/captures.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { freePort } from '../../harness/free-port.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { startBenchNats } from '../front/parts.ts';

const dayMs = 86_400_000;

/** The maximum server memory of a stored capture, in bytes. */
const goalBytes = 450;

/** Server memory per stored capture, in bytes. */
export interface StoredCaptureMemory {
  readonly captures: number;
  /** Bytes of the record alone. They are mainly its subject. */
  readonly record: number;
  /** Bytes of the record and its expiry entry. */
  readonly total: number;
  /** Bytes of the record and a message schedule, for comparison. */
  readonly totalWithSchedule: number;
  readonly goal: number;
}

/**
 * Writes completed captures with their expiry entries, and measures the permanent growth of the server's heap (after a garbage collection).
 * The captures expire over two days, as in a service with lifetimes of a day and of a week.
 */
export async function measureStoredCaptureMemory(captures = 100_000): Promise<StoredCaptureMemory> {
  await using parts = new AsyncDisposableStack();
  const profPort = await freePort();
  const { session } = await startBenchNats(parts, `prof_port: ${profPort}\n`);
  // The server keeps message ids for the duplicate window. They do not depend on the number of stored captures, so the window is short
  // here.
  const { config } = await session.jsm.streams.info(streamNames.expiry);
  await session.jsm.streams.update(streamNames.expiry, { ...config, duplicate_window: nanos(1000) });
  const heap = () => heapOf(profPort);
  const completed: CaptureRecord[] = Array.from({ length: captures }, (_, index) => {
    const lifetimeMs = (index % 4 === 3 ? 7 * dayMs : dayMs) + ((index * 977) % dayMs);
    const uuid = randomUUIDv7();
    return newRecord({
      uuid,
      account: `account-${index % 100}`,
      status: 'completed',
      outcome: newOutcome(),
      lifetimeMs,
    });
  });
  const index = new ExpiryIndex(session);
  const tasks = new Tasks(session);

  const empty = await heap();
  await writeAll(completed, async (record) => {
    const subject = `$KV.db.${captureKey(record.account, record.uuid)}`;
    await session.js.publish(subject, JSON.stringify(record), { timeout: 30_000 });
  });
  const withRecords = await heap();
  await writeAll(completed, (record) => index.add(record, record.expiresAt, Date.now() + 60_000));
  await windowToPass(session);
  const withIndex = await heap();
  await writeAll(completed, ({ account, uuid, expiresAt }) =>
    tasks.schedule({ kind: 'expiry', account, uuid }, expiresAt, Date.now() + 60_000),
  );
  const withSchedules = await heap();
  const each = (bytes: number) => Math.round(bytes / captures);
  return {
    captures,
    record: each(withRecords - empty),
    total: each(withIndex - empty),
    totalWithSchedule: each(withRecords - empty + (withSchedules - withIndex)),
    goal: goalBytes,
  };
}

async function writeAll(records: readonly CaptureRecord[], write: (record: CaptureRecord) => Promise<void>) {
  const rest = records.values();
  const serve = async () => {
    for (const record of rest) await write(record);
  };
  await Promise.all(Array.from({ length: 200 }, serve));
}

/** Publishes after the duplicate window, so that the server forgets earlier message ids. */
async function windowToPass(session: NatsSession): Promise<void> {
  await sleep(2500);
  await session.js.publish('expiry.19700101', 'a.b.0', { msgID: 'last' });
  await sleep(1500);
}

/** Returns the used bytes of the heap after all writes and a garbage collection. */
async function heapOf(profPort: number): Promise<number> {
  // Message blocks stay in the server's caches for 10 s after their last use.
  await sleep(12_000);
  let text = '';
  for (let round = 0; round < 3; round++) {
    const response = await fetch(`http://127.0.0.1:${profPort}/debug/pprof/heap?gc=1&debug=1`);
    text = await response.text();
  }
  return Number(/# HeapAlloc = (\d+)/.exec(text)?.[1]);
}
