// @module-tag long
import { afterAll, describe, expect, test } from 'vitest';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import type { LeaderRecord } from '../../../services/controller/leader/nats-lease.ts';
import { fleetLeaseTimes } from '../../../services/controller/times.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { reportOf } from './support/status.ts';

const cleanUp: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const step of cleanUp.toReversed()) await step();
});

/** Starts a server and two controller processes, one of which leads. */
async function startPair() {
  const broker = await TestBroker.start();
  cleanUp.push(() => broker.stop());
  const session = await broker.connect();
  const env = { PATH: process.env['PATH'], WEBCAPTURE_NATS_URL: broker.url, WEBCAPTURE_REGIONS: 'us-east:0' };
  const parts = await Promise.all(['a', 'b'].map((name) => ServiceProcess.prepare(name, 'controller', env)));
  for (const part of parts) cleanUp.push(() => part.stop());
  await Promise.all(parts.map((part) => part.start()));

  const holder = async () =>
    (await new Entries(session, 'live').get<LeaderRecord>('leader'))?.value.holder.split('/')[0];
  const leads = async (part: ServiceProcess) => /^webcapture_controller_leader\{.*\} 1$/m.test(await part.metrics());
  return {
    holder,
    /** Whether a controller leads according to its own metrics. */
    leads,
    leader: async () => {
      const name = await until('a leader', holder);
      const [part, other] = parts.toSorted((a, b) => Number(b.name === name) - Number(a.name === name));
      if (part === undefined || other === undefined) throw new Error('there are no two');
      await until(`${name} to know that it leads`, () => leads(part));
      return { part, other };
    },
    /** Waits until `successor` leads and has written a report; returns how long it took to lead. */
    takeover: async (successor: ServiceProcess) => {
      const start = performance.now();
      await until('the successor to lead', async () => (await holder()) === successor.name);
      const took = performance.now() - start;
      const since = Date.now();
      await until('a newer report', async () => ((await reportOf(session))?.at ?? 0) > since - 1000);
      return took;
    },
  };
}

const measured = (what: string, ms: number) => process.stdout.write(`${what}: ${(ms / 1000).toFixed(1)} s\n`);

/** The configured times allow less than 10 s; a busy machine may need longer. */
const patientMs = 20_000;

test('the times of the lease let a successor begin within 10 s', () => {
  expect(fleetLeaseTimes.ttlMs + fleetLeaseTimes.pollMs + 2 * fleetLeaseTimes.requestMs).toBeLessThan(10_000);
});

describe.concurrent('two controllers', { timeout: 150_000 }, () => {
  test('replace a paused leader, which does not act when it resumes', async () => {
    const pair = await startPair();
    const { part, other } = await pair.leader();
    part.signal('SIGSTOP');
    try {
      const took = await pair.takeover(other);
      measured('leader paused, succeeded', took);
      expect(took).toBeLessThan(patientMs);
    } finally {
      part.signal('SIGCONT');
    }
    await until('it to know that it no longer leads', async () => !(await pair.leads(part)));
    expect(await pair.leads(other)).toBe(true);
    expect(await pair.holder()).toBe(other.name);
  });

  test('replace a killed leader soon, and a stopped one at once', async () => {
    const pair = await startPair();
    const { part, other } = await pair.leader();
    await part.kill('SIGKILL');
    const took = await pair.takeover(other);
    measured('leader killed, succeeded', took);
    expect(took).toBeLessThan(patientMs);

    await part.start();
    const start = performance.now();
    const ended = other.kill('SIGTERM');
    await until('the successor to lead', async () => (await pair.holder()) === part.name);
    const tookOver = performance.now() - start;
    measured('leader stopped, succeeded', tookOver);
    expect((await ended).code).toBe(0);
    // The successor did not have to wait for the lease to expire.
    expect(other.logs()).toContain('released the leadership of the fleet');
  });
});
