import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { benchKey, type BenchFront } from '../front/parts.ts';
import { percentilesOf } from '../http-load.ts';
import { round, type Goals } from '../goals.ts';
import { benchAccount, startService } from './service.ts';
import { wideBytes } from '../../harness/limits.ts';

const inFlight = 5000;
const maxInFlight = 10_000;
/**
 * A limit that the account nearly reaches. In this case, as many reservations as possible are named, and releases are written immediately.
 */
const nearlyAll = inFlight + 500;
const slots = 100;
const checks = 500;
const maxValueBytes = 64 * 1024;
const maxRatio = 1.5;

/** Measures an account with thousands of captures in flight: all captures must complete, and the cost of an admission must not grow. */
export async function benchInFlight(goals: Goals): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const { session, front } = await startService(parts, { maxInFlight }, { WEBCAPTURE_QUEUE_TIMEOUT: '300' });
  const admission = await timeAdmissions(session, maxInFlight);
  const nearCap = await timeAdmissions(session, nearlyAll);
  const renderer = new StandInRenderer(session, 'us-east');
  const held = Promise.withResolvers<void>();
  // The renderer holds some jobs, and the others wait in the queue: both are in flight.
  renderer.behavior = async (job, self) => {
    await held.promise;
    await self.complete(job);
  };
  await renderer.start(slots);
  parts.defer(() => renderer.stop());
  // Without this call, the jobs would never end if something fails earlier.
  parts.defer(() => held.resolve());

  const statuses = new Map<string, number>();
  const captures: Promise<void>[] = [];
  for (let number = 0; number < inFlight; number++) {
    captures.push(capture(front, number).then((status) => void statuses.set(status, (statuses.get(status) ?? 0) + 1)));
    // An overloaded front refuses requests, so they are sent as fast as it accepts them.
    if (number % 50 === 49) await inFlightAtFront(front, captures.length - 500);
  }
  await inFlightAtFront(front, inFlight);
  const accepted = inFlight - [...statuses.values()].reduce((sum, count) => sum + count, 0);
  const valueBytes = await limitBytes(session, benchAccount);
  const start = performance.now();
  held.resolve();
  await Promise.all(captures);
  const seconds = (performance.now() - start) / 1000;

  goals.title(`One account with ${inFlight} captures in flight, ${maxInFlight} allowed`);
  goals.atLeast('in flight concurrently', accepted, inFlight);
  goals.atLeast('completed', statuses.get('200') ?? 0, inFlight);
  const others = [...statuses].filter(([status]) => status !== '200').map(([status, count]) => `${count} × ${status}`);
  if (others.length > 0) goals.note('other responses', others.join(', '));
  goals.note('completed per second, by a renderer that takes no time', round(inFlight / seconds));
  goals.atMost('size of the value `limit.<account>`', valueBytes, maxValueBytes, ' B');

  goals.note('admission and release, p50, none in flight', `${round(admission.none)} ms`);
  goals.note(`the same with ${inFlight} in flight`, `${round(admission.many)} ms`);
  goals.atMost('ratio', admission.many / admission.none, maxRatio);
  goals.note(`the same with ${nearlyAll} allowed, near the limit`, `${round(nearCap.many)} ms`);
}

/** Returns the status, with the error code if there is one. Retries while the front is overloaded. */
async function capture({ url }: BenchFront, number: number): Promise<string> {
  for (let status = await post(url, number); ; status = await post(url, number)) {
    if (status !== '429 QUEUE_FULL') return status;
    await sleep(2000);
  }
}

async function post(url: string, number: number): Promise<string> {
  try {
    const response = await fetch(`${url}/capture`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${benchKey}` },
      body: JSON.stringify({ url: `https://example.com/${number}` }),
      signal: AbortSignal.timeout(280_000),
    });
    const { error } = (await response.json()) as { error: { code: string } | null };
    return error === null ? String(response.status) : `${response.status} ${error.code}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

async function inFlightAtFront({ part }: BenchFront, wanted: number): Promise<void> {
  const count = async () => ((await part.metric('webcapture_front_captures_in_flight')) ?? 0) >= wanted;
  await until(`${wanted} captures in flight`, count, { deadlineMs: 60_000, intervalMs: 100 });
}

async function limitBytes({ jsm }: NatsSession, account: string): Promise<number> {
  const message = await jsm.streams.getMessage('KV_live', { last_by_subj: `$KV.live.limit.${account}` });
  return message?.data.length ?? Number.NaN;
}

/**
 * Measures admissions alternately for an account with captures in flight and for one without. The admissions are sequential. They run in
 * this process without HTTP, with the code of a front.
 */
async function timeAdmissions(session: NatsSession, allowed: number): Promise<{ none: number; many: number }> {
  const usage = new AccountUsage(session);
  const limiter = new Limiter(session, {
    read: (id, time, precision) => usage.read(id, time, precision),
    inLedger: async () => [],
  });
  const limits: AccountLimits = {
    tokenQuota: 1e9,
    ratePerMinute: 1e6,
    burst: 1e6,
    maxInFlight: allowed,
    maxQueued: 1e6,
    ...wideBytes,
  };
  const [busy, quiet] = [`busy-${allowed}`, `quiet-${allowed}`];
  const admit = async (account: string) => {
    const id = randomUUIDv7();
    const request = { id, tokens: 1, priority: 'interactive', until: Date.now() + 600_000 } as const;
    const { refused } = await limiter.admit(account, limits, request);
    if (refused !== null) throw new Error(`refused: ${refused}`);
    return id;
  };
  for (let number = 0; number < inFlight; number += 500) {
    await Promise.all(Array.from({ length: 500 }, () => admit(busy)));
  }
  const times = { none: [] as number[], many: [] as number[] };
  const timed = async (into: number[], account: string) => {
    const start = performance.now();
    await limiter.release(account, await admit(account));
    into.push(performance.now() - start);
  };
  for (let check = 0; check < checks; check++) {
    await timed(times.none, quiet);
    await timed(times.many, busy);
    // A release is written with the next admission, or after a delay.
    if (check % 50 === 0) await sleep(300);
  }
  return { none: percentilesOf(times.none).p50, many: percentilesOf(times.many).p50 };
}
