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

/** The most memory of the server that a stored capture may take. */
const goalBytes = 450;

/** Memory of the server for each stored capture, in bytes. */
export interface StoredCaptureMemory {
  readonly captures: number;
  /** Of the record alone: its subject. */
  readonly record: number;
  /** Of the record and of what finds it when its time is over. */
  readonly total: number;
  /** Of the record and a message schedule, as it was before. */
  readonly totalWithSchedule: number;
  readonly goal: number;
}

/**
 * Writes completed captures and what has each expire, and reads how much the heap of the server has grown for good (after
 * a collection). The captures expire over two days, as those of a service with lifetimes of a day and of a week do.
 */
export async function measureStoredCaptureMemory(captures = 100_000): Promise<StoredCaptureMemory> {
  await using parts = new AsyncDisposableStack();
  const profPort = await freePort();
  const { session } = await startBenchNats(parts, `prof_port: ${profPort}\n`);
  // Names of messages are kept for the window for duplicates, however many captures are stored: not what is measured.
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

/** A publish after the window has the server forget what came before it. */
async function windowToPass(session: NatsSession): Promise<void> {
  await sleep(2500);
  await session.js.publish('expiry.19700101', 'a.b.0', { msgID: 'last' });
  await sleep(1500);
}

/** Bytes of the heap that are in use, once nothing more is to be written and what can be freed is. */
async function heapOf(profPort: number): Promise<number> {
  // Blocks of messages stay in the server's caches for ten seconds after they were used last.
  await sleep(12_000);
  let text = '';
  for (let round = 0; round < 3; round++) {
    const response = await fetch(`http://127.0.0.1:${profPort}/debug/pprof/heap?gc=1&debug=1`);
    text = await response.text();
  }
  return Number(/# HeapAlloc = (\d+)/.exec(text)?.[1]);
}
