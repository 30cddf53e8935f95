import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { hashKey, Keys } from '../../../services/front/auth/keys.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { dayMs } from '../../../services/front/capture/capture-list.ts';
import { loadOf, percentilesOf } from '../http-load.ts';
import { startFront, startPeer, startQueue } from './parts.ts';
import { printRows, type Row } from './print-rows.ts';
import { seedCaptures } from './seed-captures.ts';

const count = 100_000;
const seconds = 3;
const goal = 'p50 5 ms';

/** Measures sequential requests GET /captures of accounts with 100,000 captures. */
export async function benchListing(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const session = await startQueue(parts);
  const { url } = await startFront(parts, session.nc.getServer());
  const now = Date.now();
  const today = now - (now % dayMs);
  const accounts = [
    { account: 'one-day', title: 'all of today', from: today },
    { account: 'ninety-days', title: 'over 90 days', from: now - 90 * dayMs },
  ];
  for (const [index, { account, title, from }] of accounts.entries()) {
    const headers = await openAccount(session, account, from);
    const uuids = await seedCaptures(session, { account, count, from, until: now - 1000 });
    const start = performance.now();
    const response = await fetch(`${url}/captures`, { headers });
    const answer = await response.text();
    const first = performance.now() - start;
    if (!response.ok) throw new Error(`GET /captures answered ${answer}`);

    const load = (base: string, path: string) => loadOf({ url: base, path, headers, connections: 1, seconds });
    const rows: Row[] = [];
    if (index === 0)
      rows.push({ name: 'plain fastify route', result: await load(await startPeer(parts, answer), '/') });
    rows.push({ name: 'first request', result: percentilesOf([first]) });
    const middle = `cursor=${uuids[count / 2]}`;
    for (const [name, path] of [
      ['first page of 20', '/captures'],
      ['first page of 100', '/captures?limit=100'],
      ['page of 20 in the middle', `/captures?${middle}`],
      ['first 20 of status failed (5%)', '/captures?status=failed'],
      ['20 of status failed in the middle', `/captures?status=failed&${middle}`],
      ['status deleted (none; 2000 examined)', '/captures?status=deleted'],
    ] as const) {
      const isPlain = !path.includes('status');
      rows.push({ name, result: await load(url, path), ...(isPlain ? { goal } : {}) });
    }
    printRows(`GET /captures, ${count} captures, ${title}; ${seconds} s each`, rows);
  }
}

/** Returns the headers of its requests. */
async function openAccount(session: NatsSession, account: string, createdAt: number) {
  const key = `a-key-of-the-account-${account}`;
  await new Keys(session).put(hashKey(key), { id: account, account, name: 'bench', scopes, createdAt });
  return { authorization: `Bearer ${key}` };
}
