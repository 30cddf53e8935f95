// @module-tag long
import { readFile } from 'node:fs/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { sendEvent } from '../../../services/controller/jobs/webhooks/send.ts';
import { until } from '../../harness/until.ts';
import { publicAddress } from '../egress/sites.ts';
import { startReceiver, type Receiver } from './receiver.ts';

const receivers: Receiver[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

const policy = createEgressPolicy({
  allow: [`${publicAddress}/32`],
  lookup: async () => [{ address: publicAddress, family: 4 }],
});

/** A delivery that is still waiting after 9,999 ms on the clock of its process. */
async function deliverSlowly() {
  const answers: (() => void)[] = [];
  const receiver = await startReceiver(publicAddress, (response) => void answers.push(() => response.end()));
  receivers.push(receiver);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const delivering = sendEvent(`http://hooks.example:${receiver.port}/`, { headers: {}, body: '{}' }, { policy });
  const answer = await until('the event to be there', () => answers[0]);
  await vi.advanceTimersByTimeAsync(9999);
  return { delivering, answer, receiver };
}

test('a response after 9,999 ms counts', async () => {
  const { delivering, answer } = await deliverSlowly();
  answer();
  expect(await delivering).toEqual({ delivered: true, status: 200 });
});

test('a response after 10,000 ms is too late', async () => {
  const { delivering, receiver } = await deliverSlowly();
  expect(receiver.open()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await delivering).toMatchObject({ delivered: false, gone: false, reason: 'no answer within 10 s' });
  await until('the connection to be cut', () => receiver.open() === 0);
});

test('the API guide has the same 10 seconds', async () => {
  const guide = await readFile(new URL('../../../docs/api.md', import.meta.url), 'utf8');
  expect(guide).toContain('with any 2xx status within 10 seconds');
});
