import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StatusReport } from '@webcapture/shared/api/status.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { StatusWriter } from '../../../services/controller/health/publisher.ts';
import { runElection, type Term } from '../../../services/controller/leader/election.ts';
import { Lease, type LeaseTimes } from '../../../services/controller/leader/lease.ts';
import { leaderKey, natsLeaseStore, onRelease } from '../../../services/controller/leader/nats-lease.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { recordingLog, type LogLine } from './support/recording-log.ts';
import { TcpGate } from './support/tcp-gate.ts';
import { quietReport } from '../../harness/quiet-report.ts';

/** Times in the ratios of production, but a third as long. */
const times: LeaseTimes = { ttlMs: 2000, marginMs: 500, renewMs: 400, retryMs: 100, pollMs: 100, requestMs: 400 };

let nats: TestNats;
let live: Entries;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  live = new Entries(nats.session, 'live');
});
afterAll(() => nats[Symbol.asyncDispose]());
beforeEach(() => nats.session.jsm.streams.purge('KV_live'));

class Clock {
  ms = 0;
  readonly now = () => this.ms;
}

describe('a lease', () => {
  // Times that are long enough to make the TTL and the speed of the server irrelevant.
  const slow = { ...times, ttlMs: 60_000, marginMs: 10_000, requestMs: 30_000 };
  const candidate = (name: string, clock: Clock) => new Lease(natsLeaseStore(live, slow), name, slow, clock.now);

  test('is taken by one candidate, and handed over by a release', async () => {
    const clock = new Clock();
    const [a, b] = [candidate('a', clock), candidate('b', clock)];
    expect([await a.take(), await b.take()]).toEqual([true, false]);
    expect([a.holds(), b.holds()]).toEqual([true, false]);
    await a.release();
    expect(a.holds()).toBe(false);
    expect(await b.take()).toBe(true);
  });

  test('is taken by one of many concurrent candidates', async () => {
    const clock = new Clock();
    const all = Array.from({ length: 20 }, (_, index) => candidate(`c${index}`, clock));
    const taken = await Promise.all(all.map((lease) => lease.take()));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });

  test('that is not renewed is not used any more before another candidate can take it', async () => {
    const [clockA, clockB] = [new Clock(), new Clock()];
    const [a, b] = [candidate('a', clockA), candidate('b', clockB)];
    await a.take();
    await b.take();
    for (const ms of [1, 49_999, 50_000, 59_999, 60_000, 60_001]) {
      clockA.ms = ms;
      clockB.ms = ms;
      const mayTake = await b.take();
      expect([ms, a.holds(), mayTake]).toEqual([ms, ms < 50_000, ms >= 60_000]);
      if (mayTake) break;
    }
  });

  test('is held while it is renewed', async () => {
    const [clockA, clockB] = [new Clock(), new Clock()];
    const [a, b] = [candidate('a', clockA), candidate('b', clockB)];
    await a.take();
    for (let ms = 0; ms < 300_000; ms += 20_000) {
      clockA.ms = ms;
      clockB.ms = ms;
      await a.renew();
      expect([await b.take(), a.holds()]).toEqual([false, true]);
    }
  });

  test('that expired during a pause is reported as lost, and its successor keeps it', async () => {
    const [clockA, clockB] = [new Clock(), new Clock()];
    const [a, b] = [candidate('a', clockA), candidate('b', clockB)];
    await a.take();
    await b.take();
    clockB.ms = 60_000;
    expect(await b.take()).toBe(true);
    // The clock of a did not advance, so a trusts its lease until it renews.
    await a.renew();
    expect(a.holds()).toBe(false);
    await a.release();
    expect((await live.get<{ holder: string }>(leaderKey))?.value.holder).toBe('b');
    expect(await b.confirm()).toBe(true);
  });

  test('is kept after a renewal whose response was lost', async () => {
    const clock = new Clock();
    const a = candidate('a', clock);
    await a.take();
    const entry = await live.get(leaderKey);
    await live.update(leaderKey, { holder: 'a', at: 1 }, entry?.revision ?? 0);
    clock.ms = 40_000;
    await a.renew();
    clock.ms = 80_000;
    expect(a.holds()).toBe(true);
  });

  test('of the last candidate expires on the server', async () => {
    const short = { ...slow, ttlMs: 1000 };
    const a = new Lease(natsLeaseStore(live, short), 'a', short);
    await a.take();
    await until('the key to expire', async () => (await live.get(leaderKey)) === null);
    expect(await new Lease(natsLeaseStore(live, slow), 'b', slow).take()).toBe(true);
  });
});

