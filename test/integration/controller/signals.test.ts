// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { heldJobText } from '@webcapture/shared/queue/heartbeat.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { backgroundShards, captureDurable, captureSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { backgroundShardOf } from '@webcapture/shared/queue/jobs.ts';
import { publishHeartbeat } from '@webcapture/shared/queue/publish-heartbeat.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { heartbeat } from './support/facts.ts';
import { StandInRenderer } from './support/stand-in-renderer.ts';
import { TestController } from './support/test-controller.ts';

let nats: TestNats;
let controller: TestController;
let renderer: StandInRenderer;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  controller = await TestController.start({ WEBCAPTURE_NATS_URL: nats.url, WEBCAPTURE_REGIONS: 'us-east' });
  await until('it to lead', async () => (await controller.metric('webcapture_controller_leader')) === 1);
});
afterAll(async () => {
  await renderer.stop();
  await controller.stop();
  await nats[Symbol.asyncDispose]();
});

const measured = (what: string, ms: number) => process.stdout.write(`${what}: ${(ms / 1000).toFixed(1)} s\n`);

/** The configured times allow about 6 s; a busy machine may need longer. */
const patientMs = 20_000;

/** Queues a background capture without a signal; returns its uuid. */
async function queueSilently(account: string): Promise<string> {
  const { session } = nats;
  const record = newRecord({ account, priority: 'background' });
  await new Captures(session).create(record);
  const job = jobOf(record);
  const signed = { ...job, ticket: await new Tickets(session).sign(job.ticket) };
  const subject = captureSubject('us-east', 'background', backgroundShardOf(account, backgroundShards));
  await session.js.publish(subject, JSON.stringify(signed));
  return record.uuid;
}

/** Queues a capture without a signal, and takes its job like a renderer that dies. `held` is for the heartbeat. */
async function takeSilently(account: string): Promise<{ uuid: string; held: string }> {
  const uuid = await queueSilently(account);
  const shard = backgroundShardOf(account, backgroundShards);
  const durable = captureDurable('us-east', 'background', shard);
  const message = await pullOne(nats.session.nc, streamNames.captures, durable, 5000);
  if (message === null) throw new Error('there is no job');
  return { uuid, held: heldJobText({ ...message, queue: `background-${shard}` }) };
}

test('a background capture whose signal was lost is found by the signal of the leader', async () => {
  renderer = new StandInRenderer(await nats.connect(), 'us-east', 'us-east-1');
  // A renderer checks all queues at its start, so only the second capture needs a signal.
  const before = await queueSilently('acme');
  await until('it to look', () => renderer.jobs.some(({ uuid }) => uuid === before));
  const uuid = await queueSilently('acme');
  const started = performance.now();
  await until('it to be taken', () => renderer.jobs.some((job) => job.uuid === uuid), { deadlineMs: patientMs });
  measured('a signal got lost, the job taken', performance.now() - started);
});

test('the background capture of a dead renderer is taken although no job waits in its shard', async () => {
  const { session } = nats;
  renderer.die();
  const { uuid, held } = await takeSilently('widow');
  await publishHeartbeat(new Entries(session, 'live'), heartbeat('dead', { busy: 1, jobs: [held] }));
  const died = performance.now();
  const other = new StandInRenderer(await nats.connect(), 'us-east', 'us-east-2');
  await until('it to be taken', () => other.jobs.some((job) => job.uuid === uuid), { deadlineMs: patientMs });
  measured('a renderer died, its background job taken elsewhere', performance.now() - died);
  expect(await controller.metric('webcapture_jobs_handed_back_total')).toBe(1);
  other.die();
});

test('a background capture of a renderer that was killed and restarted is found at the next heartbeat', async () => {
  const { session } = nats;
  const live = new Entries(session, 'live');
  const { uuid, held } = await takeSilently('twin');
  await publishHeartbeat(live, heartbeat('restarted', { instance: 'first', busy: 1, jobs: [held] }));
  const other = new StandInRenderer(await nats.connect(), 'us-east', 'us-east-3');
  await publishHeartbeat(live, heartbeat('restarted', { instance: 'second' }));
  const restarted = performance.now();
  await until('it to be taken', () => other.jobs.some((job) => job.uuid === uuid), { deadlineMs: patientMs });
  measured('a renderer was restarted, its background job taken elsewhere', performance.now() - restarted);
  expect(await controller.metric('webcapture_jobs_handed_back_total')).toBe(2);
  await other.stop();
});
