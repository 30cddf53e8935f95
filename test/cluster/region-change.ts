import {
  act,
  capture,
  check,
  describe,
  failuresOf,
  makeKey,
  noOutage,
  isUp,
  until,
  watch,
  type CaptureFact,
  type Session,
  type StatusFact,
} from './session.ts';

/** The time within which GET /status must show a changed region. */
const statusLimitMs = 30_000;

export interface RegionChange {
  /** Regions in which background captures are queued during the change. */
  readonly queueIn: readonly string[];
  /** The regions of `queueIn` whose captures may be refused or fail with REGION_UNAVAILABLE. */
  readonly removed?: readonly string[];
  /** Number of slow captures that are queued in the first region of `queueIn` before the change. */
  readonly backlog?: number;
  /** Region with interactive captures during the change. */
  readonly stable: string;
  readonly change: () => Promise<unknown>;
  /** Regions in GET /status after the change. */
  readonly regions: readonly string[];
}

/** The final state of a capture, as client.mjs prints it. */
export interface End {
  readonly uuid: string;
  readonly state?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/**
 * Changes the regions of an installation under load. Checks that no interactive capture fails, and that every accepted background capture
 * completes or, in a removed region, fails with REGION_UNAVAILABLE. Also checks that the account is charged only for completed captures,
 * and that GET /status shows the regions within 30 s.
 */
export async function changeRegions(session: Session, options: RegionChange): Promise<string> {
  const { queueIn, removed = [], backlog = 0, stable, change, regions } = options;
  await noOutage(session);
  const own = { ...session, key: '' };
  await makeKey(own);
  const slow = await queueBacklog(own, queueIn[0] ?? stable, backlog);
  const load = watch<CaptureFact>(session, ['load', session.key, '900', '1', JSON.stringify(interactive(stable))]);
  const request = JSON.stringify({ html: '<h1>queued</h1>', delay: 300 });
  const queue = watch<CaptureFact>(own, ['queue', own.key, '900', request, ...queueIn]);
  await until('captures to run', async () => load.facts.length > 0 && queue.facts.length > 2, 60_000, 100);

  const start = Date.now();
  await change();
  const changedMs = Date.now() - start;
  const shownMs = await statusOf(session, regions);
  const made = load.facts.length;
  await until('captures after the change', async () => load.facts.length >= made + 3, 60_000, 100);
  load.stop();
  await Promise.all([load.ended, queue.finish()]);

  const failed = failuresOf(load.facts);
  check(failed.length === 0, `captures of ${stable} failed: ${describe(failed)}`);
  const refused = failuresOf(queue.facts).filter(({ code }) => code !== 'REGION_UNAVAILABLE');
  check(refused.length === 0, `background captures were not accepted: ${describe(refused)}`);
  const accepted = [...slow, ...queue.facts.filter(({ status }) => status === 200)];
  const report = await endsOf(own, accepted, removed);
  check(backlog === 0 || report.failed > 0, 'no capture of the removed region failed');
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  return (
    `helm done after ${seconds(changedMs)}, /status shows ${regions.join(', ')} ${seconds(shownMs)} later; ` +
    `${load.facts.length} captures of ${stable} completed; ${accepted.length} background captures accepted, ` +
    `${report.completed} completed and charged, ${report.failed} failed with REGION_UNAVAILABLE`
  );
}

const interactive = (region: string) => ({ html: '<h1>@</h1>', delay: 300, region });

/** Queues captures of 15 s each, so that some of them wait while the region changes. */
async function queueBacklog(session: Session, region: string, count: number): Promise<readonly CaptureFact[]> {
  const facts: CaptureFact[] = [];
  for (let n = 0; n < count; n++) {
    const fact = await capture(session, { html: `<h1>slow ${n}</h1>`, background: true, delay: 15_000, region });
    check(fact.status === 200, JSON.stringify(fact));
    facts.push({ ...fact, region });
  }
  return facts;
}

/** Waits until GET /status shows exactly these regions without an outage. Returns the time in milliseconds. */
export async function statusOf(session: Session, regions: readonly string[]): Promise<number> {
  const start = Date.now();
  await until(
    `GET /status to show the regions ${regions.join(', ')}`,
    async () => {
      const [fact] = await act<StatusFact>(session, ['status', '0.1']);
      const shown = Object.entries(fact?.components ?? {}).filter(([name]) => name.startsWith('engine.'));
      const names = shown.map(([name]) => name.slice('engine.'.length));
      if (names.toSorted().join() === regions.toSorted().join() && shown.every(([, status]) => isUp(status)))
        return true;
      throw new Error(JSON.stringify({ components: fact?.components, messages: fact?.messages }));
    },
    statusLimitMs,
  );
  return Date.now() - start;
}

/** Whether a capture failed because its region was removed from the installation. */
export const failedWithItsRegion = ({ error }: End, region: string) =>
  error?.code === 'REGION_UNAVAILABLE' &&
  error.message.startsWith(`The region ${region} is no longer part of this installation.`);

/** Waits until all captures of an account have ended, checks their results, and checks that the account is charged for the completed ones. */
async function endsOf(
  session: Session,
  accepted: readonly CaptureFact[],
  removed: readonly string[],
): Promise<{ readonly completed: number; readonly failed: number }> {
  const uuids = accepted.flatMap(({ uuid }) => uuid ?? []);
  const ends = await until(
    `${uuids.length} background captures to end`,
    async () => {
      const states = await act<End>(session, ['state', session.key, ...uuids]);
      const open = states.filter(({ state }) => state !== 'completed' && state !== 'failed');
      if (open.length > 0) throw new Error(JSON.stringify(open.slice(0, 3)));
      return states.length === uuids.length && states;
    },
    240_000,
    2000,
  );
  const failed = ends.filter(({ state }) => state === 'failed');
  const regionOf = new Map(accepted.map(({ uuid, region }) => [uuid, region]));
  const lost = failed.filter((end) => {
    const region = regionOf.get(end.uuid) ?? '';
    return !removed.includes(region) || !failedWithItsRegion(end, region);
  });
  check(lost.length === 0, `accepted captures were lost: ${JSON.stringify(lost.slice(0, 3))}`);
  const completed = ends.length - failed.length;
  const [usage] = await act<{ tokensUsed: number }>(session, ['usage', session.key]);
  check(usage?.tokensUsed === completed, `${completed} captures completed, ${usage?.tokensUsed} tokens are charged`);
  const [retired] = await act<{ captures: number }>(session, ['retired']);
  check(retired?.captures === 0, `captures of removed regions wait: ${JSON.stringify(retired)}`);
  return { completed, failed: failed.length };
}
