import { systemAccount } from '@webcapture/shared/api/account.ts';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { mimeTypes } from '@webcapture/shared/api/formats.ts';
import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { UploadRejectedError } from '@webcapture/shared/files/upload.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { replySubject } from '@webcapture/shared/nats/streams.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { captureJobVersion, type JobReply, type UnsignedJob } from '@webcapture/shared/queue/job.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/queue/jobs.ts';
import { decodeReply, type JobOutcome } from '@webcapture/shared/queue/results.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { CanaryFacts } from '../health/facts.ts';
import type { Term } from '../leader/election.ts';
import { repeat } from '../loops.ts';

/** Interval of checks of a region without renderers. It is short, so that the first canary soon follows the first renderer. */
const absentMs = 500;

export interface CanaryRoundsOptions extends CanaryParts {
  readonly fleet: Fleet;
  readonly canaryResults: CanaryResults;
  readonly regions: readonly Region[];
  /** Interval of the canaries; 0 disables them. */
  readonly intervalMs: number;
  readonly retryMs: number;
  readonly deadlineMs: number;
}

/** Runs the canaries of every region, each at its own interval, during the term. Never throws. */
export async function canaryRounds(options: CanaryRoundsOptions, term: Term): Promise<void> {
  if (options.intervalMs === 0) return;
  await Promise.all(options.regions.map((region) => roundsOf(options, region, term)));
}

async function roundsOf(options: CanaryRoundsOptions, region: Region, term: Term): Promise<void> {
  const { fleet, canaryResults, log } = options;
  const retryMs = Math.min(options.retryMs, options.intervalMs);
  let pauseMs = retryMs;
  const work = async () => {
    // If the following fails, it is retried soon.
    pauseMs = retryMs;
    if (!term.holds()) return;
    if (fleet.serving(region).length === 0) {
      pauseMs = absentMs;
      await canaryResults.forget(region);
      return;
    }
    const outcome = await runCanary(options, region, options.deadlineMs, term.signal);
    if (outcome === null || !term.holds()) return;
    const pods = fleet.serving(region);
    // The state of the region already shows that it has no renderers.
    if (pods.length === 0) return;
    await canaryResults.record(
      region,
      outcome,
      pods.every(({ busy, slots }) => busy >= slots),
    );
    if (outcome.kind === 'completed') pauseMs = options.intervalMs;
  };
  await repeat({ what: `running the canary of ${region}`, everyMs: () => pauseMs, signal: term.signal, log }, work);
}

const keyOf = (region: Region) => `canary.${region}`;

/** Minimum lifetime of a result. A newer result replaces it earlier. */
const minTtlSeconds = 300;

/**
 * Results of the canaries by region. The leader stores them in the bucket `live`. Its successor reads them there, so a change of leader
 * neither ends nor hides an outage.
 */
export class CanaryResults {
  readonly #live: Entries;
  readonly #ttlSeconds: number;
  readonly #now: () => number;
  readonly #facts = new Map<Region, CanaryFacts>();

  /** `now`: the server's clock, Unix ms. */
  constructor(live: Entries, intervalMs: number, now: () => number) {
    this.#live = live;
    this.#now = now;
    this.#ttlSeconds = Math.max(minTtlSeconds, Math.ceil((3 * intervalMs) / 1000));
  }

  of(region: Region): CanaryFacts | null {
    return this.#facts.get(region) ?? null;
  }

  /** Reads the stored results. */
  async load(regions: readonly Region[]): Promise<void> {
    for (const region of regions) {
      const entry = await this.#live.get<CanaryFacts>(keyOf(region));
      if (entry === null) this.#facts.delete(region);
      else this.#facts.set(region, entry.value);
    }
  }

