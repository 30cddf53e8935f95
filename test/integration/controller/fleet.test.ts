import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import { Fleet, type HeartbeatFault } from '@webcapture/shared/queue/fleet.ts';
import { InFlight, RegionSelector } from '../../../services/front/capture/regions.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { heartbeat } from './support/facts.ts';
import { provision } from '../../../services/controller/streams.ts';

describe('the fleet in memory:', () => {
  const clock = { ms: 0 };
  const fleet = () => {
    clock.ms = 0;
    return new Fleet(() => clock.ms);
  };
  const key = (pod: string) => `fleet.us-east.${pod}`;
  const pods = (of: Fleet) => of.fresh('us-east').map(({ pod }) => pod);

  test('a heartbeat is fresh for five seconds, then its renderer is listed as silent', () => {
    const heard = fleet();
    heard.apply(key('a'), heartbeat('a'), 1);
    clock.ms = 5000;
    expect([pods(heard), heard.silent()]).toEqual([['a'], []]);
    clock.ms = 5001;
    expect([pods(heard), heard.silent('us-east')]).toMatchObject([[], [{ pod: 'a', forMs: 5001 }]]);
    expect(heard.silent('eu-west')).toEqual([]);
    clock.ms = 900_001;
    expect([pods(heard), heard.silent()]).toEqual([[], []]);
  });

  test('a renderer that withdraws its heartbeat is not silent, and one whose heartbeat expires is', () => {
    const heard = fleet();
    heard.apply(key('a'), heartbeat('a'), 1);
    heard.apply(key('b'), heartbeat('b'), 2);
    clock.ms = 3000;
    heard.apply(key('a'), null, 3);
    clock.ms = 10_000;
    heard.apply(key('b'), null, 4);
    expect([pods(heard), heard.silent().map(({ pod }) => pod)]).toEqual([[], ['b']]);
  });

  test('a replaced process of a pod is listed for a while; two concurrent processes do not replace each other', () => {
    const heard = fleet();
    const [first, second] = [{ instance: 'first', jobs: ['interactive:1:2:3'] }, { instance: 'second' }];
    for (const pod of ['a', 'b']) heard.apply(key(pod), heartbeat(pod, first), 1);
    clock.ms = 2000;
    heard.apply(key('a'), heartbeat('a', second), 2);
    clock.ms = 7000;
    heard.apply(key('b'), heartbeat('b', second), 2);
    heard.apply(key('a'), heartbeat('a', first), 3);
    expect(heard.replaced()).toMatchObject([
      { pod: 'a', ...first, forMs: 7000, successorForMs: 5000 },
      { pod: 'b', ...first, forMs: 7000, successorForMs: 0 },
    ]);
    clock.ms = 17_001;
    expect(heard.replaced()).toEqual([]);
  });

  test('a repeated heartbeat is no sign of life, and a new one is', () => {
    const heard = fleet();
    heard.apply(key('a'), heartbeat('a'), 1);
    clock.ms = 4000;
    heard.apply(key('a'), heartbeat('a'), 1);
    clock.ms = 6000;
    heard.apply(key('a'), heartbeat('a'), 1);
    expect(pods(heard)).toEqual([]);
    heard.apply(key('a'), heartbeat('a'), 2);
    expect(pods(heard)).toEqual(['a']);
  });
});

