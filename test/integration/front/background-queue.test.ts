import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { overdueAt } from '@webcapture/shared/captures/times.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { complete } from '@webcapture/shared/captures/transitions.ts';
import { BackgroundQueue, type BackgroundQueueDeps } from '../../../services/front/capture/background-queue.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { queuedJobs, taskDueAt } from '../../harness/queues.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
beforeEach(() => nats.session.jsm.streams.purge(streamNames.captures));
afterAll(() => nats[Symbol.asyncDispose]());

const queueOf = (changes: Partial<BackgroundQueueDeps> = {}) =>
  new BackgroundQueue({
    captures: new Captures(nats.session),
    jobs: new Jobs(nats.session, new Tickets(nats.session)),
    tasks: new Tasks(nats.session),
    regions: fake({ choose: async () => 'us-east' }),
    htmlStore: { put: async () => undefined, remove: async () => undefined },
    now: nats.session.now,
    log: silentLog,
    ...changes,
  });

async function completed(): Promise<CaptureRecord> {
  const captures = new Captures(nats.session);
  const record = newRecord({ account: 'later', priority: 'background' });
  await captures.create(record);
  return (await captures.end(record, complete(0, newOutcome(), record.expiresAt))).record ?? record;
}

const nearly = (wanted: number) => (actual: number | null) => actual !== null && Math.abs(actual - wanted) < 10_000;

test('the leader checks the end of a queued refresh after its deadline', async () => {
  const record = await completed();
  const after = await queueOf().enqueueRefresh(record, 'us-east');
  expect(await queuedJobs(nats.session)).toMatchObject([{ uuid: record.uuid, revision: 1 }]);
  const isWatched = nearly(overdueAt(after?.refresh?.deadline ?? 0));
  await until('the task to be put off', async () => isWatched(await taskDueAt(nats.session, 'dispatch', record, 1)));
});

test('if the queue is unavailable, the leader queues the job soon', async () => {
  const record = await completed();
  const publish = async () => Promise.reject(new Error('away'));
  const after = await queueOf({ jobs: fake({ publish }) }).enqueueRefresh(record, 'us-east');
  expect(after?.refresh).toMatchObject({ revision: 1, state: 'queued' });
  const isSoon = nearly(Date.now() + 20_000);
  expect(isSoon(await taskDueAt(nats.session, 'dispatch', record, 1))).toBe(true);
});

test('a refresh requested before another one ended starts no refresh without a job', async () => {
  const record = await completed();
  const captures = new Captures(nats.session);
  await queueOf().enqueueRefresh(record, 'us-east');
  await captures.end(record, complete(1, newOutcome(), record.expiresAt));
  const late = await queueOf().enqueueRefresh(record, 'us-east');
  expect(late?.refresh).toMatchObject({ revision: 1, state: 'completed' });
  expect(await queuedJobs(nats.session)).toHaveLength(1);
});
