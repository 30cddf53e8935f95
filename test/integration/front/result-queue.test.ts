// @module-tag long
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { streamNames, taskSubject } from '@webcapture/shared/nats/streams.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { removeHtml } from '@webcapture/shared/files/stored-html.ts';
import { ResultQueue } from '../../../services/front/capture/result-queue.ts';
import type { ResultSettler } from '../../../services/front/capture/settlement.ts';
import { fake } from '../../harness/fake.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { expiriesOf, taskDueAt } from '../../harness/queues.ts';
import { newRecord } from '../../harness/records.ts';
import { completedBy, resultOf, SettlingParts } from '../../harness/settling.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';

let nats: TestNats;
let renderer: StandInRenderer;
/** A connection for checks and for jobs that the fronts under test do not use. */
let parts: SettlingParts;
let queues: ResultQueue[];
beforeEach(async () => {
  nats = await startTestNats(['us-east']);
  renderer = new StandInRenderer(await nats.connect(), 'us-east');
  parts = new SettlingParts(nats.session);
  queues = [];
});
afterEach(async () => {
  await Promise.all(queues.map((queue) => queue.close()));
  await nats[Symbol.asyncDispose]();
});

/** Starts a front's result queue. */
async function startQueue(
  settlements?: ResultSettler,
): Promise<{ parts: SettlingParts; queue: ResultQueue; malformed: () => number }> {
  const own = new SettlingParts(await nats.connect());
  const { session } = own;
  let malformed = 0;
  const queue = new ResultQueue({
    session,
    settlements: settlements ?? own.settlements,
    captures: own.captures,
    followUps: new FollowUps(new Tasks(session), new ExpiryIndex(session, session.now)),
    jobs: own.jobs,
    tasks: new Tasks(session),
    removeHtml: (name) => removeHtml(session, name),
    onMalformed: () => (malformed += 1),
    log: own.log,
  });
  queues.push(queue);
  return { parts: own, queue, malformed: () => malformed };
}

const messagesIn = async (stream: string) => (await nats.session.jsm.streams.info(stream)).state.messages;
const allSettled = () => until('all results to be settled', async () => (await messagesIn(streamNames.results)) === 0);

const webhook = { url: 'https://example.com/hook', state: 'waiting', attempts: 0 } as const;
const persistence = { refreshIntervalMs: 3_600_000 };

/** Returns captures of every kind that has follow-ups at its end. */
function everyKind(account: string, count: number): CaptureRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const kinds = [{}, { priority: 'background' }, { priority: 'background', webhook }, { persistence }] as const;
    return newRecord({ account, ...kinds[index % kinds.length] });
  });
}

async function accept(records: readonly CaptureRecord[]): Promise<void> {
  const background = records.filter(({ priority }) => priority === 'background');
  await Promise.all(background.map((record) => parts.captures.create(record)));
}

/** Checks that all captures completed, were charged once, and have their follow-ups scheduled. */
async function expectEnded(account: string, records: readonly CaptureRecord[]): Promise<void> {
  const { state } = await nats.session.jsm.streams.info(streamNames.tasks, { subjects_filter: 'tasks.webhook.>' });
  const webhooks = Object.keys(state.subjects ?? {});
  for (const record of records) {
    const found = (await parts.captures.get(account, record.uuid))?.value;
    expect(found?.status).toBe('completed');
    expect(await expiriesOf(nats.session, record.uuid)).toEqual([found?.expiresAt]);
    expect(await parts.store.stat(record.fileName)).not.toBeNull();
    const isTold = webhooks.some(
      (subject) => subject.startsWith(taskSubject('webhook', '')) && subject.includes(record.uuid),
    );
    expect(isTold).toBe(record.webhook !== undefined);
    const refreshAt = await taskDueAt(nats.session, 'refresh', record);
    expect(refreshAt !== null || record.persistence === undefined).toBe(true);
  }
  expect(await new AccountUsage(nats.session).read(account, Date.now(), 'exact')).toMatchObject({
    tokens: records.length,
    captures: records.length,
    reserved: 0,
    queued: 0,
  });
}

test('a front that starts settles the results that arrived while no front ran', async () => {
  const records = everyKind('unknown', 20);
  await accept(records);
  for (const record of records) await renderer.complete(await parts.jobOf(record));
  expect(await messagesIn(streamNames.results)).toBe(20);
  const { parts: front } = await startQueue();
  await allSettled();
  expect(front.outcomes).toEqual(records.map(() => 'completed'));
  await expectEnded('unknown', records);
});

