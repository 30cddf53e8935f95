import { expect, test } from 'vitest';
import { backgroundShards } from '@webcapture/shared/nats/streams.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import { Lanes } from '../../../services/renderer/job/lanes.ts';

/** Queues in memory in place of durables: what is asked here is the order in which lanes are asked. */
function lanesOf(waiting: Record<string, number>) {
  const asked: string[] = [];
  const pull = (_stream: string, durable: string, waitMs: number) => {
    asked.push(waitMs > 0 ? `${durable} waits` : durable);
    const left = waiting[durable] ?? 0;
    if (left === 0) return Promise.resolve(null);
    waiting[durable] = left - 1;
    return Promise.resolve({ subject: durable } as PulledMessage);
  };
  let now = 0;
  const pass = (ms: number) => (now += ms);
  return { lanes: new Lanes(pull, 'us-east', () => now), asked, pass };
}

async function take(lanes: Lanes, count: number): Promise<string[]> {
  const taken: string[] = [];
  for (let index = 0; index < count; index++) taken.push((await lanes.next())?.subject ?? 'none');
  return taken;
}

test('interactive goes before background, but for every eighth turn', async () => {
  const { lanes } = lanesOf({ 'us-east-interactive': 100, 'us-east-background-0': 100 });
  const taken = await take(lanes, 24);
  expect(taken.filter((durable) => durable === 'us-east-background-0')).toHaveLength(3);
  expect(taken.slice(0, 7)).toEqual(Array(7).fill('us-east-interactive'));
});

test('the accounts in the background take turns', async () => {
  const { lanes } = lanesOf({ 'us-east-background-2': 1000, 'us-east-background-5': 3 });
  const taken = await take(lanes, 6);
  expect(taken).toEqual([2, 5, 2, 5, 2, 5].map((shard) => `us-east-background-${shard}`));
});

test('a slot that finds nothing waits on interactive alone', async () => {
  const { lanes, asked } = lanesOf({});
  expect(await lanes.next()).toBeNull();
  expect(asked).toHaveLength(1 + backgroundShards + 1);
  expect(asked.at(-1)).toBe('us-east-interactive waits');
});

test('lanes that were all empty are looked at again only after a while', async () => {
  const waiting: Record<string, number> = {};
  const { lanes, asked, pass } = lanesOf(waiting);
  await lanes.next();
  waiting['us-east-background-3'] = 1;
  asked.length = 0;
  pass(249);
  expect(await lanes.next()).toBeNull();
  expect(asked).toEqual(['us-east-interactive', 'us-east-interactive waits']);
  pass(1);
  expect((await lanes.next())?.subject).toBe('us-east-background-3');
});
