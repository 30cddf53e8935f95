import { TimeoutError } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import type { AccountLimits, AdmissionState } from '@webcapture/shared/accounts/limits.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { wideBytes } from '../../harness/limits.ts';
import { noUsage } from '@webcapture/shared/captures/usage.ts';

let nats: TestNats;
let fronts: Limiter[];

/** The limiter of a front of the account, as in another process. */
const frontOn = (session: NatsSession, { now }: { now?: () => number } = {}) => {
  const usage = {
    read: () => Promise.resolve(noUsage),
    inLedger: () => Promise.resolve([]),
  };
  return new Limiter(session, usage, now);
};

beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  const sessions = await Promise.all([1, 2, 3, 4].map(() => nats.connect()));
  fronts = sessions.map((session) => frontOn(session));
});
afterAll(() => nats[Symbol.asyncDispose]());

const wide: AccountLimits = {
  tokenQuota: 1e6,
  ratePerMinute: 1e6,
  burst: 1e6,
  maxInFlight: 1e6,
  maxQueued: 1e6,
  ...wideBytes,
};

/** Sends `count` concurrent requests, spread over four fronts. Returns how many were admitted. */
async function hammer(account: string, limits: AccountLimits, count: number): Promise<number> {
  const verdicts = await Promise.all(
    Array.from({ length: count }, async (_, index) =>
      fronts[index % fronts.length]?.admit(account, limits, {
        id: `${account}-${index}`,
        tokens: 1,
        priority: 'interactive',
        until: Date.now() + 60_000,
      }),
    ),
  );
  return verdicts.filter((verdict) => verdict?.refused === null).length;
}

test.each([
  ['rate', { ...wide, ratePerMinute: 1, burst: 50 }, 50],
  ['quota', { ...wide, tokenQuota: 70 }, 70],
  ['flight', { ...wide, maxInFlight: 30 }, 30],
])('four fronts under concurrent load admit exactly what the %s limit allows', async (account, limits, allowed) => {
  expect(await hammer(account, limits, 400)).toBe(allowed);
});

test('released reservations can be made again, exactly up to the limit', async () => {
  const limits = { ...wide, maxInFlight: 10 };
  expect(await hammer('back', limits, 40)).toBe(10);
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => fronts[index % 4]?.release('back', `back-${index}`)),
  );
  expect(await hammer('back', limits, 40)).toBe(10);
});

const interactive = (id: string, lastsMs = 60_000) =>
  ({ id, tokens: 1, priority: 'interactive', until: Date.now() + lastsMs }) as const;
const valueOf = async (account: string) =>
  (await new Entries(nats.session, 'live').get<AdmissionState>(`limit.${account}`))?.value;

describe('clocks that differ', () => {
  // The default limits of an account: ten per second, a burst of five.
  const limits = { ...wide, ratePerMinute: 600, burst: 5 };

  /** Two fronts send requests alternately for `lastsMs`; returns how many each admitted. */
  async function takeTurns(account: string, aheadMs: readonly [number, number], lastsMs: number) {
    const pair = aheadMs.map((ahead) => frontOn(nats.session, { now: () => Date.now() + ahead }));
    const admitted = [0, 0];
    const start = performance.now();
    for (let turn = 0; performance.now() - start < lastsMs; turn++) {
      for (const [index, front] of pair.entries()) {
        const id = `${account}-${index}-${turn}`;
        const { refused } = await front.admit(account, limits, interactive(id));
        if (refused === null) admitted[index] = (admitted[index] ?? 0) + 1;
      }
    }
    return { admitted, tookMs: performance.now() - start };
  }

  test.each<[string, readonly [number, number]]>([
    ['by a second', [1000, 0]],
    ['by a second, the other one', [0, 1000]],
    ['by some tens of milliseconds, as estimates of the server are', [20, -20]],
    ['by an hour', [3_600_000, 0]],
  ])('%s: neither front starves, and together they keep to the rate', async (name, aheadMs) => {
    const { admitted, tookMs } = await takeTurns(`clocks-${name.replaceAll(/\W/g, '-')}`, aheadMs, 2000);
    const [first = 0, second = 0] = admitted;
    const allowed = 5 + tookMs / 100;
    expect(first + second).toBeLessThanOrEqual(Math.ceil(allowed) + 5);
    expect(first + second).toBeGreaterThanOrEqual(0.7 * allowed);
    // The fronts alternate, so only chance decides which one meets a free interval.
    expect(Math.min(first, second)).toBeGreaterThanOrEqual(2);
  });

  test('a front whose clock is behind is not starved by an idle front whose clock is ahead', async () => {
    const [ahead, behind] = [3_600_000, 0].map((ms) => frontOn(nats.session, { now: () => Date.now() + ms }));
    for (let index = 0; index < 6; index++) await ahead?.admit('stopped', limits, interactive(`ahead-${index}`));
    const start = performance.now();
    let admitted = 0;
    await until('five to pass', async () => {
      const verdict = await behind?.admit('stopped', limits, interactive(`behind-${performance.now()}`));
      if (verdict?.refused === null) admitted++;
      return admitted === 5;
    });
    expect(performance.now() - start).toBeLessThan(5000);
  });
});