describe('the report of a former leader', () => {
  const report = (at: number): StatusReport => ({ ...quietReport, at });
  const leading = { holds: () => true, confirm: () => Promise.resolve(true) };
  const stored = async () => (await live.get<StatusReport>('status'))?.value.at;

  test('is refused once its successor has written, even if the former leader believes that it leads', async () => {
    // The former leader has lost its lease, but does not know it yet.
    const former = new StatusWriter(live, { holds: () => true, confirm: () => Promise.resolve(false) });
    const successor = new StatusWriter(live, leading);
    expect(await former.write(report(1))).toBe(true);
    expect(await successor.write(report(2))).toBe(true);
    expect(await former.write(report(3))).toBe(false);
    expect(await stored()).toBe(2);
  });

  test('that is stored late is overwritten', async () => {
    const successor = new StatusWriter(live, leading);
    await successor.write(report(1));
    await live.put('status', report(0));
    expect(await successor.write(report(2))).toBe(true);
    expect(await stored()).toBe(2);
  });

  test('is not written after its term', async () => {
    const former = new StatusWriter(live, { holds: () => false, confirm: () => Promise.resolve(true) });
    expect(await former.write(report(1))).toBe(false);
    expect(await stored()).toBeUndefined();
  });
});

describe('the election:', () => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  /** The names of the candidates that act as leader now, and of all leaders so far in order. */
  const acting = new Set<string>();
  const terms: string[] = [];
  /** The leaders without repetitions. On a busy machine, a leader may lose the lease and get it back. */
  const turns = () => terms.filter((name, index) => name !== terms[index - 1]);
  let mostAtOnce = 0;
  const candidate = (name: string, session: NatsSession, itsTimes = times) => {
    const aborter = new AbortController();
    const lease = new Lease(natsLeaseStore(new Entries(session, 'live'), itsTimes), name, itsTimes);
    const lead = async (term: Term) => {
      terms.push(name);
      while (term.holds()) {
        acting.add(name);
        mostAtOnce = Math.max(mostAtOnce, acting.size);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      acting.delete(name);
    };
    const running = runElection(
      {
        what: 'the fleet',
        lease,
        reachable: () => session.connected(),
        onFree: onRelease(session),
        times: itsTimes,
        log: silentLog,
        lead,
      },
      aborter.signal,
    );
    const stop = async () => {
      aborter.abort();
      await running;
    };
    stops.push(stop);
    return { lease, stop };
  };
  beforeEach(() => {
    acting.clear();
    terms.length = 0;
    mostAtOnce = 0;
  });

  test('a leader that stops is succeeded at once', async () => {
    // A successor that waits for the expiry would need far more time.
    const long = { ...times, ttlMs: 60_000, marginMs: 10_000, requestMs: 10_000 };
    const a = candidate('a', nats.session, long);
    await until('a to lead', () => acting.has('a'));
    candidate('b', await nats.connect(), long);
    const start = performance.now();
    await a.stop();
    await until('b to lead', () => acting.has('b'));
    const took = performance.now() - start;
    process.stdout.write(`succeeded ${Math.round(took)} ms after the stop began\n`);
    expect(took).toBeLessThan(20_000);
    expect(terms).toEqual(['a', 'b']);
    expect(mostAtOnce).toBe(1);
  });

  test('a leader that is disconnected stops acting before the next one begins, and can lead again later', async () => {
    const gate = await TcpGate.to(nats.url);
    const signal = AbortSignal.timeout(30_000);
    const cutOff = await connectNats({ url: gate.url, name: 'cut off', log: silentLog, signal });
    const a = candidate('a', cutOff);
    await until('a to lead', () => acting.has('a'));
    const b = candidate('b', await nats.connect());
    gate.cut();
    await until('b to lead', () => acting.has('b'));
    expect(mostAtOnce).toBe(1);
    expect(a.lease.holds()).toBe(false);
    gate.restore();
    await b.stop();
    await until('a to lead again', () => acting.has('a'));
    expect(turns()).toEqual(['a', 'b', 'a']);
    expect(mostAtOnce).toBe(1);
    await a.stop();
    await cutOff.nc.close();
    gate.close();
  });

  test('a term whose work does not end is reported, and the process can lead again once the work ends', async () => {
    let held = true;
    let terms = 0;
    const { promise: stuck, resolve: unblock } = Promise.withResolvers<void>();
    const hangs: string[] = [];
    const lines: LogLine[] = [];
    const aborter = new AbortController();
    const running = runElection(
      {
        what: 'the fleet',
        lease: {
          holds: () => held,
          take: async () => (held = true),
          renew: async () => undefined,
          release: async () => undefined,
        },
        times,
        log: recordingLog(lines),
        // The work ignores the signal of its term.
        lead: async () => {
          terms++;
          await stuck;
        },
        onHang: (what, isHung) => hangs.push(`${what}: ${isHung}`),
        hangAfterMs: 100,
      },
      aborter.signal,
    );
    await until('the term to begin', () => terms === 1);
    held = false;
    await until('the process to say so', () => hangs.length === 1);
    expect([hangs, terms]).toEqual([['the fleet: true'], 1]);
    expect(lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'the work of a term as leader of the fleet does not end; this process can no longer lead',
    ]);
    unblock();
    await until('another term', () => terms === 2);
    expect(hangs).toEqual(['the fleet: true', 'the fleet: false']);
    aborter.abort();
    await running;
  });
});
