import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ComponentHistory, historyKey } from '@webcapture/shared/statistics/component-history.ts';
import type { StatusReport, StatusValue } from '@webcapture/shared/api/status.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { StatusHistory } from '../../../services/controller/health/status-history.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { userOf } from '../../harness/nats-users.ts';
import { until } from '../../harness/until.ts';
import { quietReport } from '../../harness/quiet-report.ts';

const minute = 60_000;
const start = Date.parse('2026-03-10T12:00:00Z');
let now = start;

let nats: TestNats;
/** The connection has the rights of a controller. */
let session: NatsSession;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  const { WEBCAPTURE_NATS_USER: user, WEBCAPTURE_NATS_PASSWORD: password } = userOf('controller');
  const { hostname, port } = new URL(nats.url);
  session = await connectNats({
    url: `nats://${hostname}:${port}`,
    user: user ?? '',
    password: password ?? '',
    inboxPrefix: '_INBOX.controller',
    name: 'controller',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
});
afterAll(async () => {
  await session.nc.close();
  await nats[Symbol.asyncDispose]();
});
beforeEach(async () => {
  now = start;
  await nats.session.jsm.streams.purge('KV_db');
  await nats.session.jsm.streams.purge('KV_live');
});

const names = ['queue', 'storage', 'engine', 'engine.us-east'];

/** Returns a status with these states; other components are operational. Storage and regions were last read `unheardMs` ago. */
function report(states: Readonly<Record<string, StatusValue>> = {}, unheardMs = 0): StatusReport {
  const components = names.map((name) => {
    const status = states[name] ?? 'operational';
    const readAt = ['queue', 'engine'].includes(name) ? now : now - unheardMs;
    return { name, status, message: `${name} is ${status}`, lastCheckedAt: new Date(readAt).toISOString() };
  });
  return { ...quietReport, components, at: now };
}

class Controller {
  leads = true;
  /** The answer of the lease store when the lease is confirmed. */
  isConfirmed = true;
  readonly history = new StatusHistory({
    db: new Entries(session, 'db'),
    live: new Entries(session, 'live'),
    lease: { confirm: async () => (this.leads &&= this.isConfirmed) },
    now: () => now,
    intervalMs: 0,
    minIntervalMs: 0,
  });

  observe(minutes: number, states?: Readonly<Record<string, StatusValue>>): void {
    for (const end = now + minutes * minute; now < end; now += minute / 4) this.history.observe(report(states), now);
  }

  write(): Promise<void> {
    return this.history.write({ holds: () => this.leads });
  }
}

const stored = async (name: string) =>
  (await new Entries(nats.session, 'db').get<ComponentHistory>(historyKey(name)))?.value;
/** The stored seconds in operation and in other states, and the incidents. */
async function summary(name: string) {
  const history = await stored(name);
  const [up = 0, ...others] = (history?.days ?? []).reduce<number[]>(
    (sums, { ms }) => ms.map((each, index) => (sums[index] ?? 0) + each / 1000),
    [],
  );
  return {
    up,
    down: others.reduce((sum, each) => sum + each, 0),
    incidents: history?.incidents.map(({ startedAt, endedAt, message }) => [
      (startedAt - start) / minute,
      endedAt === null ? null : (endedAt - start) / minute,
      message,
    ]),
  };
}

test('a transition is an incident with start, end and message', async () => {
  const controller = new Controller();
  controller.observe(2);
  controller.observe(3, { 'engine.us-east': 'major_outage' });
  await controller.write();
  const message = 'engine.us-east is major_outage';
  expect((await summary('engine.us-east')).incidents).toEqual([[2, null, message]]);
  controller.observe(2);
  await controller.write();
  expect(await summary('engine.us-east')).toEqual({ up: 225, down: 180, incidents: [[2, 5, message]] });
  expect(await summary('queue')).toEqual({ up: 405, down: 0, incidents: [] });
});

test('the history is written after a change, and otherwise at an interval', async () => {
  const live = new Entries(session, 'live');
  const rare = new StatusHistory({
    db: new Entries(session, 'db'),
    live,
    lease: { confirm: async () => true },
    now: () => now,
    minIntervalMs: 0,
  });
  const term = { holds: () => true };
  const writes = async () => (await nats.session.jsm.streams.info('KV_db')).state.last_seq;
  const before = await writes();
  for (let round = 0; round < 30; round++, now += 1000) {
    rare.observe(report(), now);
    await rare.write(term);
  }
  expect((await writes()) - before).toBe(names.length);
  rare.observe(report({ queue: 'degraded_performance' }), now);
  await rare.write(term);
  expect((await writes()) - before).toBe(names.length + 1);
});