describe('the admission state of an account:', () => {
  const inBatches = async (count: number, work: (index: number) => Promise<unknown>) => {
    for (let done = 0; done < count; done += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => work(done + index)));
    }
  };
  /** Counts the reads and writes of `count` sequential admissions, and the bytes of the largest value. */
  const costOf = async (front: Limiter, account: string, limits: AccountLimits, count: number) => {
    const cost = { reads: 0, writes: 0, maxBytes: 0 };
    const subscriptions = [
      nats.session.nc.subscribe('$JS.API.STREAM.MSG.GET.KV_live', { callback: () => void cost.reads++ }),
      nats.session.nc.subscribe(`$KV.live.limit.${account}`, {
        callback: (_error, { data }) => {
          cost.writes++;
          cost.maxBytes = Math.max(cost.maxBytes, data.length);
        },
      }),
    ];
    await nats.session.nc.flush();
    for (let index = 0; index < count; index++) await front.admit(account, limits, interactive(`costs-${index}`));
    await nats.session.nc.flush();
    for (const subscription of subscriptions) subscription.unsubscribe();
    return cost;
  };

  test.each([
    ['far from its limits', { ...wide, tokenQuota: 1e9 }],
    ['near its limits', { ...wide, tokenQuota: 1e9, maxInFlight: 6000 }],
  ])('is bounded with 5,000 captures in flight, %s', async (name, limits) => {
    const account = `many-${name.replaceAll(/\W/g, '-')}`;
    const pair = [frontOn(nats.session), frontOn(await nats.connect())] as const;
    await inBatches(5000, async (index) => {
      const verdict = await pair[index % 2 === 0 ? 0 : 1].admit(account, limits, interactive(`many-${index}`));
      expect(verdict.refused).toBe(null);
    });
    expect(JSON.stringify(await valueOf(account)).length).toBeLessThan(8192);
    expect(await pair[1].inFlight(account)).toBe(5000);
    const cost = await costOf(frontOn(nats.session), account, limits, 60);
    expect(cost.maxBytes).toBeLessThan(8192);
    // There is one read and one write each; the two other fronts may write in between.
    expect(cost.writes).toBeLessThanOrEqual(80);
    expect(cost.reads).toBeLessThanOrEqual(80);

    await inBatches(5000, async (index) => pair[index % 2 === 0 ? 0 : 1].release(account, `many-${index}`));
    await until('only the others to be left', async () => (await pair[1].inFlight(account)) === 60);
  });

  test('a limit holds exactly although most reservations are only counted', async () => {
    const limits = { ...wide, maxInFlight: 300 };
    expect(await hammer('counted', limits, 800)).toBe(300);
    await Promise.all(
      Array.from({ length: 800 }, async (_, index) => fronts[index % 4]?.release('counted', `counted-${index}`)),
    );
    expect(await fronts[0]?.inFlight('counted')).toBe(0);
    expect(await hammer('counted', limits, 800)).toBe(300);
  });

  test('reservations that a dead front only counted expire within ten seconds', async () => {
    let elapsed = 0;
    const now = () => Date.now() + elapsed;
    const died = await nats.connect();
    const dead = frontOn(died, { now });
    const limits = { ...wide, tokenQuota: 1e9, maxInFlight: 400 };
    for (let index = 0; index < 90; index++) await dead.admit('died', limits, interactive(`dead-${index}`, 600_000));
    await died.nc.close();
    const alive = frontOn(nats.session, { now });
    expect(await alive.inFlight('died')).toBe(90);
    elapsed = 10_000;
    expect(await alive.inFlight('died')).toBe(0);
  });

  test('a long capture counts while its front lives', async () => {
    let elapsed = 0;
    const now = () => Date.now() + elapsed;
    const front = frontOn(nats.session, { now });
    const limits = { ...wide, tokenQuota: 1e9 };
    await front.admit('long', limits, interactive('slow', 100_000));
    for (elapsed = 20_000; elapsed < 100_000; elapsed += 20_000) {
      await front.admit('long', limits, interactive(`other-${elapsed}`, 1));
      expect(await front.inFlight('long')).toBeGreaterThanOrEqual(1);
    }
    elapsed = 101_000;
    await front.admit('long', limits, interactive('last', 200_000));
    expect(await front.inFlight('long')).toBe(1);
  });
});