describe('heartbeats are not trusted:', () => {
  const faultsOf = (change: (fleet: Fleet) => void) => {
    const faults: [HeartbeatFault, string][] = [];
    const fleet = new Fleet(undefined, (fault, key) => faults.push([fault, key]));
    change(fleet);
    return { fleet, faults };
  };
  const key = 'fleet.us-east.a';
  const quiet = { ended: 0, internalFailures: 0, queueWaitP95Ms: 0 };

  test.each<[string, unknown]>([
    ['no object', 'up'],
    ['an array', []],
    ['a number', 7],
    ['no fields', {}],
    ['another pod', heartbeat('b')],
    ['another region', heartbeat('a', { region: 'eu-west' })],
    ['a region that is none', { ...heartbeat('a'), region: 'moon' }],
    ['a pod that is no text', { ...heartbeat('a'), pod: ['a'] }],
    ['endless slots', { ...heartbeat('a'), slots: 1e9 }],
    ['a slot and a half', { ...heartbeat('a'), slots: 1.5 }],
    ['fewer than no slots', { ...heartbeat('a'), slots: -1 }],
    ['slots as text', { ...heartbeat('a'), slots: '2' }],
    ['slots that are no number', { ...heartbeat('a'), slots: null }],
    ['negative busy', { ...heartbeat('a'), busy: -5 }],
    ['another state of the browser', { ...heartbeat('a'), browser: 'sideways' }],
    ['draining as text', { ...heartbeat('a'), draining: 'no' }],
    ['nothing recent', { ...heartbeat('a'), recent: null }],
    ['recent captures beyond measure', { ...heartbeat('a'), recent: { ...quiet, ended: 1e300 } }],
    ['interactive captures below zero', { ...heartbeat('a'), recent: { ...quiet, interactive: -1 } }],
    ['a mean that is none', { ...heartbeat('a'), recent: { ...quiet, meanRenderMs: 'long' } }],
    ['a version of a megabyte', { ...heartbeat('a'), version: 'v'.repeat(1e6) }],
    ['no instance', { ...heartbeat('a'), instance: undefined }],
    ['no list of jobs', { ...heartbeat('a'), jobs: undefined }],
    ['an instance of a megabyte', { ...heartbeat('a'), instance: 'v'.repeat(1e6) }],
  ])('%s: the heartbeat is ignored and reported as malformed', (_name, value) => {
    const { fleet, faults } = faultsOf((of) => of.apply(key, value, 1));
    expect(faults).toEqual([['malformed', key]]);
    expect([fleet.fresh(), fleet.load('us-east').renderers]).toEqual([[], 0]);
  });

  test('extra fields of a heartbeat are dropped, and a wrong clock does not matter', () => {
    const { fleet, faults } = faultsOf((of) => {
      const more = {
        ...heartbeat('a', { at: -1e12 }),
        page: 'x'.repeat(1e6),
        recent: { ...quiet, queueWaitP95Ms: -9 },
      };
      of.apply(key, more, 1);
    });
    expect(faults).toEqual([]);
    expect(fleet.fresh()).toEqual([heartbeat('a', { at: -1e12 })]);
  });

  test('a region has at most 10,000 pods', () => {
    const { fleet, faults } = faultsOf((of) => {
      for (let index = 0; index < 12_000; index++) of.apply(`fleet.us-east.p${index}`, heartbeat(`p${index}`), index);
      of.apply('fleet.us-east.p0', heartbeat('p0', { busy: 1 }), 20_000);
      of.apply('fleet.eu-west.other', heartbeat('other', { region: 'eu-west' }), 20_001);
    });
    expect(faults).toHaveLength(2000);
    expect(new Set(faults.map(([fault]) => fault))).toEqual(new Set(['too_many']));
    expect(fleet.load('us-east')).toMatchObject({ renderers: 10_000, busy: 1 });
    expect(fleet.load('eu-west').renderers).toBe(1);
  });

  test('two processes of one name are reported as a conflict, a successor is not', () => {
    const instances = ['one', 'one', 'two', 'two', 'three', 'two', 'three'];
    const { fleet, faults } = faultsOf((of) => {
      for (const [index, instance] of instances.entries()) of.apply(key, heartbeat('a', { instance }), index);
    });
    expect(faults).toEqual([
      ['conflict', key],
      ['conflict', key],
    ]);
    expect(fleet.load('us-east').renderers).toBe(1);
  });
});

describe('the load of a region', () => {
  test('is the sum over the renderers that take captures, after each change', () => {
    let now = 0;
    let revision = 0;
    const fleet = new Fleet(() => now);
    const change = (pod: string, fields: Partial<RendererHeartbeat> | null) =>
      fleet.apply(`fleet.us-east.${pod}`, fields === null ? null : heartbeat(pod, fields), ++revision);
    const recent = (ended: number, meanRenderMs: number) => ({
      ended,
      internalFailures: 0,
      queueWaitP95Ms: 0,
      meanRenderMs,
    });
    change('a', { slots: 2, busy: 1, recent: recent(3, 100) });
    change('b', { slots: 4, busy: 4, recent: recent(1, 500) });
    change('draining', { slots: 8, draining: true });
    change('down', { slots: 8, browser: 'down' });
    expect(fleet.load('us-east')).toEqual({ renderers: 2, slots: 6, busy: 5, renderMs: 200 });
    change('b', { slots: 4, busy: 0, draining: true });
    change('down', { slots: 8 });
    expect(fleet.load('us-east')).toEqual({ renderers: 2, slots: 10, busy: 1, renderMs: 100 });
    change('down', null);
    expect(fleet.load('us-east')).toMatchObject({ renderers: 1, slots: 2 });
    now = 3000;
    change('b', { slots: 4 });
    now = 5251;
    expect(fleet.load('us-east')).toEqual({ renderers: 1, slots: 4, busy: 0, renderMs: null });
    now = 9000;
    expect(fleet.load('us-east')).toEqual({ renderers: 0, slots: 0, busy: 0, renderMs: null });
    change('a', { slots: 2 });
    expect(fleet.load('us-east').slots).toBe(2);
    expect(fleet.load('eu-west').slots).toBe(0);
  });

  test('costs the same for 5,000 pods as for one, as does choosing a region', async () => {
    const fleet = new Fleet();
    for (let index = 0; index < 5000; index++) {
      const region = index % 2 === 0 ? 'us-east' : 'eu-west';
      fleet.apply(`fleet.${region}.p${index}`, heartbeat(`p${index}`, { region }), index);
    }
    const board = new RegionSelector({
      installed: [
        { region: 'us-east', minRenderers: 1 },
        { region: 'eu-west', minRenderers: 1 },
      ],
      home: 'us-east',
      fleet,
      queues: fake({ has: () => true }),
      inFlight: new InFlight(),
      queued: () => ({}),
      isPending: () => false,
      link: fake({ upForMs: () => 60_000 }),
    });
    // Each pod that is visited is one step of an iterator over the pods.
    const steps = vi.spyOn(Object.getPrototypeOf(new Map().values()) as Iterator<unknown>, 'next');
    try {
      expect(fleet.fresh()).toHaveLength(5000);
      expect(steps.mock.calls.length).toBeGreaterThanOrEqual(5000);
      steps.mockClear();
      for (let request = 0; request < 1000; request++) {
        expect(await board.choose('auto')).toBe('us-east');
        expect(board.estimatedWaitSeconds('auto')).toBe(0);
      }
      expect(steps.mock.calls.length).toBeLessThan(1000);
    } finally {
      steps.mockRestore();
    }
  });
});

