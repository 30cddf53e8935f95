import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import type { LeaderRecord } from '../../../services/controller/leader/lease.ts';
import { ServicePart } from '../../harness/part.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { reportOf } from './support/status.ts';

let broker: TestBroker;
let session: NatsSession;
let parts: ServicePart[];
beforeAll(async () => {
  broker = await TestBroker.start();
  session = await broker.connect();
  const env = { PATH: process.env['PATH'], WEBCAPTURE_NATS_URL: broker.url, WEBCAPTURE_REGIONS: 'us-east:0' };
  parts = await Promise.all(['a', 'b'].map((name) => ServicePart.prepare(`controller-${name}`, 'controller', env)));
  await Promise.all(parts.map((part) => part.start()));
});
afterAll(async () => {
  await Promise.all(parts.map((part) => part.stop()));
  await broker.stop();
});

const holder = async () => (await new Entries(session, 'live').get<LeaderRecord>('leader'))?.value.holder.split('/')[0];
const leadsByItself = async (part: ServicePart) => /^webcapture_controller_leader\{.*\} 1$/m.test(await part.metrics());
const leader = async () => {
  const name = await until('a leader', holder);
  const part = parts.find((candidate) => candidate.name === name);
  const other = parts.find((candidate) => candidate.name !== name);
  if (part === undefined || other === undefined) throw new Error(`${name} leads, which is none of ours`);
  await until(`${name} to know that it leads`, () => leadsByItself(part));
  return { part, other };
};
const measured = (what: string, ms: number) => process.stdout.write(`${what}: ${(ms / 1000).toFixed(1)} s\n`);

/** Waits until `successor` has taken over and said so; returns how long that took. */
async function takeover(successor: ServicePart): Promise<number> {
  const start = performance.now();
  const since = Date.now();
  await until('the successor to lead', async () => (await holder()) === successor.name);
  const took = performance.now() - start;
  await until('its first word', async () => ((await reportOf(session))?.at ?? 0) > since + took - 1000);
  return took;
}

test('a leader that is paused is succeeded, and does not act when it wakes up', async () => {
  const { part, other } = await leader();
  part.signal('SIGSTOP');
  try {
    const took = await takeover(other);
    measured('leader paused, succeeded', took);
    expect(took).toBeLessThan(10_000);
  } finally {
    part.signal('SIGCONT');
  }
  await until('it to know that it no longer leads', async () => !(await leadsByItself(part)));
  expect(await leadsByItself(other)).toBe(true);
  expect(await holder()).toBe(other.name);
});

test('a leader that is killed is succeeded within 10 s', async () => {
  const { part, other } = await leader();
  await part.kill('SIGKILL');
  const took = await takeover(other);
  measured('leader killed, succeeded', took);
  expect(took).toBeLessThan(10_000);
  await part.start();
});

test('a leader that is stopped is succeeded at once, and ends with code 0', async () => {
  const { part, other } = await leader();
  const start = performance.now();
  const ended = part.kill('SIGTERM');
  await until('the successor to lead', async () => (await holder()) === other.name);
  const took = performance.now() - start;
  measured('leader stopped, succeeded', took);
  expect(took).toBeLessThan(3000);
  expect((await ended).code).toBe(0);
});