describe('writes of the admission state:', () => {
  const writesDuring = async (account: string, work: () => Promise<unknown>) => {
    let writes = 0;
    const subscription = nats.session.nc.subscribe(`$KV.live.limit.${account}`, { callback: () => void writes++ });
    await nats.session.nc.flush();
    await work();
    await nats.session.nc.flush();
    subscription.unsubscribe();
    return writes;
  };

  test('far from the limits, a release is written with the next admission', async () => {
    const front = frontOn(await nats.connect());
    const writes = await writesDuring('steady', async () => {
      for (let index = 0; index < 50; index++) {
        expect((await front.admit('steady', { ...wide, tokenQuota: 1e9 }, interactive(`s-${index}`))).refused).toBe(
          null,
        );
        await front.release('steady', `s-${index}`);
      }
      await until('the last to be released', async () => (await front.inFlight('steady')) === 0, { deadlineMs: 1000 });
    });
    // On a slow machine, two admissions may be further apart than the write delay.
    expect(writes).toBeLessThanOrEqual(60);
  });

  test('near a limit, a release is written at once', async () => {
    const front = frontOn(await nats.connect());
    const limits = { ...wide, maxInFlight: 1 };
    for (let index = 0; index < 5; index++) {
      expect((await front.admit('tight', limits, interactive(`t-${index}`))).refused).toBe(null);
      await front.release('tight', `t-${index}`);
      expect(await front.inFlight('tight')).toBe(0);
    }
  });

  test('a refused request writes nothing', async () => {
    const front = frontOn(await nats.connect());
    const limits = { ...wide, ratePerMinute: 1, burst: 1 };
    await front.admit('refused', limits, interactive('first'));
    const writes = await writesDuring('refused', async () => {
      for (let index = 0; index < 20; index++) {
        expect((await front.admit('refused', limits, interactive(`r-${index}`))).refused).toBe('rate');
      }
    });
    expect(writes).toBe(0);
  });

  test('pending releases are written before the process ends', async () => {
    const front = frontOn(await nats.connect());
    await front.admit('ending', { ...wide, tokenQuota: 1e9 }, interactive('last'));
    await front.release('ending', 'last');
    await front.flush();
    expect(await front.inFlight('ending')).toBe(0);
  });
});

test('an admission that is stored, but whose response was lost, is counted once and can be released', async () => {
  const session = await nats.connect();
  let losesAnswer = true;
  const publish = session.js.publish.bind(session.js);
  session.js.publish = async (...args) => {
    const ack = await publish(...args);
    if (!losesAnswer) return ack;
    losesAnswer = false;
    throw new TimeoutError();
  };
  const front = frontOn(session);
  const limits = { ...wide, tokenQuota: 1e9, ratePerMinute: 1, burst: 1 };
  await expect(front.admit('lost', limits, interactive('x'))).rejects.toThrow();
  expect((await front.admit('lost', limits, interactive('x'))).refused).toBe(null);
  expect(await front.inFlight('lost')).toBe(1);
  await front.release('lost', 'x');
  await until('it to be released', async () => (await front.inFlight('lost')) === 0);
});

// The tests are concurrent, each on its own server, because clients mostly wait for a server that is starting.
test.concurrent.each([
  ['far from the limits', { ...wide, tokenQuota: 1e9 }],
  ['near a limit', { ...wide, maxInFlight: 150 }],
])(
  'a server that is killed under load leaves no reservations, %s',
  { tags: 'long', timeout: 90_000 },
  async (name, limits) => {
    await using own = await startTestNats(['us-east']);
    const account = name.replaceAll(' ', '-');
    const pair = [frontOn(await own.connect()), frontOn(await own.connect())] as const;
    let isOver = false;
    let admitted = 0;
    /** Releases everything that may have been admitted, as a front does. */
    const client = async (front: Limiter, who: number) => {
      for (let turn = 0; !isOver; turn++) {
        const id = `${who}-${turn}`;
        const deadline = Date.now() + 30_000;
        const verdict = await retryTransient(() => front.admit(account, limits, interactive(id)), { deadline });
        expect([null, 'in-flight']).toContain(verdict.refused);
        if (verdict.refused === null) admitted++;
        await retryTransient(() => front.release(account, id), { deadline });
      }
    };
    const clients = Array.from({ length: 100 }, (_, who) => client(pair[who % 2 === 0 ? 0 : 1], who));
    await until('some to be admitted', () => admitted > 500);
    await own.restart();
    const before = admitted;
    await until('more admissions', () => admitted > before + 500);
    isOver = true;
    await Promise.all(clients);
    await until('nothing to be reserved', async () => (await pair[0].inFlight(account)) === 0);
  },
);