test('a region is refused only after its renderers had time to send heartbeats', async () => {
  const renderers = { renderers: 0, slots: 2, busy: 0, renderMs: null };
  let watchedForMs = 0;
  const board = new RegionSelector({
    installed: [{ region: 'us-east', minRenderers: 1 }],
    home: 'us-east',
    fleet: fake({ load: () => renderers, watchedForMs: () => watchedForMs }),
    queues: fake({ has: () => true }),
    inFlight: new InFlight(),
    queued: () => ({}),
    isPending: () => false,
    link: fake({ upForMs: () => 60_000 }),
  });
  const choice = board.choose('auto');
  renderers.renderers = 1;
  expect(await choice).toBe('us-east');
  renderers.renderers = 0;
  watchedForMs = 60_000;
  await expect(board.choose('auto')).rejects.toMatchObject({ code: 'REGION_UNAVAILABLE' });
});

describe('a watch', () => {
  let broker: TestBroker;
  let session: NatsSession;
  let live: Entries;
  beforeAll(async () => {
    broker = await TestBroker.start();
    session = await broker.connect();
    live = new Entries(session, 'live');
    await provision(session.jsm, streamSettings, ['us-east']);
    // After a bucket is recreated, a watch that waited for the next sequence would wait for long.
    for (let count = 0; count < 50; count++) await live.put('other', count);
  });
  afterAll(() => broker.stop());

  const follow = (filter: string, maxSilenceMs?: number) => {
    const aborter = new AbortController();
    const heard: unknown[] = [];
    const silence = maxSilenceMs === undefined ? {} : { maxSilenceMs };
    const done = watchKeys<number>(
      session,
      { bucket: 'live', filter, log: silentLog, signal: aborter.signal, ...silence },
      { reset: () => undefined, change: ({ value }) => heard.push(value) },
    );
    const stop = async () => {
      aborter.abort();
      await done;
    };
    return { heard, stop };
  };

  test('of heartbeats skips invalid ones, and does not keep them in memory', async () => {
    const faults: string[] = [];
    const fleet = new Fleet(undefined, (fault, key) => faults.push(`${fault} ${key}`));
    const aborter = new AbortController();
    const following = fleet.follow(session, { log: silentLog, signal: aborter.signal });
    const publish = (pod: string, data: string) => session.js.publish(`$KV.live.fleet.us-east.${pod}`, data);
    await publish('torn', '{"pod": "torn", ');
    await publish('huge', JSON.stringify({ ...heartbeat('huge'), version: 'v'.repeat(500_000) }));
    await publish('nothing', 'null');
    await publish('honest', JSON.stringify(heartbeat('honest', { at: Date.now() + 3_600_000 })));
    await until('the honest one', () => fleet.load('us-east').renderers === 1);
    await until('the others to be told of', () => faults.length >= 2);
    expect(new Set(faults)).toEqual(new Set(['malformed fleet.us-east.torn', 'malformed fleet.us-east.huge']));
    await publish('honest', JSON.stringify(heartbeat('honest', { busy: 1 })));
    await until('it to be heard on', () => fleet.load('us-east').busy === 1);
    expect(fleet.watchedForMs()).toBeGreaterThan(0);
    aborter.abort();
    await following;
    expect(fleet.watchedForMs()).toBe(0);
  });

  test('of a busy key continues after the bucket was recreated', async () => {
    const watch = follow('b.>', 500);
    await live.put('b.key', 1);
    await until('the first value', () => watch.heard.includes(1));
    await session.jsm.streams.delete('KV_live');
    await provision(session.jsm, streamSettings, ['us-east']);
    await live.put('b.key', 2);
    await until('the second value', () => watch.heard.includes(2));
    expect(watch.heard.filter((value) => value === 2)).toHaveLength(1);
    await watch.stop();
  });
});