test('if a front dies after settling its own captures, another one schedules the follow-ups', async () => {
  const records = everyKind('died', 8);
  await accept(records);
  for (const record of records) {
    const job = await parts.jobOf(record);
    const outcome = completedBy(await renderer.upload(job));
    await renderer.publish(job, outcome);
    // The waiting front settles the result, and then dies.
    const result = { ticket: job.ticket, pod: 'a-pod', delivery: 1, elapsedMs: 5, outcome };
    expect(await parts.settle(result, { isAwaited: true })).toMatchObject({ outcome: 'completed' });
    expect(await expiriesOf(nats.session, record.uuid)).toEqual([]);
  }
  const { parts: front } = await startQueue();
  await allSettled();
  expect(front.outcomes).toEqual(records.map(() => 'repeated'));
  await expectEnded('died', records);
});

test('several fronts settle each result once', async () => {
  const records = everyKind('several', 40);
  await accept(records);
  const fronts = await Promise.all([startQueue(), startQueue(), startQueue()]);
  const jobs = await Promise.all(records.map((record) => parts.jobOf(record)));
  await Promise.all(jobs.map((job) => renderer.complete(job)));
  await allSettled();
  const outcomes = fronts.flatMap((front) => front.parts.outcomes);
  const completed = outcomes.filter((outcome) => outcome === 'completed').length;
  expect(completed).toBe(40);
  await expectEnded('several', records);
});

test('a front that stops leaves unsettled results to the next one', async () => {
  const records = everyKind('stops', 20);
  await accept(records);
  const jobs = await Promise.all(records.map((record) => parts.jobOf(record)));
  const first = await startQueue();
  const publishing = Promise.all(jobs.map((job) => renderer.complete(job)));
  await until('the first ones to be settled', () => first.parts.outcomes.length > 2);
  await first.queue.close();
  await publishing;
  await startQueue();
  await allSettled();
  await expectEnded('stops', records);
});

test('if NATS is killed while results are settled, no result is lost or charged twice', async () => {
  const records = everyKind('killed', 20);
  await accept(records);
  const jobs = await Promise.all(records.map((record) => parts.jobOf(record)));
  await startQueue();
  const publishing = Promise.all(jobs.map((job) => renderer.complete(job)));
  await until('the first ones to be published', async () => (await messagesIn(streamNames.results)) > 0);
  await nats.restart();
  // An upload during the restart may have failed; a renderer would retry it.
  await publishing.catch(() => undefined);
  for (const job of jobs) {
    const found = await until('the record to be read', () =>
      parts.captures.get(job.account, job.uuid).then((entry) => ({ entry })),
    );
    if (found.entry?.value.status !== 'completed') await renderer.complete(job);
  }
  await until('all results to be settled', async () => (await messagesIn(streamNames.results)) === 0);
  await expectEnded('killed', records);
});

test('malformed results are counted and removed', async () => {
  const { parts: front, malformed } = await startQueue();
  for (const data of ['', 'nonsense', 'null', '{}', Buffer.from([0xff, 0xfe])]) {
    await nats.session.js.publish('results.us-east.x', data);
  }
  await allSettled();
  expect(malformed()).toBe(5);
  // The warning is logged once for all of them.
  expect(front.warnings).toEqual(['a result of a renderer is malformed']);
});

test('a front settles at most 32 MiB of large results concurrently, and small ones as well', async () => {
  const large = JSON.stringify(resultOf({ ticket: 'x'.repeat(500_000) }, { kind: 'started' }));
  const fitting = Math.floor((32 * 1024 * 1024) / large.length);
  const { session } = nats;
  for (let count = 0; count < fitting + 5; count++) await session.js.publish('results.us-east.large', large);
  const gate = Promise.withResolvers<undefined>();
  const begun = { large: 0, small: 0 };
  await startQueue(
    fake<ResultSettler>({
      async settle({ ticket }) {
        begun[ticket === 'small' ? 'small' : 'large'] += 1;
        if (ticket !== 'small') await gate.promise;
        return { outcome: 'forged', record: null };
      },
    }),
  );
  try {
    const small = resultOf({ ticket: 'small' }, { kind: 'started' });
    await session.js.publish('results.us-east.small', JSON.stringify(small));
    // The small result was published last, so all others have been delivered before it.
    await until('the small result to be settled', () => begun.small === 1);
    expect(begun.large).toBe(fitting);
  } finally {
    gate.resolve(undefined);
  }
  await allSettled();
  expect(begun.large).toBe(fitting + 5);
});
