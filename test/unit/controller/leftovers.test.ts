import { randomUUIDv7 } from 'node:crypto';
import { expect, test } from 'vitest';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { newCanary } from '../../../services/controller/chores/canary-job.ts';
import { removeOldCanaries } from '../../../services/controller/chores/old-canaries.ts';
import { removeRetiredDurables } from '../../../services/controller/chores/retired-durables.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { queueCapture } from './support/jobs.ts';
import { useSettling } from './support/settling.ts';

const on = useSettling();

test('the durables of a region that was removed go once they are empty', async () => {
  const names = async () => {
    const all: string[] = [];
    for await (const { name } of on().session.jsm.consumers.list(streamNames.captures)) all.push(name);
    return all.filter((name) => name.startsWith('eu-west'));
  };
  const waits = await queueCapture(on().session, { region: 'eu-west' });
  await removeRetiredDurables(on().session, ['us-east'], silentLog);
  expect(await names()).toEqual(['eu-west-interactive']);
  // Held by a renderer, and so not empty either.
  const message = await pullOne(on().session.nc, streamNames.captures, 'eu-west-interactive', 5000);
  await removeRetiredDurables(on().session, ['us-east'], silentLog);
  expect(await names()).toEqual(['eu-west-interactive']);
  await message?.ack();
  await removeRetiredDurables(on().session, ['us-east'], silentLog);
  expect(await names()).toEqual([]);
  expect((await waits.record())?.status).toBe('queued');
});

test('canaries that a dead controller left behind are removed, newer ones are not', async () => {
  const leave = async (ageMs: number) => {
    const { record } = newCanary('us-east', 1000, 'nowhere');
    const time = (Date.now() - ageMs).toString(16).padStart(12, '0');
    const uuid = `${time.slice(0, 8)}-${time.slice(8)}${randomUUIDv7().slice(13)}`;
    await on().captures.create({ ...record, uuid });
    return uuid;
  };
  const [old, young] = [await leave(3_600_000), await leave(1000)];
  await removeOldCanaries(on().session, on().captures);
  expect(await on().captures.get('system', old)).toBeNull();
  expect(await on().captures.get('system', young)).not.toBeNull();
});
