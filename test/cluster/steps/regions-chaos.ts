import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { pick, randomOf } from '../../harness/random.ts';
import { faults, type Fault } from '../faults.ts';
import { failedWithItsRegion, statusOf, type End } from '../region-change.ts';
import {
  act,
  check,
  failuresOf,
  makeKey,
  noOutage,
  until,
  watch,
  type CaptureFact,
  type Session,
  type Step,
} from '../session.ts';
import { far, near, unknown as added } from '../two-clusters.ts';
import { installHub, joinSatellite } from './hub-and-satellite.ts';

const seconds = Number(process.env['WEBCAPTURE_CHAOS_SECONDS'] ?? 600);
const seed = Number(process.env['WEBCAPTURE_CHAOS_SEED'] ?? Date.now() % 1_000_000);
/** A fault starts about every 12 s, and at most three are active. */
const pauseMs = 12_000;
const atOnce = 3;
/** The time that Chromium needs for the captures that the cuts left in the queues. */
const drainLimitMs = 480_000;

/** Causes faults until the time is over and the last one is repaired. */
async function causeFaults(session: Session): Promise<readonly string[]> {
  const random = randomOf(seed);
  const end = Date.now() + seconds * 1000;
  const running = new Map<Fault, Promise<void>>();
  const log: string[] = [];
  const failures: string[] = [];
  while (Date.now() < end) {
    const kinds = new Set([...running.keys()].map(({ kind }) => kind));
    const possible = faults.filter(({ kind }) => !kinds.has(kind));
    const fault = pick(possible, random);
    if (fault !== undefined && running.size < atOnce) {
      const start = Date.now();
      const run = fault
        .run(session, random)
        .then(
          (what) => void log.push(`${what} (${((Date.now() - start) / 1000).toFixed(1)} s)`),
          (error: unknown) =>
            void failures.push(`${fault.name}: ${error instanceof Error ? error.message : String(error)}`),
        )
        .finally(() => running.delete(fault));
      running.set(fault, run);
    }
    await sleep(pauseMs * (0.5 + random()));
  }
  await Promise.all(running.values());
  check(failures.length === 0, `faults could not be repaired: ${failures.join('\n')}\nbefore: ${log.join('\n')}`);
  return log;
}

/** Waits until all captures of the account have ended. */
const allEnded = (session: Session) =>
  until(
    'all captures of the account to end',
    async () => {
      const ends = await act<End>(session, ['list', session.key]);
      const open = ends.filter(({ state }) => state !== 'completed' && state !== 'failed');
      if (open.length === 0) return ends;
      throw new Error(`${open.length} of ${ends.length} are open: ${JSON.stringify(open.slice(0, 3))}`);
    },
    drainLimitMs,
    5000,
  );

async function checkUsage(session: Session, ends: readonly End[]): Promise<number> {
  const completed = ends.filter(({ state }) => state === 'completed').length;
  const [usage] = await act<{ tokensUsed: number }>(session, ['usage', session.key]);
  check(usage?.tokensUsed === completed, `${completed} captures completed, ${usage?.tokensUsed} tokens are charged`);
  return completed;
}

const chaos: Step = {
  title: `${seconds} s of faults in both clusters: no accepted capture is lost, usage equals the records, /status is correct within 30 s`,
  run: async (session) => {
    session.say(`WEBCAPTURE_CHAOS_SEED=${seed}`);
    await noOutage(session);
    const waiting = { ...session, key: '' };
    const queueing = { ...session, key: '' };
    await makeKey(waiting);
    await makeKey(queueing);
    const time = String(seconds + 600);
    const load = watch<CaptureFact>(waiting, [
      'load',
      waiting.key,
      time,
      '1',
      JSON.stringify({ html: '@', region: near }),
    ]);
    const background = JSON.stringify({ html: '<h1>queued</h1>', delay: 300 });
    const queue = watch<CaptureFact>(queueing, ['queue', queueing.key, time, background, near, far, added]);
    await until('captures to run', async () => load.facts.length > 0 && queue.facts.length > 2, 60_000, 100);

    const log = await causeFaults(session);
    const rightMs = await statusOf(session, [near, far]);
    load.stop();
    await Promise.all([load.ended, queue.finish()]);

    const accepted = queue.facts.filter(({ status }) => status === 200);
    const ends = await allEnded(queueing);
    const endOf = new Map(ends.map((it) => [it.uuid, it]));
    const lost = accepted.filter(({ uuid = '', region = '' }) => {
      const found = endOf.get(uuid);
      return (
        found?.state !== 'completed' && (found === undefined || region !== added || !failedWithItsRegion(found, added))
      );
    });
    const lostEnds = lost.slice(0, 3).map(({ uuid = '', region }) => ({ region, ...endOf.get(uuid), uuid }));
    check(
      lost.length === 0,
      `${lost.length} of ${accepted.length} accepted captures were lost: ${JSON.stringify(lostEnds)}`,
    );
    const completed = await checkUsage(queueing, ends);
    // A front may die before it responds. Its captures are charged if they have completed.
    const answered = await checkUsage(waiting, await allEnded(waiting));
    const [retired] = await act<{ captures: number }>(session, ['retired']);
    check(retired?.captures === 0, `captures of removed regions wait: ${JSON.stringify(retired)}`);
    return (
      `${log.length} faults: ${log.join(', ')}\n/status correct ${(rightMs / 1000).toFixed(1)} s after the last; ` +
      `${accepted.length} of ${queue.facts.length} background captures accepted, ${completed} completed and charged, ` +
      `${ends.length - completed} failed because their region was removed; ${load.facts.length - failuresOf(load.facts).length} of ` +
      `${load.facts.length} captures of ${near} completed for their client, ${answered} charged`
    );
  },
};

/** A hub and a satellite as in the group `regions`, with faults of every kind in both. */
export const chaosSteps: readonly Step[] = [installHub, joinSatellite, chaos];
