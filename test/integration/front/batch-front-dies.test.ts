// @module-tag long
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { countKeys } from '@webcapture/shared/nats/read-many.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { recoverLostJob } from '../../../services/controller/recovery/lost-jobs.ts';
import { fake } from '../../harness/fake.ts';
import { freePort } from '../../harness/free-port.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/until.ts';
import { completeJobs, openHolder, startBackgroundFront } from './background.ts';
import { pages, readBatch, sendBatch, untilBatchEnds, uuidsOf } from './batches.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
let dying: ServiceProcess;
let dyingUrl: string;
beforeAll(async () => {
  front = await startBackgroundFront();
  completeJobs(front.renderer);
  const port = await freePort();
  dyingUrl = `http://127.0.0.1:${port}`;
  dying = await ServiceProcess.prepare('front-that-dies', 'front', {
    PATH: process.env['PATH'] ?? '',
    PORT: String(port),
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_NATS_URL: front.nats.url,
    WEBCAPTURE_REGIONS: 'us-east:1',
  });
});
afterAll(async () => {
  await dying.stop();
  await front[Symbol.asyncDispose]();
});

const count = 600;

function recover(task: Parameters<typeof recoverLostJob>[0]): Promise<void> {
  const { session } = front.nats;
  return recoverLostJob(task, {
    captures: new Captures(session),
    jobs: new Jobs(session, new Tickets(session)),
    tasks: new Tasks(session),
    failCapture: () => Promise.reject(new Error('nothing is overdue')),
    followUps: fake({ schedule: async () => undefined }),
  });
}

test('a front that is killed while it queues a batch: the repeated request continues it, and each capture is charged once', async () => {
  const holder = await openHolder(front);
  const { account, key } = holder;
  const records = () => countKeys(front.nats.session, 'db', `capture.${account}.>`);
  const body = { requests: pages(count) };
  const idempotencyKey = randomUUID();
  await dying.start();
  const lost = sendBatch({ url: dyingUrl }, key, body, { idempotencyKey }).then(
    ({ status }) => status,
    () => 'connection lost',
  );
  await until('some captures to be queued', async () => (await records()) > 20, { intervalMs: 1 });
  await dying.kill('SIGKILL');
  expect(await lost).toBe('connection lost');
  const before = await records();
  expect(before).toBeLessThan(count);

  const again = await sendBatch(front, key, body, { idempotencyKey });
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(again.data.counts).toMatchObject({ total: count, failed: 0 });
  // The leader does this for captures whose record was written, but not their job.
  for (const uuid of uuidsOf(again.data)) await recover({ account, uuid, revision: 0 });
  const ended = await untilBatchEnds(front, key, again.data.id);
  expect(ended.counts.completed).toBe(count);
  expect(await records()).toBe(count);
  expect(await holder.usage()).toEqual({ tokens: count, captures: count, reserved: 0, queued: 0 });
  expect(await holder.ledger()).toEqual(await holder.sumOfRecords());
  expect(uuidsOf((await readBatch(front, key, again.data.id)).data)).toEqual(uuidsOf(again.data));
});
