// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { noUsage } from '@webcapture/shared/captures/usage.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { backgroundWaitMs } from '@webcapture/shared/captures/times.ts';
import type { FileStore, FileUploader } from '@webcapture/shared/files/file-store.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { openStore, openUploader } from '@webcapture/shared/files/open-store.ts';
import { removeHtml } from '@webcapture/shared/files/stored-html.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { jobMaxDeliveries } from '@webcapture/shared/nats/streams.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import { createFailCapture } from '../../../services/controller/recovery/fail-capture.ts';
import { recoverLostJob } from '../../../services/controller/recovery/lost-jobs.ts';
import { runTasks } from '../../../services/controller/jobs/tasks.ts';
import { ResultQueue } from '../../../services/front/capture/result-queue.ts';
import { fake } from '../../harness/fake.ts';
import { startTestBucket } from '../../harness/bucket.ts';
import { type DelayProxy, startDelayProxy } from '../../harness/delay-proxy.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { withLoginOf } from '../../harness/nats-users.ts';
import { newRecord } from '../../harness/records.ts';
import { SettlingParts } from '../../harness/settling.ts';
import { until } from '../../harness/until.ts';
import { TestRenderer } from './support/renderer.ts';

/** Deadline of an upload. In production it is at least a minute. */
const uploadMs = 300;

/** Share of the delay after which a returned job is queued again. In production the delay is at least 5 s. */
const waitShare = 0.01;

const linkTo = (address: string): Promise<DelayProxy> => {
  const { hostname: host, port } = new URL(address);
  return startDelayProxy({ upstream: { host, port: Number(port) }, roundTripMs: 0 });
};

/** An uploader with a short deadline. */
const impatient = (uploader: FileUploader): FileUploader => ({
  upload: (file) => uploader.upload({ ...file, deadline: Date.now() + uploadMs }),
});

let nats: TestNats;
const cleanUp = new AsyncDisposableStack();
beforeAll(async () => {
  nats = cleanUp.use(await startTestNats(['us-east']));
});
afterAll(() => cleanUp.disposeAsync());

/** The parts of a front and of the leader that settle results and queue returned jobs again. */
async function startService(store: FileStore): Promise<SettlingParts & AsyncDisposable> {
  const session = await nats.connect();
  const parts = new SettlingParts(session, store);
  const { captures, jobs, settlements, log } = parts;
  const tasks = new Tasks(session);
  const followUps = new FollowUps(tasks, new ExpiryIndex(session, session.now));
  const results = new ResultQueue({
    session,
    settlements,
    captures,
    followUps,
    jobs,
    tasks: fake({ schedule: (task, at) => tasks.schedule(task, session.now() + (at - session.now()) * waitShare) }),
    removeHtml: (name) => removeHtml(session, name),
    onMalformed: () => undefined,
    log,
  });
  const metrics = createControllerMetrics(createMetrics('test'));
  const failCapture = createFailCapture({ session, captures, followUps, metrics, log });
  const recovery = { captures, jobs, tasks, failCapture, followUps };
  const over = new AbortController();
  const term = { signal: over.signal, holds: () => !over.signal.aborted };
  const inbox = new PullInbox(session);
  const leading = runTasks(
    { kind: 'dispatch', parallel: 4, run: (task) => recoverLostJob(task, recovery) },
    { inbox, metrics, log },
    term,
  );
  return Object.assign(parts, {
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all([leading, results.close()]);
    },
  });
}

/** Accepts a background capture. */
async function accept({ captures, jobs }: SettlingParts, account: string): Promise<CaptureRecord> {
  const record = newRecord({ account, priority: 'background', ...aDay() });
  await captures.create(record);
  await jobs.publish(jobOf(record));
  return record;
}

const aDay = () => ({ startBy: Date.now() + backgroundWaitMs, deadline: Date.now() + backgroundWaitMs + 93_000 });

const stateOf = async ({ captures }: SettlingParts, { account, uuid }: CaptureRecord) =>
  (await captures.get(account, uuid))?.value;

/** Expects that the capture completed, was charged once, has its file, and used up no delivery. */
async function expectCompleted(parts: SettlingParts, record: CaptureRecord, renderer: TestRenderer): Promise<void> {
  const end = await until('the capture to end', async () => {
    const found = await stateOf(parts, record);
    return found?.endedAt !== undefined && found;
  });
  expect(end).toMatchObject({ status: 'completed' });
  expect(await parts.store.stat(record.fileName)).toMatchObject({ size: end.outcome?.fileSizeBytes });
  const usage = await new AccountUsage(nats.session).read(record.account, Date.now(), 'exact');
  const storedBytes = end.outcome?.fileSizeBytes;
  expect(usage).toEqual({ ...noUsage, tokens: record.tokenCost, captures: 1, storedBytes });
  expect(renderer.taken.map(({ delivery }) => delivery)).toEqual(renderer.taken.map(() => 1));
}

const contextOf = (session: NatsSession) => ({ session, log: silentLog, metrics: createMetrics('test') });

test(
  'a capture completes after a NATS outage that outlasts the attempts of the renderer',
  { tags: 'long' },
  async () => {
    await using link = await linkTo(nats.url);
    const url = withLoginOf(link.url, nats.url);
    const session = await connectNats({ url, name: 'renderer', log: silentLog, signal: AbortSignal.timeout(30_000) });
    const files = await openUploader({ bucket: undefined }, contextOf(session));
    await using parts = await startService(new EmbeddedStore(nats.session));
    const gaveUp = Promise.withResolvers<undefined>();
    let isFirst = true;
    const cutting: FileUploader = {
      upload: (file) => {
        if (isFirst) link.cut();
        isFirst = false;
        const uploads = impatient(files).upload(file);
        uploads.stored.catch(() => gaveUp.resolve(undefined));
        return uploads;
      },
    };
    const renderer = new TestRenderer(session, { uploader: cutting });
    try {
      const record = await accept(parts, 'cut');
      await gaveUp.promise;
      await link.mend();
      await expectCompleted(parts, record, renderer);
      expect(renderer.returned).toEqual(['store_unavailable']);
      expect(renderer.rendered).toHaveLength(2);
    } finally {
      await renderer.stop();
      await session.nc.close();
    }
  },
);

test('a capture completes after a bucket outage with more attempts than a job has deliveries', async () => {
  await using bucket = await startTestBucket();
  await using link = await linkTo(bucket.endpoint);
  const storage = { bucket: { bucket: bucket.bucket, prefix: '', endpoint: `http://127.0.0.1:${link.port}` } };
  const { store } = await openStore(storage, { ...contextOf(nats.session) });
  await using parts = await startService(store);
  const session = await nats.connect();
  const uploader = impatient(await openUploader(storage, contextOf(session)));
  const renderer = new TestRenderer(session, { uploader });
  try {
    link.cut();
    const record = await accept(parts, 'away');
    await until('the job to be returned', () => renderer.returned.length > jobMaxDeliveries);
    expect((await stateOf(parts, record))?.status).toBe('queued');
    await link.mend();
    await expectCompleted(parts, record, renderer);
  } finally {
    await renderer.stop();
  }
});
