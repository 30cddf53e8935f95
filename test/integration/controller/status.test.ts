import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ComponentHistory, historyKey } from '@webcapture/shared/statistics/component-history.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { heartbeatFreshMs } from '@webcapture/shared/queue/heartbeat.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { controllerTimes } from '../../../services/controller/times.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { queueCapture } from './support/jobs.ts';
import { StandInRenderer } from './support/stand-in-renderer.ts';
import { reportOf, untilShown } from './support/status.ts';
import { TestController } from './support/test-controller.ts';

// The times of production, except for the regular writes, because the test measures how soon the status is correct.
let broker: TestBroker;
let session: NatsSession;
let controller: TestController;
const renderers: StandInRenderer[] = [];
beforeAll(async () => {
  broker = await TestBroker.start();
  session = await broker.connect();
  const env = {
    WEBCAPTURE_NATS_URL: broker.url,
    WEBCAPTURE_REGIONS: 'us-east:2,eu-west:0',
    WEBCAPTURE_CANARY_INTERVAL: '60',
  };
  controller = await TestController.start(env, { statusMs: 1000 });
  await until('the controller to be ready', async () => (await controller.probe('/readyz')) === 200);
  for (const pod of ['us-east-1', 'us-east-2']) renderers.push(new StandInRenderer(session, 'us-east', pod));
});
afterAll(async () => {
  await Promise.all(renderers.map((renderer) => renderer.stop()));
  await controller.stop();
  await broker.stop();
});

/** The configured times allow less than 10 s; a busy machine may need longer. */
const patientMs = 25_000;

test('the times let silence show within 10 s', () => {
  // Two readings confirm the silence, and the second one is published at once.
  expect(heartbeatFreshMs + 3 * controllerTimes.tickMs).toBeLessThan(10_000);
});

const measured = (what: string, ms: number) => process.stdout.write(`${what}: ${(ms / 1000).toFixed(1)} s\n`);

test('a complete fleet is operational, and a canary measures its response time', async () => {
  await untilShown(session, 'engine.us-east', 'operational');
  // On a busy machine the first reading may find a slow queue.
  await until('a canary to have gone round, and all to be well', async () => {
    const report = await reportOf(session);
    expect(report?.components.find(({ name }) => name === 'engine.us-east')?.responseTimeMs).toBeDefined();
    expect(report?.overall).toBe('operational');
    expect(report?.components.map(({ name, status, message }) => [name, status, message])).toEqual([
      ['queue', 'operational', 'NATS responds'],
      ['storage', 'operational', 'files are written and read'],
      ['engine', 'operational', '2 of 2 regions operational'],
      ['engine.us-east', 'operational', '2 of 2 renderers healthy'],
      ['engine.eu-west', 'operational', 'scaled to zero'],
    ]);
    return true;
  });
  expect(await controller.metric('webcapture_component_status{component="engine"}')).toBe(0);
  expect(await controller.metric('webcapture_region_renderers_healthy{region="us-east"}')).toBe(2);
  expect(await controller.metric('webcapture_controller_leader')).toBe(1);
});

test('waiting captures are counted', async () => {
  for (let index = 0; index < 3; index++) await queueCapture(session, { region: 'eu-west', priority: 'background' });
  await until('the queue to be told', async () => (await reportOf(session))?.queued['eu-west'] === 3);
  expect(await controller.metric('webcapture_queue_waiting_captures{region="eu-west",priority="background"}')).toBe(3);
  await session.jsm.streams.purge(streamNames.captures);
});

test('a renderer that becomes silent soon shows in the status, by name', async () => {
  const [, second] = renderers;
  second?.die();
  const { component } = await untilShown(session, 'engine.us-east', 'degraded_performance');
  const tookMs = performance.now() - (second?.lastBeatAt ?? 0);
  measured('after the last heartbeat, status turned', tookMs);
  expect(tookMs).toBeLessThan(patientMs);
  expect(component.message).toMatch(/^1 of 2 renderers healthy: us-east-2 has not been heard for \d+ s$/);
  expect((await reportOf(session))?.overall).toBe('degraded_performance');
});

test('the last renderer that leaves shows within seconds, and the engine has a partial outage', async () => {
  await renderers[0]?.stop();
  const { tookMs, component } = await untilShown(session, 'engine.us-east', 'major_outage');
  measured('the last renderer left, status turned', tookMs);
  // The renderer has withdrawn its heartbeat, so the controller need not wait until it is silent.
  expect(component.message).toMatch(
    /^0 of 2 renderers healthy: us-east-2 has not been heard for \d+ s, 1 more missing$/,
  );
  const report = await reportOf(session);
  expect(report?.components.find(({ name }) => name === 'engine')?.status).toBe('partial_outage');
  expect(report?.overall).toBe('major_outage');
});

test('renderers that come back show in the status', async () => {
  for (const pod of ['us-east-1', 'us-east-2']) renderers.push(new StandInRenderer(session, 'us-east', pod));
  const { tookMs } = await untilShown(session, 'engine.us-east', 'operational');
  measured('renderers came back, status turned', tookMs);
  expect(tookMs).toBeLessThan(patientMs);
  expect(controller.changes('engine.us-east').slice(-3)).toEqual([
    'operational→degraded_performance',
    'degraded_performance→major_outage',
    'major_outage→operational',
  ]);
});

test('all of these changes are in the history', async () => {
  const history = await until('the incident to be over', async () => {
    const found = (await new Entries(session, 'db').get<ComponentHistory>(historyKey('engine.us-east')))?.value;
    return found?.incidents[0]?.endedAt !== null && found;
  });
  expect(history.status).toBe('operational');
  const [incident] = history.incidents;
  expect(incident?.status).toBe('major_outage');
  expect(incident?.updates.map(({ status }) => status)).toEqual(['degraded_performance', 'major_outage']);
  expect(incident?.updates[0]?.message).toMatch(/us-east-2 has not been heard/);
});

test('interactive captures that wait long show in the status, also if many background captures are quick', async () => {
  const recent = { internalFailures: 0, ended: 20, interactive: 20, queueWaitP95Ms: 15_000 };
  const [interactive, background] = renderers.slice(-2);
  if (interactive === undefined || background === undefined) throw new Error('two renderers are running');
  interactive.says = { recent };
  background.says = { recent: { ...recent, ended: 1000, interactive: 0, queueWaitP95Ms: 0 } };
  const { component } = await untilShown(session, 'engine.us-east', 'degraded_performance');
  expect(component.message).toBe('captures wait up to 15 s for a renderer');
  for (const renderer of [interactive, background]) renderer.says = {};
  await untilShown(session, 'engine.us-east', 'operational');
});
