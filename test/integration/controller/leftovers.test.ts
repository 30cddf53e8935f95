import { expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { removeRetiredDurables } from '../../../services/controller/provisioner.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';
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
  expect(await waits.record()).toBeNull();
});
