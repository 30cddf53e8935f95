import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { QueueFacts } from '../../../services/controller/health/facts.ts';
import { Provisioner } from '../../../services/controller/provisioner.ts';
import { type LogLine, recordingLog } from '../../integration/controller/support/recording-log.ts';

const rights = { leads: true, mayBootstrap: true, mayAdd: true };
const reading = (...missing: string[]): QueueFacts => ({
  kind: 'answered',
  roundTripMs: 1,
  missing,
  waiting: {},
  shards: {},
  retired: {},
  results: null,
});

/** A provisioner whose attempts end as `attempt` defines, at the times of `clock`. */
function start(attempt: () => Promise<void>) {
  const lines: LogLine[] = [];
  const clock = { now: 0 };
  const steps = { provision: attempt, bootstrap: attempt, addDurables: attempt };
  const provisioner = new Provisioner(steps, recordingLog(lines), () => clock.now);
  /** Makes readings until the time, 400 ms apart, as often as the controller makes them. */
  const readUntil = async (endMs: number, ...missing: string[]) => {
    for (; clock.now < endMs; clock.now += 400) {
      provisioner.heal(reading(...missing), rights);
      await setImmediate();
    }
  };
  const messages = () => lines.splice(0).map(({ level, message }) => `${level}: ${message}`);
  return { provisioner, readUntil, messages, lines };
}

const info = 'info: provisioning missing streams and consumers';
const refused = (words: string) => `warn: provisioning of streams and consumers failed: ${words}; retrying`;

test("a refusal is logged once a minute with the server's words, and is the reason for which the controller is not ready", async () => {
  const { provisioner, readUntil, messages, lines } = start(() => Promise.reject(new Error('insufficient storage')));
  expect(provisioner.obstacle).toBe('streams and consumers are being provisioned');
  await readUntil(1000, 'FILES', 'DEAD');
  expect(lines.at(-1)).toMatchObject({ missing: 2, first: 'FILES', err: { message: 'insufficient storage' } });
  expect(messages()).toEqual([info, refused('insufficient storage')]);
  expect(provisioner.obstacle).toBe(
    'streams and consumers are being provisioned; the last attempt failed: insufficient storage',
  );
  await readUntil(60_000, 'FILES', 'DEAD');
  expect(messages()).toEqual([]);
  await readUntil(180_000, 'FILES', 'DEAD');
  expect(messages()).toEqual([refused('insufficient storage'), refused('insufficient storage')]);
});

test('another refusal is logged at once, also if two alternate', async () => {
  let attempts = 0;
  const { readUntil, messages } = start(() => Promise.reject(new Error(attempts++ % 2 === 0 ? 'one' : 'other')));
  await readUntil(50_000, 'FILES');
  expect(messages()).toEqual([info, refused('one'), refused('other')]);
});

test('attempts that succeed without an effect are logged once a minute, and a success ends the obstacle', async () => {
  let works = false;
  const { provisioner, readUntil, messages } = start(async () => {
    if (!works) throw new Error('no space');
  });
  await readUntil(1000, 'FILES');
  works = true;
  await readUntil(2000, 'FILES');
  expect(provisioner.obstacle).toBe('streams and consumers are being provisioned');
  expect(messages()).toEqual([info, refused('no space')]);
  await readUntil(119_000, 'FILES');
  expect(messages()).toEqual([info]);
  await readUntil(300_000);
  expect(messages()).toEqual([]);
  expect(provisioner.complete).toBe(true);
});