  /** Records the outcome of a canary. `noFreeSlot` means that all slots of the region were busy. */
  async record(region: Region, outcome: CanaryOutcome, noFreeSlot: boolean): Promise<void> {
    const facts = nextFacts(this.of(region), outcome, noFreeSlot, this.#now());
    this.#facts.set(region, facts);
    await this.#live.put(keyOf(region), facts, { ttlSeconds: this.#ttlSeconds });
  }

  /** Deletes the result of a region, because its renderers no longer exist. */
  async forget(region: Region): Promise<void> {
    if (!this.#facts.delete(region)) return;
    await this.#live.delete(keyOf(region));
  }
}

/** Returns the facts after another outcome. */
export function nextFacts(
  before: CanaryFacts | null,
  outcome: CanaryOutcome,
  noFreeSlot: boolean,
  at: number,
): CanaryFacts {
  if (outcome.kind === 'completed') return { last: 'completed', failures: 0, ms: outcome.ms, at };
  const kept = before?.ms === undefined ? {} : { ms: before.ms };
  const failures = before?.failures ?? 0;
  if (outcome.kind === 'failed') return { last: 'failed', failures: failures + 1, reason: outcome.reason, at, ...kept };
  if (noFreeSlot) return { last: 'no_free_slot', failures: 0, at, ...kept };
  return { last: 'failed', failures: failures + 1, reason: 'No renderer took it.', at, ...kept };
}

export type CanaryOutcome =
  | { readonly kind: 'completed'; readonly ms: number }
  | { readonly kind: 'failed'; readonly reason: string }
  /** No renderer took the job. */
  | { readonly kind: 'untouched' };

export interface CanaryParts {
  readonly session: NatsSession;
  readonly jobs: Jobs;
  readonly store: FileStore;
  readonly log: Logger;
}

const cleanUpTimeoutMs = 3000;
const maxFileDelayMs = 2000;

/**
 * Sends one canary capture through the real queue of a region, checks its file, and removes both. Returns null if the signal aborts it.
 * Throws if the job could not be queued or the file could not be read, because neither is a fault of the renderers.
 */
export async function runCanary(
  parts: CanaryParts,
  region: Region,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<CanaryOutcome | null> {
  const { session, jobs } = parts;
  const job = newCanary(region, session.now(), deadlineMs);
  const replied = new AbortController();
  let outcome: JobOutcome | null = null;
  const subscription = session.nc.subscribe(job.reply.subject, {
    callback: (error, message) => {
      if (error !== null) return;
      outcome = decodeReply(message.data)?.result.outcome ?? null;
      if (outcome !== null) replied.abort();
    },
  });
  const started = performance.now();
  let queued: QueuedJob | null = null;
  try {
    queued = await jobs.publish(job);
    await delay(deadlineMs - (performance.now() - started), AbortSignal.any([replied.signal, signal]));
    const ms = performance.now() - started;
    if (signal.aborted) return null;
    if (outcome === null) return (await jobs.isTaken(job, queued)) ? lateAfter(ms) : { kind: 'untouched' };
    return await judge(parts, job, outcome, ms);
  } finally {
    subscription.unsubscribe();
    await cleanUp(parts, job, queued);
  }
}

async function judge(
  { store }: CanaryParts,
  job: UnsignedJob,
  outcome: JobOutcome,
  ms: number,
): Promise<CanaryOutcome> {
  if (outcome.kind === 'failed') return { kind: 'failed', reason: outcome.message };
  if (outcome.kind !== 'completed') return { kind: 'untouched' };
  const { object } = job.file;
  const wanted = { name: object, object, account: job.account, region: job.region, isRefresh: false };
  const { upload } = outcome;
  const expected = { ...wanted, contentType: mimeTypes[job.options.format], expiresAt: upload.expiresAt };
  const deadline = performance.now() + maxFileDelayMs;
  // The reply may arrive before the file is visible.
  const accept = async (): ReturnType<FileStore['accept']> => {
    try {
      return await store.accept(upload, expected);
    } catch (error) {
      const isEarly = error instanceof UploadRejectedError && error.reason === 'missing';
      if (!isEarly || performance.now() > deadline) throw error;
      await delay(50);
      return accept();
    }
  };
  try {
    const { file } = await accept();
    const isRight = file.width === canaryViewport.width && file.height === canaryViewport.height;
    return isRight ? { kind: 'completed', ms } : { kind: 'failed', reason: 'The image has the wrong size.' };
  } catch (error) {
    if (!(error instanceof UploadRejectedError)) throw error;
    return { kind: 'failed', reason: 'The file does not have the requested format.' };
  }
}

const lateAfter = (ms: number): CanaryOutcome => ({
  kind: 'failed',
  reason: `It did not finish within ${Math.round(ms / 1000)} s.`,
});

/** Removes the job and the file. If that fails, they expire. */
async function cleanUp({ jobs, store, log }: CanaryParts, job: UnsignedJob, queued: QueuedJob | null): Promise<void> {
  const removeAll = async () => {
    if (queued !== null) await jobs.remove(queued);
    await store.remove(job.file.object);
  };
  try {
    await withDeadline(removeAll(), cleanUpTimeoutMs, 'removing a canary capture');
  } catch (error) {
    log.debug({ err: error }, 'canary capture not removed; it will expire');
  }
}

const canaryViewport = { width: 320, height: 200, deviceScaleFactor: 1 } as const;

/** Lifetime of a canary's file that was not removed. */
const fileLifetimeMs = 10 * 60_000;

const html = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>webcapture canary</title>
  <style>body { background: #0b7285; color: #fff; font: 20px sans-serif; padding: 2em }</style>
  <p>All is well.</p>
</html>`;

const options: RenderOptions = {
  format: 'png',
  viewport: canaryViewport,
  isFullPage: false,
  quality: 80,
  colorScheme: 'light',
  timeout: 5000,
  waitUntil: 'load',
  imageTimeout: 0,
  delay: 0,
  antiBot: false,
  block: blockNothing,
  pdf: {
    paper: 'A4',
    landscape: false,
    margin: { top: 10, right: 10, bottom: 10, left: 10 },
    printBackground: true,
    scale: 1,
  },
};

/** Creates a small capture of built-in HTML, as a front would queue it, but without a record. Times are the server's. */
function newCanary(region: Region, now: number, deadlineMs: number): UnsignedJob & { readonly reply: JobReply } {
  const uuid = uuidV7(now);
  const deadline = now + deadlineMs;
  const object = newFileName(uuid, options.format);
  return {
    version: captureJobVersion,
    uuid,
    revision: 0,
    region,
    ticket: { account: systemAccount, uuid, revision: 0, region, object },
    reply: { subject: replySubject(region, 'canary', uuid), wants: 'result' },
    resultTtlSeconds: Math.ceil(deadlineMs / 1000),
    account: systemAccount,
    priority: 'interactive',
    acceptedAt: now,
    startBy: deadline,
    deadline,
    file: { object, lifetimeMs: fileLifetimeMs },
    source: { kind: 'html', html },
    options,
  };
}
