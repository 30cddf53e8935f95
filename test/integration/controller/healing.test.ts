// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { StandInRenderer } from './support/stand-in-renderer.ts';
import { reportOf, untilShown } from './support/status.ts';
import { TestController } from './support/test-controller.ts';

let broker: TestBroker;
let session: NatsSession;
let controllers: TestController[];
let renderer: StandInRenderer;
beforeAll(async () => {
  broker = await TestBroker.start();
  session = await broker.connect();
  // The renderer's first heartbeats are lost, because the bucket does not exist yet.
  renderer = new StandInRenderer(session, 'us-east', 'us-east-1');
  // All processes start at the same time, on a server without any stream.
  controllers = await Promise.all(
    [1, 2, 3].map((index) =>
      TestController.start({
        WEBCAPTURE_NATS_URL: broker.url,
        WEBCAPTURE_REGIONS: 'us-east',
        WEBCAPTURE_POD: `controller-${index}`,
      }),
    ),
  );
});
afterAll(async () => {
  await renderer.stop();
  await Promise.all(controllers.map((controller) => controller.stop()));
  await broker.stop();
});

const ready = async () =>
  (await Promise.all(controllers.map((each) => each.probe('/readyz')))).every((code) => code === 200);
const leaders = async () => {
  const values = await Promise.all(controllers.map((each) => each.metric('webcapture_controller_leader')));
  return values.filter((value) => value === 1).length;
};
const names = () => session.jsm.streams.names().next();
/** Returns whether all streams exist. If the server is killed during the request, the timeout ends the wait. */
const complete = async () =>
  (await withDeadline(names(), 1000, 'listing the streams')).length === Object.keys(streamNames).length;
const measured = (what: string, ms: number) => process.stdout.write(`${what}: ${(ms / 1000).toFixed(1)} s\n`);
const sinceNow = () => {
  const start = performance.now();
  return () => performance.now() - start;
};

test('several controllers create all streams at once, and one leads', async () => {
  await until('all to be ready', ready);
  await until('one to lead', async () => (await leaders()) === 1);
  expect((await names()).toSorted()).toEqual(Object.values(streamNames).toSorted());
  await untilShown(session, 'engine.us-east', 'operational');
});

test('streams and consumers that were deleted by hand are recreated', async () => {
  const took = sinceNow();
  await session.jsm.consumers.delete(streamNames.captures, 'us-east-background-0');
  await session.jsm.streams.delete(streamNames.dead);
  await session.jsm.streams.delete(streamNames.live);
  const durable = () => session.jsm.consumers.info(streamNames.captures, 'us-east-background-0');
  const { config } = await until('the durable to be back', durable);
  expect(config).toMatchObject({ filter_subject: 'captures.us-east.background.0', max_deliver: 3, max_waiting: 4096 });
  await until('the streams to be back', complete);
  measured('deleted by hand, back', took());
  // The leader applies the whole configuration once a minute.
  expect(took()).toBeLessThan(30_000);
  await until('a report of the status', async () => (await reportOf(session)) !== undefined);
  await until('one to lead', async () => (await leaders()) === 1);
});

test('a server that lost its disk is set up again, and no renderer is reported as dead meanwhile', async () => {
  const before = controllers.map((controller) => controller.changes('engine.us-east').length);
  const took = sinceNow();
  await broker.restartEmpty();
  await until('all streams to be back', complete);
  measured('NATS restarted with an empty disk, streams back', took());
  await until('all to be ready', ready);
  await until('a new word on the status', async () => (await reportOf(session))?.overall === 'operational');
  measured('NATS restarted with an empty disk, status operational', took());
  await until('one to lead', async () => (await leaders()) === 1);
  // Time after which missed heartbeats count as silence: 5 s and two readings.
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, 7500 - took())));
  const said = controllers.flatMap((controller, index) => controller.changes('engine.us-east').slice(before[index]));
  // Another controller may have become the leader.
  expect(said.filter((change) => change !== 'unknown→operational')).toEqual([]);
});
