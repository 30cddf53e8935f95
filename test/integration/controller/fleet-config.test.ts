import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { FleetConfigCheck, fleetConfigKey } from '@webcapture/shared/queue/fleet-config.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { until } from '../../harness/until.ts';
import { type LogLine, recordingLog } from './support/recording-log.ts';
import type { TestController } from './support/test-controller.ts';
import { isReady, leads, useControllers } from './support/test-controllers.ts';

// One server, with controllers that start and stop. The tests depend on their order.
const { session, live, start, stop, found } = useControllers();

/** The byte limit of the files. It shows which controller has configured the streams last. */
const filesLimit = async () => (await session().jsm.streams.info(streamNames.files)).config.max_bytes;
const mebibyte = 1024 * 1024;
const limited = (mebibytes: number) => ({ WEBCAPTURE_FILES_MAX_BYTES: String(mebibytes * mebibyte) });

describe('the configuration of the fleet', { timeout: 90_000 }, () => {
  let hub: TestController;

  test('is written by the leader from its variables', async () => {
    hub = await start('hub', limited(8));
    await until('the record', found);
    expect(await found()).toMatchObject({
      format: 1,
      hub: { id: 'without a cluster', name: 'hub', version },
      values: { regions: 'us-east:0', storage: 'nats', streamReplicas: '1', cdnUrl: 'http://localhost:3000/files' },
    });
    await until('it to be ready', () => isReady(hub));
    expect(await filesLimit()).toBe(8 * mebibyte);
  });

  test('is changed by the installation that it belongs to', async () => {
    await stop(hub);
    hub = await start('hub', { ...limited(16), WEBCAPTURE_REGIONS: 'us-east:0,eu-west:0' });
    await until('the change', async () => (await found())?.values.regions === 'eu-west:0,us-east:0');
    await until('the streams to follow', async () => (await filesLimit()) === 16 * mebibyte);
    await until('the durables, too', () => session().jsm.consumers.info(streamNames.captures, 'eu-west-interactive'));
  });

  test('of another installation is not changed: the controller does not lead, and says why', async () => {
    const record = await found();
    await stop(hub);
    const before = await session().jsm.streams.info(streamNames.files);
    // The record looks as if it belonged to the installation of another cluster.
    if (record === undefined) throw new Error('there is no record');
    const theirs = { ...record, hub: { ...record.hub, id: 'their uid', name: 'webcapture/wc' } };
    await live().put(fleetConfigKey, theirs);
    // The values differ: more regions, and other limits.
    const second = await start('second', { ...limited(4), WEBCAPTURE_REGIONS: 'us-east:0,us-west:0' });
    const warnings = () => second.lines.filter(({ message }) => message.includes('differs from that of the fleet'));
    await until('it to warn', () => warnings().length > 0);
    // Within this time, an election or a change of the streams would happen.
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(await leads(second)).toBe(false);
    expect(await (await fetch(`${second.opsUrl}/readyz`)).text()).toContain(
      'this fleet belongs to the installation webcapture/wc (their uid), whose configuration differs in regions, streamMaxBytes',
    );
    expect(warnings()).toHaveLength(1);
    expect(await second.metric('webcapture_fleet_config_mismatch{field="regions"}')).toBe(1);
    expect(await second.metric('webcapture_fleet_config_mismatch{field="cdnUrl"}')).toBe(0);
    expect(await found()).toEqual(theirs);
    expect((await session().jsm.streams.info(streamNames.files)).config).toEqual(before.config);
    const durables = (await session().jsm.consumers.list(streamNames.captures).next()).map(({ name }) => name);
    expect(durables.filter((name) => name.startsWith('us-west'))).toEqual([]);
    expect(durables).toContain('eu-west-interactive');

    // Only the hub repairs a consumer that was deleted by hand.
    await session().jsm.consumers.delete(streamNames.captures, 'eu-west-interactive');
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await expect(session().jsm.consumers.info(streamNames.captures, 'eu-west-interactive')).rejects.toThrow();
    await stop(second);
  });

  test('of another installation with the same values is not changed, but the controller may lead', async () => {
    const record = await found();
    const same = await start('same', { ...limited(16), WEBCAPTURE_REGIONS: 'us-east:0,eu-west:0' });
    await until('it to lead', () => leads(same));
    await until('the durable to be back', () =>
      session().jsm.consumers.info(streamNames.captures, 'eu-west-interactive'),
    );
    expect(await found()).toEqual(record);
    await stop(same);
  });

  test('causes one warning in a service that differs, however often it is read', async () => {
    const lines: LogLine[] = [];
    const registry = new Registry();
    const own = { regions: 'us-east:0', storage: 'nats', cdnUrl: 'https://cdn.test' };
    const check = new FleetConfigCheck(own, { registry, log: recordingLog(lines) });
    const stop = new AbortController();
    const following = check.follow(live(), stop.signal);
    await until('it to warn', () => lines.length > 0);
    check.compare((await found()) ?? null);
    stop.abort();
    await following;
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      [
        'warn',
        'the configuration differs from that of the fleet: regions is us-east:0 here and eu-west:0,us-east:0 in the fleet; cdnUrl is https://cdn.test here and http://localhost:3000/files in the fleet',
      ],
    ]);
    const metrics = await registry.metrics();
    for (const [field, value] of Object.entries({ regions: 1, cdnUrl: 1, storage: 0 })) {
      expect(metrics).toContain(`webcapture_fleet_config_mismatch{field="${field}"} ${value}`);
    }
  });

  test('is taken over by the first leader after its record was deleted', async () => {
    await live().delete(fleetConfigKey);
    const next = await start('next', limited(16));
    await until('the record', found);
    expect((await found())?.hub).toMatchObject({ id: 'without a cluster', name: 'next' });
    await stop(next);
  });
});
