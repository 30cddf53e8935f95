import { beforeEach, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { expirySubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { captureKey } from '@webcapture/shared/captures/captures.ts';
import { expandAheadMs, ExpiryIndex, minuteSubject, nearMs } from '@webcapture/shared/captures/expiry-index.ts';
import { remove } from '@webcapture/shared/captures/transitions.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import { ExpirySweep, type ExpirySweepDeps } from '../../../services/controller/jobs/expiry.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { expiriesOf } from '../../harness/queues.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { recordingLog, type LogLine } from './support/recording-log.ts';
import { useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();
beforeEach(() => on().session.jsm.streams.purge(streamNames.expiry));

const minute = 60_000;
const hour = 60 * minute;
const term = { holds: () => true };

function sweeping(changes: Partial<ExpirySweepDeps> = {}) {
  const { session } = on();
  const tools = tasking(on());
  const lines: LogLine[] = [];
  const metrics = createControllerMetrics(createMetrics('test'));
  const sweep = new ExpirySweep({ ...tools.deps, session, metrics, log: recordingLog(lines), ...changes });
  return { ...tools, sweep, lines, index: tools.deps.expiryIndex };
}

/** The subjects of the index, with the number of entries of each. */
async function subjects(): Promise<Record<string, number>> {
  const { state } = await on().session.jsm.streams.info(streamNames.expiry, { subjects_filter: '>' });
  return state.subjects ?? {};
}

/** Completed captures without a file, which expire at `expiresAt`, in the records and in the index. */
async function completedMany(count: number, expiresAt: number): Promise<CaptureRecord[]> {
  const { session } = on();
  const index = new ExpiryIndex(session);
  const completed = { account: 'many', status: 'completed', outcome: newOutcome(), expiresAt } as const;
  const records = Array.from({ length: count }, () => newRecord(completed));
  await Promise.all(
    records.map(async (record) => {
      await session.js.publish(`$KV.db.${captureKey('many', record.uuid)}`, JSON.stringify(record));
      await index.add(record, expiresAt);
    }),
  );
  return records;
}

test('a capture whose minute has passed expires with its file, and later captures stay', async () => {
  const { sweep, completed, stored, store, index } = sweeping();
  const [due, later] = [
    await completed({ account: 'a', expiresAt: Date.now() - 2 * minute }),
    await completed({ account: 'b', expiresAt: Date.now() + hour }),
  ];
  for (const record of [due, later]) await index.add(record, record.expiresAt);
  await sweep.pass(term);
  expect((await stored(due))?.status).toBe('expired');
  expect(await store.stat(due.fileName)).toBeNull();
  expect((await stored(later))?.status).toBe('completed');
  expect(await subjects()).toEqual({ [minuteSubject(later.expiresAt)]: 1 });
});

test('in the current minute each capture expires at its own time, and the entries stay until the next', async () => {
  let now = 0;
  const start = Math.floor(Date.now() / minute) * minute - 10 * minute;
  const { sweep, completed, stored, index } = sweeping({ now: () => now });
  const records = await Promise.all(
    [5, 15, 55].map((second) => completed({ account: 'a', expiresAt: start + second * 1000 })),
  );
  for (const record of records) await index.add(record, record.expiresAt);
  const expired = async () => {
    const all = await Promise.all(records.map(stored));
    return all.map((record) => record?.status === 'expired');
  };
  now = start + 20_000;
  await sweep.pass(term);
  expect(await expired()).toEqual([true, true, false]);
  expect(Object.values(await subjects())).toEqual([3]);
  // This is a late entry for the current minute.
  const [late] = await completedMany(1, start + 30_000);
  now = start + 56_000;
  await sweep.pass(term);
  expect(await expired()).toEqual([true, true, true]);
  expect((await on().captures.get('many', late?.uuid ?? ''))?.value.status).toBe('expired');
  now = start + minute;
  await sweep.pass(term);
  expect(await subjects()).toEqual({});
});

test('a capture whose expiry was extended is indexed again at the new time, once', async () => {
  const { sweep, completed, stored, index } = sweeping();
  const record = await completed({ account: 'a', expiresAt: Date.now() + 3 * hour });
  await index.add(record, Date.now() - 2 * minute);
  await sweep.pass(term);
  expect((await stored(record))?.status).toBe('completed');
  expect(await expiriesOf(on().session, record.uuid)).toEqual([record.expiresAt]);
  await sweep.pass(term);
  expect(await expiriesOf(on().session, record.uuid)).toEqual([record.expiresAt]);
});

test('adding a capture twice makes one entry, and deleted or unknown captures leave none', async () => {
  const { sweep, completed, deps, index } = sweeping();
  const past = Date.now() - 2 * minute;
  const deleted = await completed({ account: 'a', expiresAt: past });
  await deps.captures.change(deleted, remove);
  await Promise.all([index.add(deleted, past), index.add(deleted, past)]);
  await index.add(newRecord({ account: 'unknown' }), past);
  await on().session.js.publish(minuteSubject(past), 'no entry');
  expect(Object.values(await subjects())).toEqual([3]);
  await sweep.pass(term);
  expect(await subjects()).toEqual({});
});

test('distant expiries are indexed by day, and moved to their minutes before the day begins', async () => {
  const expiresAt = Date.now() - 5 * minute;
  const day = new Date(expiresAt).toISOString().slice(0, 10).replaceAll('-', '');
  let now = expiresAt - 3 * nearMs;
  const { session } = on();
  const { sweep, completed, stored } = sweeping({ now: () => now });
  const records = [await completed({ account: 'a', expiresAt }), await completed({ account: 'b', expiresAt })];
  const index = new ExpiryIndex(session, () => now);
  for (const record of records) await index.add(record, expiresAt);
  expect(await subjects()).toEqual({ [expirySubject(day)]: 2 });
  await sweep.expandDays(term);
  expect(await subjects()).toEqual({ [expirySubject(day)]: 2 });
  now = Math.floor(expiresAt / (24 * hour)) * 24 * hour - expandAheadMs;
  // From this time on, new entries are no longer indexed by day.
  expect(expiresAt - now).toBeLessThan(nearMs);
  await sweep.expandDays(term);
  expect(await subjects()).toEqual({ [minuteSubject(expiresAt)]: 2 });
  now = Date.now();
  await sweep.pass(term);
  expect((await Promise.all(records.map(stored))).map((record) => record?.status)).toEqual(['expired', 'expired']);
  expect(await subjects()).toEqual({});
});

test('a leader that dies during a pass leaves the rest to the next one', async () => {
  const records = await completedMany(40, Date.now() - 2 * minute);
  const { uuid: last = '' } = records.at(-1) ?? {};
  const cleared: string[] = [];
  let holds = true;
  const { promise: never } = Promise.withResolvers<void>();
  const dying = sweeping({
    removeCaptureFiles: async (record) => {
      if (cleared.length >= 10) {
        holds = false;
        await never;
      }
      cleared.push(record.uuid);
    },
  });
  void dying.sweep.pass({ holds: () => holds });
  await until('the leader to die', () => !holds);
  expect(Object.values(await subjects())).toEqual([40]);
  const next = sweeping({ removeCaptureFiles: async (record) => void cleared.push(record.uuid) });
  await next.sweep.pass(term);
  expect(new Set(cleared)).toEqual(new Set(records.map((record) => record.uuid)));
  expect((await on().captures.get('many', last))?.value.status).toBe('expired');
  expect(await subjects()).toEqual({});
});

test('a file that cannot be removed does not block others, and is retried later', async () => {
  const records = await completedMany(30, Date.now() - 2 * minute);
  const bad = records[3]?.uuid ?? '';
  const { sweep, lines } = sweeping({
    removeCaptureFiles: async ({ uuid }) => (uuid === bad ? Promise.reject(new Error('it is held')) : undefined),
  });
  await sweep.pass(term);
  const warning = 'cleanup of expired captures failed; retrying in 5 minutes';
  expect(lines).toEqual([expect.objectContaining({ level: 'warn', message: warning, count: 1 })]);
  const [again = 0, ...others] = await expiriesOf(on().session, bad);
  expect(again).toBeGreaterThan(Date.now() + 4 * minute);
  expect(others).toEqual([]);
  expect(Object.values(await subjects())).toEqual([1]);
});

test('if the store is unavailable, no entry is postponed and the next pass retries all', async () => {
  const records = await completedMany(30, Date.now() - 2 * minute);
  let isUp = false;
  const cleared = new Set<string>();
  const { sweep } = sweeping({
    removeCaptureFiles: async ({ uuid }) => {
      if (!isUp) throw new Error('the store is unavailable');
      cleared.add(uuid);
    },
  });
  await expect(sweep.pass(term)).rejects.toThrow('the store is unavailable');
  expect(Object.values(await subjects())).toEqual([30]);
  isUp = true;
  await sweep.pass(term);
  expect(cleared.size).toBe(records.length);
  expect(await subjects()).toEqual({});
});

test('many captures are cleaned up concurrently, but never more than 256', async () => {
  await completedMany(400, Date.now() - 2 * minute);
  let [running, most, done] = [0, 0, 0];
  const { promise: full, resolve } = Promise.withResolvers<void>();
  const { sweep } = sweeping({
    removeCaptureFiles: async () => {
      most = Math.max(most, ++running);
      if (running === 256) resolve();
      await full;
      running--;
      done++;
    },
  });
  await sweep.pass(term);
  expect([most, done]).toEqual([256, 400]);
});
