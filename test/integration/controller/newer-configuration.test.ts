import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { type FleetConfig, fleetConfigKey } from '@webcapture/shared/queue/fleet-config.ts';
import { leaderKey } from '../../../services/controller/leader/nats-lease.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { reportOf } from './support/status.ts';
import { TestController } from './support/test-controller.ts';

// As in a rolling update: the old controllers stay until the new ones are ready. The tests follow each other.
let broker: TestBroker;
let session: NatsSession;
let live: Entries;
const running = new Set<TestController>();
beforeAll(async () => {
  broker = await TestBroker.start();
  session = await broker.connect();
  live = new Entries(session, 'live');
});
afterAll(async () => {
  await Promise.all([...running].map((controller) => controller.stop()));
  await broker.stop();
});

async function start(pod: string, regions: string): Promise<TestController> {
  const env = { WEBCAPTURE_NATS_URL: broker.url, WEBCAPTURE_REGIONS: regions, WEBCAPTURE_POD: pod };
  const controller = await TestController.start(env, { vacantMs: 1500 });
  running.add(controller);
  return controller;
}

async function stop(controller: TestController): Promise<void> {
  running.delete(controller);
  await controller.stop();
}

const found = async () => (await live.get<FleetConfig>(fleetConfigKey))?.value;
const leads = async (controller: TestController) => (await controller.metric('webcapture_controller_leader')) === 1;
const isReady = async (controller: TestController) => (await controller.probe('/readyz')) === 200;
const durablesOf = async (region: string) => {
  const all: string[] = [];
  for await (const { name } of session.jsm.consumers.list(streamNames.captures)) all.push(name);
  return all.filter((name) => name.startsWith(region));
};
const componentsOf = async () => (await reportOf(session))?.components.map(({ name }) => name) ?? [];

describe('of the controllers of an installation', { timeout: 90_000 }, () => {
  let old: TestController;
  let another: TestController;
  let newer: TestController;
  let newest: TestController;

  test('one that starts with another configuration leads, and is ready while the old ones stay', async () => {
    old = await start('old', 'us-east:0');
    await until('it to be ready', () => isReady(old));
    another = await start('another', 'us-east:0');
    await until('that to be ready', () => isReady(another));
    newer = await start('newer', 'us-east:0,eu-west:0');
    const started = performance.now();
    await until('it to be ready', () => isReady(newer));
    await until('it to lead', () => leads(newer));
    // An expired lease would take that long.
    expect(performance.now() - started).toBeLessThan(20_000);
    expect((await found())?.values.regions).toBe('eu-west:0,us-east:0');
    await until('the status of the new region', async () => (await componentsOf()).includes('engine.eu-west'));
    expect(await durablesOf('eu-west')).toHaveLength(9);
    const others = [old, another];
    // One that has resigned ends its turn.
    await until('no other one to lead', async () => !(await Promise.all(others.map(leads))).includes(true));
    expect(await Promise.all(others.map(isReady))).toEqual([true, true]);
  });

  test('the old ones do not bring back what the newest one has removed', async () => {
    newest = await start('newest', 'us-west:0');
    await until('it to be ready', () => isReady(newest));
    await until('the queues that are retired to go', async () => (await durablesOf('us-east')).length === 0);
    // Long enough for each of them to miss the queues.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(await durablesOf('us-east')).toEqual([]);
    expect((await found())?.values.regions).toBe('us-west:0');
    // A rolling update ends them, and does not wait for them.
    expect(await Promise.all([old, another, newer].map(isReady))).toEqual([true, true, true]);
  });

  test('when those with the newest configuration are gone, another one leads with its own', async () => {
    await stop(newest);
    await until('one of them to lead', async () =>
      (await Promise.all([old, another, newer].map(leads))).includes(true),
    );
    await until('its queues', async () => (await durablesOf('us-east')).length === 9);
    expect((await found())?.values.regions).toMatch('us-east:0');
  });

  test('one is ready although a leader of version 0.1 stays and overwrites the record', async () => {
    for (const each of [old, another, newer]) await stop(each);
    const record = { ...(await found()), generation: undefined };
    const lead = () =>
      Promise.all([live.put(leaderKey, { holder: 'version 0.1', at: Date.now() }), live.put(fleetConfigKey, record)]);
    await lead();
    const leading = setInterval(() => void lead(), 500);
    onTestFinished(() => clearInterval(leading));
    const next = await start('next', 'us-east:0,asia-east:0');
    await until('it to be ready', () => isReady(next));
    expect(await durablesOf('asia-east')).toHaveLength(9);
    expect(await leads(next)).toBe(false);
    clearInterval(leading);
    await until('it to lead when that one has gone', () => leads(next));
    await until('the record', async () => (await found())?.values.regions === 'asia-east:0,us-east:0');
  });
});
