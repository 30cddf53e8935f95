import { randomUUIDv7 } from 'node:crypto';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { loadOf, percentilesOf } from '../http-load.ts';
import { startPeer, startQueue } from './parts.ts';
import { printRows, type Row } from './print-rows.ts';
import { wideBytes } from '../../harness/limits.ts';

const seconds = 3;
const account = 'bench';
const limits = { tokenQuota: 1e9, ratePerMinute: 1e6, burst: 1e6, maxInFlight: 1e6, maxQueued: 1e6, ...wideBytes };

/** Measures the check of an account's limits and the release of the reservation. */
export async function benchLimitChecks(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const session = await startQueue(parts);
  const usage = new AccountUsage(session);
  const limiter = new Limiter(session, usage);
  const check = async () => {
    const id = randomUUIDv7();
    const start = performance.now();
    const until = Date.now() + 60_000;
    const { refused } = await limiter.admit(account, limits, { id, tokens: 1, priority: 'interactive', until });
    const took = performance.now() - start;
    if (refused !== null) throw new Error(`refused: ${refused}`);
    await limiter.release(account, id);
    return took;
  };
  const measure = async (atOnce: number) => {
    const times: number[] = [];
    const start = performance.now();
    const end = start + seconds * 1000;
    const keepChecking = async () => {
      while (performance.now() < end) times.push(await check());
    };
    await Promise.all(Array.from({ length: atOnce }, keepChecking));
    return { perSecond: (times.length / (performance.now() - start)) * 1000, ...percentilesOf(times) };
  };
  await measure(8);
  const peer = await startPeer(parts, '{}');
  const rows: Row[] = [
    {
      name: 'plain fastify route',
      result: await loadOf({ url: peer, path: '/', headers: {}, connections: 1, seconds }),
    },
    { name: 'sequential', result: await measure(1), goal: 'p50 under 1 ms' },
    { name: '50 concurrent', result: await measure(50) },
  ];
  printRows(`Limit checks of one account, each reservation released: ${seconds} s each`, rows);
}
