// @module-tag long
import { describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { until } from '../../harness/until.ts';
import { reportOf } from './support/status.ts';
import type { TestController } from './support/test-controller.ts';
import { isReady, leads, useControllers } from './support/test-controllers.ts';

// The old controllers stay until the new ones are ready, as in a rolling update. The tests depend on their order.
const { session, start, stop, found } = useControllers({ vacantMs: 1500 });
const durablesOf = async (region: string) => {
  const all: string[] = [];
  for await (const { name } of session().jsm.consumers.list(streamNames.captures)) all.push(name);
  return all.filter((name) => name.startsWith(region));
};
const componentsOf = async () => (await reportOf(session()))?.components.map(({ name }) => name) ?? [];

describe('among the controllers of an installation', { timeout: 90_000 }, () => {
  let old: TestController;
  let another: TestController;
  let newer: TestController;
  let newest: TestController;

  test('one that starts with a new configuration leads, and is ready while the old ones stay', async () => {
    old = await start('old', { WEBCAPTURE_REGIONS: 'us-east:0' });
    await until('it to be ready', () => isReady(old));
    another = await start('another', { WEBCAPTURE_REGIONS: 'us-east:0' });
    await until('that to be ready', () => isReady(another));
    newer = await start('newer', { WEBCAPTURE_REGIONS: 'us-east:0,eu-west:0' });
    const started = performance.now();
    await until('it to be ready', () => isReady(newer));
    await until('it to lead', () => leads(newer));
    // Waiting for an expired lease would take this time.
    expect(performance.now() - started).toBeLessThan(20_000);
    expect((await found())?.values.regions).toBe('eu-west:0,us-east:0');
    await until('the status of the new region', async () => (await componentsOf()).includes('engine.eu-west'));
    expect(await durablesOf('eu-west')).toHaveLength(9);
    const others = [old, another];
    // A controller that has resigned still has to end its term.
    await until('no other one to lead', async () => !(await Promise.all(others.map(leads))).includes(true));
    expect(await Promise.all(others.map(isReady))).toEqual([true, true]);
  });

  test('the old ones do not restore what the newest one has removed', async () => {
    newest = await start('newest', { WEBCAPTURE_REGIONS: 'us-west:0' });
    await until('it to be ready', () => isReady(newest));
    await until('the queues that are retired to go', async () => (await durablesOf('us-east')).length === 0);
    // Within this time, each old controller detects the missing queues.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(await durablesOf('us-east')).toEqual([]);
    expect((await found())?.values.regions).toBe('us-west:0');
    // A rolling update stops the old controllers, without waiting for them to become ready.
    expect(await Promise.all([old, another, newer].map(isReady))).toEqual([true, true, true]);
  });

  test('another one leads with its configuration after those with the newest one are gone', async () => {
    await stop(newest);
    await until('one of them to lead', async () =>
      (await Promise.all([old, another, newer].map(leads))).includes(true),
    );
    await until('its queues', async () => (await durablesOf('us-east')).length === 9);
    expect((await found())?.values.regions).toMatch('us-east:0');
  });
});