describe('another leader', () => {
  test('that has observed the same knows everything, and an open incident stays open', async () => {
    const [former, successor] = [new Controller(), new Controller()];
    const both = async (minutes: number, states?: Readonly<Record<string, StatusValue>>) => {
      const from = now;
      former.observe(minutes, states);
      now = from;
      successor.observe(minutes, states);
    };
    await both(2);
    await both(2, { queue: 'degraded_performance' });
    await former.write();
    // The former leader no longer writes this change.
    await both(2, { storage: 'major_outage' });
    await successor.write();
    expect((await summary('queue')).incidents).toEqual([[2, 4, 'queue is degraded_performance']]);
    expect((await summary('storage')).incidents).toEqual([[4, null, 'storage is major_outage']]);
    expect((await summary('engine')).up).toBe(345);
  });

  test('refuses a late write of the former one, which then writes nothing more', async () => {
    const [former, successor] = [new Controller(), new Controller()];
    former.observe(2);
    await former.write();
    former.observe(1, { queue: 'major_outage' });
    now -= minute;
    successor.observe(3);
    await successor.write();
    former.isConfirmed = false;
    await former.write();
    await former.write();
    expect(former.leads).toBe(false);
    expect(await summary('queue')).toEqual({ up: 285, down: 0, incidents: [] });
  });

  test('adds to a late write of the former one', async () => {
    const [former, successor] = [new Controller(), new Controller()];
    successor.observe(2);
    await successor.write();
    now = start;
    former.observe(3, { queue: 'major_outage' });
    await former.write();
    successor.observe(1);
    // The first write has a conflict, after which the stored history is read.
    await successor.write();
    await successor.write();
    const { incidents } = await summary('queue');
    expect(incidents).toEqual([[1.75, 3, 'queue is major_outage']]);
  });
});

describe('a controller that restarts', () => {
  test('soon continues from the last status of its predecessor, and an incident stays open', async () => {
    const before = new Controller();
    before.observe(2);
    before.observe(1, { 'engine.us-east': 'partial_outage' });
    await before.write();
    // The time was observed, but not written.
    now += 4 * minute;
    await new Entries(nats.session, 'live').put('status', report({ 'engine.us-east': 'partial_outage' }));
    now += 20_000;
    const after = new Controller();
    await after.history.readStatus();
    after.observe(1, { 'engine.us-east': 'partial_outage' });
    await after.write();
    expect(await summary('engine.us-east')).toEqual({
      up: 120,
      down: 365,
      incidents: [[2, null, 'engine.us-east is partial_outage']],
    });
  });

  test('after an hour leaves the gap unknown, and a problem at its start is no incident', async () => {
    const before = new Controller();
    before.observe(2);
    await before.write();
    await new Entries(nats.session, 'live').put('status', report());
    now += 60 * minute;
    const after = new Controller();
    await after.history.readStatus();
    after.observe(1, { 'engine.us-east': 'major_outage' });
    await after.write();
    after.observe(2);
    await after.write();
    expect(await summary('engine.us-east')).toEqual({ up: 225, down: 0, incidents: [] });
  });
});

test('while NATS is unavailable, the queue counts as down and regions as unknown', { tags: 'long' }, async () => {
  const controller = new Controller();
  controller.observe(2);
  await controller.write();
  await nats.kill();
  for (let round = 0; round < 12; round++, now += minute / 4) {
    controller.history.observe(report({ queue: 'major_outage' }, (round + 1) * (minute / 4)), now);
  }
  await expect(controller.write()).rejects.toThrow();
  await nats.start();
  await until('the connection to be back', () => session.connected());
  controller.observe(2);
  await until('what was seen to be written', async () => {
    await controller.write();
    return (await summary('queue')).down > 0;
  });
  expect(await summary('queue')).toEqual({ up: 225, down: 180, incidents: [[2, 5, 'queue is major_outage']] });
  // Three minutes pass between the two heartbeats of the renderers.
  expect(await summary('engine.us-east')).toEqual({ up: 210, down: 0, incidents: [] });
  expect(await summary('engine')).toEqual({ up: 210, down: 0, incidents: [] });
});

test('a region that is no longer installed ends its incident, and is deleted after 90 days', async () => {
  const all = new Controller();
  all.observe(1);
  all.observe(1, { 'engine.us-east': 'major_outage' });
  await all.write();
  names.pop();
  try {
    const fewer = new Controller();
    fewer.observe(1);
    await fewer.write();
    expect((await summary('engine.us-east')).incidents).toEqual([[1, 1.75, 'engine.us-east is major_outage']]);
    now += 91 * 24 * 60 * minute;
    fewer.observe(1);
    await fewer.write();
    expect(await stored('engine.us-east')).toBeUndefined();
    expect(await stored('queue')).toBeDefined();
  } finally {
    names.push('engine.us-east');
  }
});

test('a history of a later version is not changed', async () => {
  const later = { format: 2, name: 'queue' };
  await new Entries(nats.session, 'db').put(historyKey('queue'), later);
  const controller = new Controller();
  controller.observe(1);
  await controller.write();
  expect(await stored('queue')).toEqual(later);
  expect(await stored('storage')).toBeDefined();
});
