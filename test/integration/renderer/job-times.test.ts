// @module-tag long
import { randomUUIDv7 } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { signalSubject } from '@webcapture/shared/nats/streams.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import type { RenderEngine } from '../../../services/renderer/page/engine.ts';
import { ResultPublisher } from '../../../services/renderer/worker/publish-result.ts';
import { runJob, type JobDeps } from '../../../services/renderer/worker/run-job.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { delivered } from './support/delivered.ts';
import { picture, rendersIn } from './support/renderer.ts';
import { useRenderers } from './support/use-renderers.ts';

const { nats, queue, connect, start, settled, shortenAckWait } = useRenderers();

const depsOf = (session: NatsSession, changes: Partial<JobDeps> = {}): JobDeps => ({
  engine: { render: async () => picture() } as unknown as RenderEngine,
  uploader: new EmbeddedUploader(session),
  results: new ResultPublisher(session, 'pod'),
  readHtml: async () => '',
  reachesNats: async () => true,
  clock: session.clock,
  onEnd: () => undefined,
  onReturn: () => undefined,
  log: silentLog,
  ...changes,
});

describe('a job that missed its start deadline', () => {
  const late = () => {
    const acceptedAt = Date.now() - 61_000;
    return { acceptedAt, startBy: acceptedAt + 60_000, deadline: acceptedAt + 153_000 };
  };

  test('is not rendered if the time of the server is known', async () => {
    const session = await connect();
    session.clock.learn(Date.now());
    const renderer = await start({}, session);
    await queue().publish(late());
    expect(await settled(1)).toMatchObject([{ kind: 'failed', code: 'CAPTURE_TIMEOUT' }]);
    expect(renderer.rendered).toHaveLength(0);
    await until('it to be counted', () => renderer.ended[0]?.renderMs === null);
  });

  test('is rendered if the time of the server is unknown', async () => {
    const renderer = await start();
    await queue().publish({ priority: 'background', ...late() });
    expect(await settled(1)).toMatchObject([{ kind: 'completed' }]);
    expect(renderer.rendered).toHaveLength(1);
  });

  test('is rendered if another renderer had started it', async () => {
    const session = await connect();
    session.clock.learn(Date.now());
    const deps = { deliveries: 0 };
    await start({ render: async () => (++deps.deliveries, picture()) }, session);
    const uuid = randomUUIDv7();
    const job = jobOf(newRecord({ uuid, ...late() }));
    await runJob(delivered({ ...job, ticket: 'a.b' }, 2), new AbortController().signal, depsOf(session)).done;
    expect(await queue().outcomes()).toMatchObject([{ kind: 'completed' }]);
  });
});

describe.each([60_000, -60_000])('a pod whose clock is %i ms ahead', (aheadMs) => {
  test.each(['heard of the time', 'not heard of it yet'])('renders as any other pod when it has %s', async (heard) => {
    const now = Date.now.bind(Date);
    const at = now();
    const job = jobOf(
      newRecord({ acceptedAt: at, startBy: at + 20_000, deadline: at + 120_000, lifetimeMs: 3_600_000 }),
    );
    vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
    const session = await connect();
    const renderer = await start({}, session);
    if (heard === 'heard of the time') {
      await session.nc.flush();
      nats().session.nc.publish(signalSubject('us-east'), JSON.stringify({ shards: [], now: now() }));
      await until('the time', () => session.clock.isKnown);
    }
    await queue().jobs.publish(job, { deadline: nats().session.now() + 10_000 });
    const [outcome] = await settled(1);
    expect(outcome).toMatchObject({ kind: 'completed', ageMs: expect.any(Number) });
    const [request] = renderer.rendered;
    const leftMs = (request?.deadline ?? 0) - Date.now();
    expect(leftMs).toBeGreaterThan(60_000);
    expect(leftMs).toBeLessThan(130_000);
    await until('it to be counted', () => renderer.ended.length === 1);
    expect(renderer.ended[0]?.queueMs).toBeLessThan(15_000);
    const expiresAt = outcome?.kind === 'completed' ? outcome.upload.expiresAt : 0;
    expect(Math.abs(expiresAt - now() - 3_600_000)).toBeLessThan(20_000);
  });
});

test('a background capture may start within a day, but has the usual time to render', async () => {
  const session = await connect();
  session.clock.learn(Date.now());
  const renderer = await start({}, session);
  const day = Date.now() + 86_400_000;
  await queue().publish({ priority: 'background', startBy: day, deadline: day + 100_000 });
  await settled(1);
  const [request] = renderer.rendered;
  expect(request?.deadline).toBeGreaterThan(Date.now());
  expect(request?.deadline).toBeLessThan(Date.now() + 100_000);
});

test('a job that takes longer than the ack wait is not delivered again', async () => {
  const ackWaitMs = 5000;
  await using _ = await shortenAckWait(ackWaitMs);
  const one = await start({ render: rendersIn(ackWaitMs + 2500) });
  await queue().publish();
  await until('it to be rendered', () => one.rendered.length === 1);
  // A second renderer waits for a job that the server could deliver to it.
  const other = await start();
  await until('the other one to ask', async () => (await queue().interactive()).num_waiting === 1);
  expect(await settled(1)).toMatchObject([{ kind: 'completed' }]);
  expect([one.taken.length, other.taken.length]).toEqual([1, 0]);
});

test('an acknowledgement that the server does not answer holds a job for seconds, not until its deadline', async () => {
  const session = await connect();
  // A restarted server handles a delivery that it had not written to disk in this way.
  const subject = `$JS.ACK.CAPTURES.us-east-interactive.1.999999.999999.${Date.now()}000000.0`;
  const limits: (number | undefined)[] = [];
  const ack = async (timeout?: number) => {
    limits.push(timeout);
    await session.nc.request(subject, '+ACK', { timeout: timeout ?? 60_000 });
  };
  await expect(ack(500)).rejects.toThrow(/timeout/i);
  const job = { ...jobOf(newRecord()), ticket: 'a.b' };
  const start0 = performance.now();
  await runJob(delivered(job, 1, { ack }), new AbortController().signal, depsOf(session)).done;
  expect(limits).toEqual([500, 2000]);
  expect(performance.now() - start0).toBeGreaterThan(1990);
  expect(performance.now() - start0).toBeLessThan(3500);
  expect(await queue().outcomes()).toMatchObject([{ kind: 'completed' }]);
});
