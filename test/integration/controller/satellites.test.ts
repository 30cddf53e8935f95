// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { type FleetConfig, fleetConfigKey } from '@webcapture/shared/queue/fleet-config.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { type ClusterReport, satelliteKey } from '../../../services/controller/health/cluster-reports.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { StandInRenderer } from './support/stand-in-renderer.ts';
import { reportOf, untilShown } from './support/status.ts';
import { TestController } from './support/test-controller.ts';

let broker: TestBroker;
let session: NatsSession;
let controller: TestController;
const cleanUp: (() => Promise<unknown>)[] = [];
const env = () => ({
  WEBCAPTURE_NATS_URL: broker.url,
  WEBCAPTURE_REGIONS: 'us-east:1,asia-east:1',
  WEBCAPTURE_OTHER_REGIONS: 'asia-east',
});
beforeAll(async () => {
  broker = await TestBroker.start();
  session = await broker.connect();
  controller = await TestController.start(env(), { statusMs: 1000 });
  addRenderer('us-east', 'east-1');
});
afterAll(async () => {
  for (const stop of cleanUp) await stop();
  await controller.stop();
  await broker.stop();
});

function addRenderer(region: Region, pod: string): StandInRenderer {
  const renderer = new StandInRenderer(session, region, pod);
  cleanUp.push(() => renderer.stop());
  return renderer;
}

const engine = async (name: string) => (await reportOf(session))?.components.find((each) => each.name === name);
const joined = async () =>
  (await new Entries(session, 'live').get<FleetConfig>(fleetConfigKey))?.value.joined.toSorted();

/** A cluster that reports these pods of asia-east as ready every second, until it is stopped. */
function startCluster(uid: string, pods: readonly string[]): { stop(): void } {
  const live = new Entries(session, 'live');
  const publish = () => {
    const report: ClusterReport = {
      cluster: 'asia',
      namespace: 'webcapture',
      version: '0.2.0',
      regions: {
        'asia-east': {
          wanted: pods.length,
          asked: pods.length,
          pods: pods.map((name) => ({ name, state: 'ready' })),
          missing: [],
        },
      },
      at: Date.now(),
    };
    void live.put(satelliteKey('asia-east', uid), report, { ttlSeconds: 10 }).catch(() => undefined);
  };
  publish();
  const timer = setInterval(publish, 1000);
  cleanUp.push(async () => clearInterval(timer));
  return { stop: () => clearInterval(timer) };
}

describe('a region of another cluster', { timeout: 120_000 }, () => {
  const untilPending = () =>
    until('a status without the region', async () => {
      const report = await reportOf(session);
      expect(report?.pending?.map(({ name, message }) => [name, message])).toEqual([
        ['engine.asia-east', 'not installed yet: 0 of 1 renderers healthy: none is running'],
      ]);
      expect(report?.overall).toBe('operational');
      expect(await engine('engine')).toMatchObject({
        status: 'operational',
        message: '1 of 1 regions operational; asia-east is not installed yet',
      });
      return true;
    });
  const restart = async () => {
    await controller.stop();
    const stoppedAt = Date.now();
    controller = await TestController.start(env(), { statusMs: 1000 });
    await until('its first status', async () => ((await reportOf(session))?.at ?? 0) > stoppedAt);
  };

  test('is not part of the status until it first works, and always afterwards', async () => {
    await untilShown(session, 'engine.us-east', 'operational');
    await untilPending();
    expect(await engine('engine.asia-east')).toBeUndefined();
    await until('the record to be written', async () => String(await joined()) === 'us-east');
    await restart();
    await untilPending();
    const renderer = addRenderer('asia-east', 'asia-1');
    await untilShown(session, 'engine.asia-east', 'operational');
    expect(await engine('engine')).toMatchObject({ message: '2 of 2 regions operational' });
    await until('the record to be written', async () => String(await joined()) === 'asia-east,us-east');
    await renderer.stop();
    await untilShown(session, 'engine.asia-east', 'major_outage');
    await restart();
    await untilShown(session, 'engine.asia-east', 'major_outage');
    expect((await reportOf(session))?.pending).toEqual([]);
  });
});

describe('a satellite', { timeout: 120_000 }, () => {
  const message = async () => (await engine('engine.asia-east'))?.message;

  test('that was rebuilt replaces its former self within 30 s', async () => {
    const old = startCluster('11111111-old', ['old-1', 'old-2']);
    const renderers = ['old-1', 'old-2'].map((pod) => addRenderer('asia-east', pod));
    await until('both to be healthy', async () => (await message()) === '2 of 2 renderers healthy');
    old.stop();
    for (const renderer of renderers) renderer.die();
    await untilShown(session, 'engine.asia-east', 'major_outage');
    expect(await message()).toContain('the cluster asia has not been heard for');
    startCluster('22222222-new', ['new-1', 'new-2']);
    for (const pod of ['new-1', 'new-2']) addRenderer('asia-east', pod);
    await until('the new ones alone to count', async () => (await message()) === '2 of 2 renderers healthy', {
      deadlineMs: 30_000,
    });
    expect((await reportOf(session))?.clusters).toEqual([
      {
        name: 'asia',
        namespace: 'webcapture',
        version: '0.2.0',
        regions: ['asia-east'],
        silentForMs: null,
        problems: [],
      },
    ]);
  });

  test('with the name of another one is reported in the log, in the status and in the list of clusters', async () => {
    startCluster('33333333-other', ['other-1']);
    addRenderer('asia-east', 'other-1');
    const words = /^2 clusters report under the name asia \(.*22222222.*33333333\); set another cluster\.name/;
    await until('both to count', async () => (await message())?.startsWith('3 of 3 renderers healthy; 2 clusters'));
    const { clusters = [] } = (await reportOf(session)) ?? {};
    expect(clusters.map(({ name, problems }) => [name, problems])).toEqual([
      ['asia', [expect.stringMatching(words)]],
      ['asia', [expect.stringMatching(words)]],
    ]);
    expect((await engine('engine'))?.message).toMatch(/^2 of 2 regions operational; 2 clusters report/);
    expect(controller.lines.filter((line) => words.test(line.message))).toEqual([
      expect.objectContaining({ cluster: 'asia' }),
    ]);
  });
});
