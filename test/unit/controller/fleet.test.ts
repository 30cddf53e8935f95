import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { provision } from '@webcapture/shared/nats/provision.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import { Fleet } from '@webcapture/shared/state/fleet.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { heartbeat } from './support/facts.ts';

describe('the fleet in memory', () => {
  const clock = { ms: 0 };
  const fleet = () => {
    clock.ms = 0;
    return new Fleet(() => clock.ms);
  };
  const pods = (of: Fleet) => of.fresh('us-east').map(({ pod }) => pod);

  test('a heartbeat is fresh for five seconds, then its renderer is missed by name', () => {
    const heard = fleet();
    heard.hear('a', heartbeat('a'));
    clock.ms = 5000;
    expect([pods(heard), heard.silent()]).toEqual([['a'], []]);
    clock.ms = 5001;
    expect([pods(heard), heard.silent('us-east')]).toEqual([[], [{ pod: 'a', forMs: 5001 }]]);
    expect(heard.silent('eu-west')).toEqual([]);
    clock.ms = 900_001;
    expect([pods(heard), heard.silent()]).toEqual([[], []]);
  });

  test('one that says goodbye is not missed, one whose last word expired is', () => {
    const heard = fleet();
    heard.hear('a', heartbeat('a'));
    heard.hear('b', heartbeat('b'));
    clock.ms = 3000;
    heard.hear('a', null);
    clock.ms = 10_000;
    heard.hear('b', null);
    expect([pods(heard), heard.silent().map(({ pod }) => pod)]).toEqual([[], ['b']]);
  });

  test('a heartbeat that is told once more is no sign of life, a new one is', () => {
    const heard = fleet();
    heard.hear('a', heartbeat('a', { at: 1 }));
    clock.ms = 4000;
    heard.hear('a', heartbeat('a', { at: 1 }));
    clock.ms = 6000;
    heard.hear('a', heartbeat('a', { at: 1 }));
    expect(pods(heard)).toEqual([]);
    heard.hear('a', heartbeat('a', { at: 2 }));
    expect(pods(heard)).toEqual(['a']);
  });
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
    // A watch that waited for the next sequence would wait for long on a bucket that begins anew.
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
  test('of something written all the time goes on when the bucket was made anew', async () => {
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
