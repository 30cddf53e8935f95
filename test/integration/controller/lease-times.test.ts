import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { type ElectionOptions, runElection, type Term } from '../../../services/controller/leader/election.ts';
import { Lease } from '../../../services/controller/leader/lease.ts';
import { leaderKey, natsLeaseStore } from '../../../services/controller/leader/nats-lease.ts';
import { fleetLeaseTimes } from '../../../services/controller/times.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());
beforeEach(() => nats.session.jsm.streams.purge('KV_live'));

/** Each write advances a fake clock by `writeMs`. */
class SlowEntries extends Entries {
  readonly clock = { ms: 0 };
  writeMs = 0;

  override async create(...args: Parameters<Entries['create']>): Promise<number> {
    return this.#late(await super.create(...args));
  }

  override async update(...args: Parameters<Entries['update']>): Promise<number> {
    return this.#late(await super.update(...args));
  }

  #late(revision: number): number {
    this.clock.ms += this.writeMs;
    return revision;
  }
}

describe('a lease counts from before its write, since others may count from when the write is stored', () => {
  const times = { ...fleetLeaseTimes, ttlMs: 60_000, marginMs: 10_000, requestMs: 30_000 };
  const candidate = (name: string) => {
    const entries = new SlowEntries(nats.session, 'live');
    return { entries, lease: new Lease(natsLeaseStore(entries, times), name, times, () => entries.clock.ms) };
  };

  test('when it is taken', async () => {
    const { entries, lease } = candidate('a');
    entries.writeMs = 20_000;
    expect(await lease.take()).toBe(true);
    expect(entries.clock.ms).toBe(20_000);
    entries.clock.ms = 49_999;
    expect(lease.holds()).toBe(true);
    entries.clock.ms = 50_000;
    expect(lease.holds()).toBe(false);
  });

  test('when it is renewed', async () => {
    const { entries, lease } = candidate('a');
    await lease.take();
    entries.clock.ms = 30_000;
    entries.writeMs = 20_000;
    await lease.renew();
    entries.clock.ms = 79_999;
    expect(lease.holds()).toBe(true);
    entries.clock.ms = 80_000;
    expect(lease.holds()).toBe(false);
  });

  test('when it is renewed after a renewal whose response was lost', async () => {
    const { entries, lease } = candidate('a');
    await lease.take();
    const entry = await entries.get(leaderKey);
    await new Entries(nats.session, 'live').update(leaderKey, { holder: 'a', at: 1 }, entry?.revision ?? 0);
    entries.clock.ms = 30_000;
    entries.writeMs = 20_000;
    await lease.renew();
    entries.clock.ms = 80_000;
    expect(lease.holds()).toBe(false);
  });
});

test('the lease of the fleet lasts 6 s, of which the last 1.5 s are not used', () => {
  expect(fleetLeaseTimes).toEqual({
    ttlMs: 6000,
    marginMs: 1500,
    renewMs: 1500,
    retryMs: 250,
    pollMs: 500,
    requestMs: 1000,
  });
});

describe('a term ends with its lease', () => {
  const aborters: AbortController[] = [];
  afterEach(() => aborters.splice(0).forEach((aborter) => aborter.abort()));

  /** A term that has begun, with a lease whose renewal never returns. */
  async function lead(lease: Partial<ElectionOptions['lease']>): Promise<Term> {
    const aborter = new AbortController();
    aborters.push(aborter);
    let term: Term | undefined;
    void runElection(
      {
        what: 'the fleet',
        lease: {
          holds: () => true,
          take: async () => true,
          renew: () => new Promise(() => undefined),
          release: async () => undefined,
          ...lease,
        },
        times: { renewMs: 1, retryMs: 1, pollMs: 1 },
        log: silentLog,
        lead: async (given) => {
          term = given;
          await new Promise<void>((resolve) => {
            given.signal.addEventListener('abort', () => resolve(), { once: true });
          });
        },
      },
      aborter.signal,
    );
    return until('the term', () => term);
  }

  test('although a renewal hangs, and its signal aborts soon after', async () => {
    let held = true;
    const renewing = Promise.withResolvers<void>();
    const term = await lead({
      holds: () => held,
      renew: () => {
        renewing.resolve();
        return new Promise(() => undefined);
      },
    });
    await renewing.promise;
    expect([term.holds(), term.signal.aborted]).toEqual([true, false]);
    held = false;
    expect(term.holds()).toBe(false);
    await until('the signal', () => term.signal.aborted, { deadlineMs: 2000 });
  });

  test('and does not resume if the lease is held again', async () => {
    let held = true;
    const term = await lead({ holds: () => held });
    held = false;
    await until('the signal', () => term.signal.aborted, { deadlineMs: 2000 });
    held = true;
    expect(term.holds()).toBe(false);
  });
});
