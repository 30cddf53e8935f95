import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { until } from '../../harness/until.ts';
import { read, startTestFront, whenHeard, type TestFront } from './test-front.ts';

let front: TestFront;
/** A front whose queue timeout lets rendering begin even on a slow machine. */
let patient: TestFront;
beforeAll(async () => {
  const regions = { WEBCAPTURE_REGIONS: 'us-east:1,eu-west:1,us-west:0' };
  front = await startTestFront({ WEBCAPTURE_QUEUE_TIMEOUT: '1', ...regions });
  patient = await startTestFront({ WEBCAPTURE_QUEUE_TIMEOUT: '4', ...regions });
});
afterAll(() => Promise.all([front, patient].map((each) => each[Symbol.asyncDispose]())));

const url = 'https://example.com/';
const waiting = async (region: string, { nats } = front) => {
  const filter = { subjects_filter: `captures.${region}.>` };
  const { state } = await nats.session.jsm.streams.info(streamNames.captures, filter);
  return Object.keys(state.subjects ?? {}).length;
};

test('a capture without a free renderer fails after the queue timeout, and its job is removed', async () => {
  const busy = await front.addRenderer('eu-west');
  await busy.say({ busy: 2 });
  const { status, body, headers } = await whenHeard(() => front.capture({ url, region: 'eu-west' }));
  expect([status, body.error?.code]).toEqual([500, 'CAPTURE_TIMEOUT']);
  expect(body.error?.message).toContain('waited in the queue');
  const found = await read(await front.call(`/captures/${headers.get('x-capture-uuid')}`));
  expect(found.body.data).toMatchObject({ status: 'failed', error: { code: 'CAPTURE_TIMEOUT' } });
  await until('the job to leave the queue', async () => (await waiting('eu-west')) === 0);
});

test('a region without renderers queues captures for the queue timeout', async () => {
  const { body } = await read(await front.capture({ url, region: 'us-west' }));
  expect(body.error).toMatchObject({ code: 'CAPTURE_TIMEOUT' });
});

test('a renderer that starts in an empty region renders the waiting capture', async () => {
  const answer = patient.capture({ url, region: 'us-west' });
  await until('the job to be queued', async () => (await waiting('us-west', patient)) === 1);
  const renderer = await patient.addRenderer('us-west');
  await renderer.start();
  expect((await read(await answer)).body.data).toMatchObject({ region: 'us-west' });
});

test('rendering that has begun may continue after the queue timeout', async () => {
  patient.renderer.behavior = async (job, renderer) => {
    // Later than the time at which the front checks whether rendering has begun.
    await sleep(job.startBy - Date.now() + 1000);
    await renderer.complete(job);
  };
  expect((await patient.capture({ url, region: 'us-east' })).status).toBe(200);
});
