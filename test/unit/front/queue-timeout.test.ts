import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { until } from '../../harness/until.ts';
import { read, startStand, type Stand } from './stand.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand({ WEBCAPTURE_QUEUE_TIMEOUT: '1', WEBCAPTURE_REGIONS: 'us-east:1,eu-west:1,us-west:0' });
});
afterAll(() => stand[Symbol.asyncDispose]());

const url = 'https://example.com/';
const waiting = async (region: string) => {
  const filter = { subjects_filter: `captures.${region}.>` };
  const { state } = await stand.nats.session.jsm.streams.info(streamNames.captures, filter);
  return Object.keys(state.subjects ?? {}).length;
};

test('a capture waits no longer than it may when no renderer is free, and leaves no job behind', async () => {
  const busy = await stand.addRenderer('eu-west');
  await busy.say({ busy: 2 });
  const { status, body, headers } = await read(await stand.capture({ url, region: 'eu-west' }));
  expect([status, body.error?.code]).toEqual([500, 'CAPTURE_TIMEOUT']);
  expect(body.error?.message).toContain('waited in the queue');
  const found = await read(await stand.call(`/captures/${headers.get('x-capture-uuid')}`));
  expect(found.body.data).toMatchObject({ status: 'failed', error: { code: 'CAPTURE_TIMEOUT' } });
  await until('the job to leave the queue', async () => (await waiting('eu-west')) === 0);
});

test('a region that may be empty queues for as long', async () => {
  const { body } = await read(await stand.capture({ url, region: 'us-west' }));
  expect(body.error).toMatchObject({ code: 'CAPTURE_TIMEOUT' });
});

test('a renderer that comes to an empty region takes what waits there', async () => {
  const answer = stand.capture({ url, region: 'us-west' });
  await until('the job to be queued', async () => (await waiting('us-west')) === 1);
  const renderer = await stand.addRenderer('us-west');
  await renderer.start();
  expect((await read(await answer)).body.data).toMatchObject({ region: 'us-west' });
});

test('rendering that has begun is given its own time', async () => {
  stand.renderer.behaviour = async (job, renderer) => {
    await renderer.captures.begin(job);
    await sleep(2500);
    await renderer.complete(job);
  };
  expect((await stand.capture({ url, region: 'us-east' })).status).toBe(200);
});
