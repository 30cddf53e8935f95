import { beforeEach, describe, expect, test } from 'vitest';
import { begin } from '@webcapture/shared/captures/transitions.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { captureDurable, durableOfSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { fleetConfigKey } from '@webcapture/shared/queue/fleet-config.ts';
import { fleetKey } from '@webcapture/shared/queue/heartbeat.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import { backgroundShardOf } from '@webcapture/shared/queue/jobs.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import { RetiredRegions, type RetiredRegionsDeps } from '../../../services/controller/recovery/retired-regions.ts';
import { provision } from '../../../services/controller/streams.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { newRecord } from '../../harness/records.ts';
import { heartbeat } from './support/facts.ts';
import { queueCapture } from './support/jobs.ts';
import { queueRefresh } from './support/refreshes.ts';
import { useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();
const removed = { region: 'eu-west' } as const;
const inBackground = { ...removed, priority: 'background' } as const;
const always = { holds: () => true };
const failure = {
  code: 'REGION_UNAVAILABLE',
  message:
    'The region eu-west is no longer part of this installation. Send the request again with another region, or with auto.',
  cause: 'service',
};

const live = () => new Entries(on().session, 'live');
const retired = (changes: Partial<RetiredRegionsDeps> = {}) =>
  new RetiredRegions({
    ...on(),
    live: live(),
    regions: ['us-east'],
    fleet: new Fleet(),
    isFleetKnown: () => true,
    log: silentLog,
    ...changes,
  });
const fleetWith = (fields: Partial<RendererHeartbeat>) => {
  const fleet = new Fleet();
  fleet.apply(fleetKey('eu-west', 'one'), heartbeat('one', { region: 'eu-west', ...fields }), 1);
  return fleet;
};
const durablesOf = async (region: string) => {
  const all: string[] = [];
  for await (const { name } of on().session.jsm.consumers.list(streamNames.captures)) all.push(name);
  return all.filter((name) => name.startsWith(region));
};
const tasksOf = async (kind: string) => {
  const { state } = await on().session.jsm.streams.info(streamNames.tasks, { subjects_filter: `tasks.${kind}.>` });
  return Object.keys(state.subjects ?? {});
};

beforeEach(async () => {
  const { jsm } = on().session;
  await jsm.streams.purge(streamNames.tasks);
  await provision(jsm, streamSettings, ['us-east', 'eu-west']);
  await live().delete(fleetConfigKey);
});

describe('captures of a region that was removed', () => {
  test('fail at once without a charge, with their webhook, and those of other regions stay', async () => {
    const { usage } = tasking(on());
    const background = await queueCapture(on().session, { ...inBackground, account: 'removed' });
    const interactive = await queueCapture(on().session, { ...removed, account: 'removed' });
    const other = await queueCapture(on().session, { priority: 'background' });
    const hooked = newRecord({
      region: 'eu-west',
      priority: 'background',
      webhook: { url: 'https://hook.test/', state: 'waiting', attempts: 0 },
    });
    await on().captures.create(hooked);

    await on().jobs.publish(jobOf(hooked, 0));

    const { nc } = on().session;
    const replies = nc.subscribe(interactive.job.reply?.subject ?? '');
    await retired().settle(always);
    await nc.flush();
    // Renderers cannot report this failure, so the front reads the record.
    expect(replies.getReceived()).toBe(0);
    replies.unsubscribe();
    for (const record of [await background.record(), await interactive.record()]) {
      expect(record).toMatchObject({ status: 'failed', failure });
    }
    expect(await usage('removed')).toEqual({ tokens: 0, captures: 0, reserved: 0, queued: 0 });
    expect((await on().captures.get(hooked.account, hooked.uuid))?.value).toMatchObject({
      failure,
      webhook: { state: 'pending', event: 'capture.failed' },
    });
    expect(await tasksOf('webhook')).toEqual([expect.stringContaining(hooked.uuid)]);
    expect((await other.record())?.status).toBe('queued');
    expect([await on().waiting(), await on().settled('region_removed')]).toEqual([1, 3]);
    expect([await durablesOf('eu-west'), (await durablesOf('us-east')).length]).toEqual([[], 9]);
  });

  test('fail even if their queue is missing or long, or their jobs have another version', async () => {
    await on().session.jsm.consumers.delete(streamNames.captures, captureDurable('eu-west', 'interactive'));
    const late = await queueCapture(on().session, removed);
    const unknown = await queueCapture(on().session, { ...inBackground, version: 99 });
    const many = await Promise.all(Array.from({ length: 130 }, () => queueCapture(on().session, inBackground)));
    await on().session.js.publish('captures.eu-west.interactive', 'no job');
    // Without a queue, no renderer can get the job.
    await retired({ fleet: fleetWith({}) }).settle(always);
    expect([(await late.record())?.failure, (await unknown.record())?.status]).toEqual([failure, 'queued']);
    await retired().settle(always);
    for (const each of [late, unknown, many[0], many[129]]) expect((await each?.record())?.failure).toEqual(failure);
    expect(await on().waiting()).toBe(0);
  });

  test('are settled once if the leader dies in the middle', async () => {
    const first = await queueCapture(on().session, inBackground);
    const second = await queueCapture(on().session, inBackground);
    const dies = async () => Promise.reject(new Error('the leader has died'));
    await retired({ jobs: fake({ remove: dies }) }).settle(always);
    expect(await on().waiting()).toBe(2);
    await retired().settle({ holds: () => false });
    expect(await on().waiting()).toBe(2);
    await retired().settle(always);
    expect([await on().waiting(), await on().settled('region_removed')]).toEqual([0, 2]);
    expect([(await first.record())?.failure, (await second.record())?.failure]).toEqual([failure, failure]);
  });

  test('wait while renderers of the region accept captures, or the fleet is unknown', async () => {
    const waits = await queueCapture(on().session, inBackground);
    await retired({ fleet: fleetWith({}) }).settle(always);
    await retired({ isFleetKnown: () => false }).settle(always);
    expect((await waits.record())?.status).toBe('queued');
    expect((await durablesOf('eu-west')).length).toBe(9);
  });

  test('that a renderer has taken are left to it until the last renderer is gone', async () => {
    const held = await queueCapture(on().session, inBackground);
    const waits = await queueCapture(on().session, inBackground);
    const durable = captureDurable('eu-west', 'background', backgroundShardOf('acme', 8));
    await pullOne(on().session.nc, streamNames.captures, durable, 5000);
    await on().captures.change(held.job, begin(0));
    await retired({ fleet: fleetWith({ draining: true }) }).settle(always);
    expect((await held.record())?.status).toBe('rendering');
    expect((await waits.record())?.failure).toEqual(failure);
    expect(await durablesOf('eu-west')).toEqual([durable]);
    await retired().settle(always);
    expect((await held.record())?.failure).toEqual(failure);
    expect(await durablesOf('eu-west')).toEqual([]);
  });

  test('stay if a newer configuration of the fleet has the region again', async () => {
    const waits = await queueCapture(on().session, inBackground);
    await live().put(fleetConfigKey, { values: { regions: 'eu-west:1,us-east:1' } });
    await retired().settle(always);
    await retired().removeQueues(always);
    expect((await waits.record())?.status).toBe('queued');
    expect((await durablesOf('eu-west')).length).toBe(9);
  });

  test('fail as refreshes without a charge, and their captures stay', async () => {
    const { usage } = tasking(on());
    const refresh = await queueRefresh(on(), 'refreshed');
    await retired({ regions: ['eu-west'] }).settle(always);
    expect(await refresh.record()).toMatchObject({
      status: 'completed',
      refresh: { revision: 1, state: 'failed', failure: { code: 'REGION_UNAVAILABLE', cause: 'service' } },
    });
    expect(await usage('refreshed')).toEqual({ tokens: 2, captures: 1, reserved: 0, queued: 0 });
  });
});

test('the consumers of a removed region are deleted once they are empty', async () => {
  await queueCapture(on().session, removed);
  await retired().removeQueues(always);
  const durable = durableOfSubject('captures.eu-west.interactive');
  expect(await durablesOf('eu-west')).toEqual([durable]);
  // A job that a renderer holds also keeps the consumer.
  const message = await pullOne(on().session.nc, streamNames.captures, durable, 5000);
  await retired().removeQueues(always);
  expect(await durablesOf('eu-west')).toEqual([durable]);
  await message?.ack();
  await retired().removeQueues({ holds: () => false });
  expect(await durablesOf('eu-west')).toEqual([durable]);
  await retired().removeQueues(always);
  expect(await durablesOf('eu-west')).toEqual([]);
});
