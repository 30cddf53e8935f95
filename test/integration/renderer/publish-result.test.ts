import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isStreamFull } from '@webcapture/shared/nats/api-errors.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { jobOf, type JobReply } from '@webcapture/shared/queue/job.ts';
import { decodeReply, type JobOutcome, type Reply } from '@webcapture/shared/queue/results.ts';
import { ResultPublisher } from '../../../services/renderer/worker/publish-result.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newRecord, plainReport } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { TestQueue } from './support/renderer.ts';

let nats: TestNats;
let publisher: ResultPublisher;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  publisher = new ResultPublisher(nats.session, 'pod');
});
afterAll(() => nats[Symbol.asyncDispose]());

const completed: JobOutcome = {
  kind: 'completed',
  upload: { object: 'o', contentType: 'image/png', size: 1, etag: 'e', width: 1, height: 1, expiresAt: 1 },
  report: plainReport,
  ageMs: 1,
};
const failed: JobOutcome = { kind: 'failed', code: 'CAPTURE_FAILED', message: 'a reason', cause: 'service' };

/** A delivered job, and the replies that a front receives. */
async function delivered(wants?: JobReply['wants']) {
  const subject = `replies.us-east.front.${randomUUID()}`;
  const heard: Reply[] = [];
  nats.session.nc.subscribe(subject, {
    callback: (_, { data }) => void heard.push(decodeReply(data) as Reply),
  });
  await nats.session.nc.flush();
  const record = newRecord();
  const job = { ...jobOf(record, 0, wants === undefined ? {} : { reply: { subject, wants } }), ticket: 'a.b' };
  return { heard, delivered: { job, delivery: 2, takenAt: performance.now() - 1000 } };
}

test.each([
  ['bytes', 1000, 1000],
  ['bytes', 9 * 1024 * 1024, null],
  ['result', 1000, null],
] as const)('a request for the %s of a file of %i bytes is answered with %s bytes', async (wants, size, comes) => {
  const { heard, delivered: job } = await delivered(wants);
  publisher.reply(job, completed, Buffer.alloc(size, 1));
  await until('the reply', () => heard.length === 1);
  expect(heard[0]?.bytes?.length ?? null).toBe(comes);
  expect(heard[0]?.result).toMatchObject({ ticket: 'a.b', pod: 'pod', delivery: 2, outcome: { kind: 'completed' } });
  expect(heard[0]?.result.elapsedMs).toBeGreaterThanOrEqual(1000);
  expect(Object.keys(heard[0]?.result ?? {}).toSorted()).toEqual(['delivery', 'elapsedMs', 'outcome', 'pod', 'ticket']);
});

test.each([
  ['start', { kind: 'started' }, 1],
  ['start', completed, 0],
  ['start', failed, 0],
  ['bytes', { kind: 'started' }, 0],
  ['result', failed, 1],
] as const)('a front that wants the %s receives %o: %i times', async (wants, outcome, times) => {
  const { heard, delivered: job } = await delivered(wants);
  publisher.reply(job, outcome);
  await nats.session.nc.flush();
  expect(heard).toHaveLength(times);
});

test('a result is published once, even if repeated; a job that was returned may have another result later', async () => {
  const queue = new TestQueue(nats.session);
  const { delivered: job } = await delivered();
  const deadline = Date.now() + 10_000;
  await publisher.publish(job, { kind: 'returned', reason: 'no_free_slot' }, deadline);
  await publisher.publish(
    { ...job, takenAt: performance.now() },
    { kind: 'returned', reason: 'no_free_slot' },
    deadline,
  );
  await publisher.publish(job, completed, deadline);
  await publisher.publish(job, completed, deadline);
  expect((await queue.outcomes()).map(({ kind }) => kind)).toEqual(['returned', 'returned', 'completed']);
});

test('a result waits for space in a full results stream', async () => {
  const queue = new TestQueue(nats.session);
  const { streams } = nats.session.jsm;
  const before = await queue.results();
  const { delivered: job } = await delivered();
  await streams.update(streamNames.results, { max_bytes: 1 });
  const refused = await publisher.publish(job, failed, Date.now() + 2000).catch((error: unknown) => error);
  expect(isStreamFull(refused)).toBe(true);
  const publishing = publisher.publish(job, failed, Date.now() + 10_000);
  await streams.update(streamNames.results, { max_bytes: -1 });
  await publishing;
  expect(await queue.results()).toHaveLength(before.length + 1);
});
