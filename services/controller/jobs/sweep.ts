import type { StoredMsg } from '@nats-io/jetstream';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import { isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { stateOf } from '@webcapture/shared/captures/transitions.ts';
import { duration } from '../health/verdict.ts';
import type { Term } from '../leader/election.ts';
import { convertOldJob, readQueuedJob, readJobs } from './queued-jobs.ts';
import type { Settlement, Settler } from './settler.ts';

/** Fronts and renderers act on the same times by clocks of their own: they go first. */
const graceMs = 3000;

/** Jobs looked at on each subject in a pass: so many from the head, and so many further on. */
const batch = 16;

export interface OverdueSweepParts {
  readonly session: NatsSession;
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly settler: Settler;
  /** Unix milliseconds by the server's clock. */
  readonly now?: () => number;
}

/**
 * Settles captures that have waited past their time and that nobody pulls: the server says nothing of a message that
 * it could not deliver. Each pass looks at the head of every subject, and at one more piece further on, so that a long
 * queue is walked through in the course of time.
 */
export class OverdueSweep {
  readonly #parts: OverdueSweepParts;
  readonly #now: () => number;
  /** Where the walk through a subject goes on. */
  readonly #cursors = new Map<string, number>();

  constructor(parts: OverdueSweepParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => parts.session.now());
  }

  async pass(term: Pick<Term, 'holds'>): Promise<void> {
    for (const subject of await this.#subjects()) {
      if (!term.holds()) return;
      const head = await readJobs(this.#parts.session, subject, 1, batch);
      for (const message of head) await this.#look(message, term);
      if (head.length === 0) continue;
      const from = Math.max(this.#cursors.get(subject) ?? 1, (head.at(-1)?.seq ?? 0) + 1);
      const further = await readJobs(this.#parts.session, subject, from, batch);
      for (const message of further) await this.#look(message, term);
      const last = further.at(-1);
      if (last === undefined) this.#cursors.delete(subject);
      else this.#cursors.set(subject, last.seq + 1);
    }
  }

  /** Every subject that holds jobs, those of regions that are no longer installed among them. */
  async #subjects(): Promise<string[]> {
    try {
      const info = await this.#parts.session.jsm.streams.info(streamNames.captures, { subjects_filter: 'captures.>' });
      return Object.keys(info.state.subjects ?? {});
    } catch (error) {
      if (isNotProvisioned(error)) return [];
      throw error;
    }
  }

  async #look(message: StoredMsg, term: Pick<Term, 'holds'>): Promise<void> {
    const job = readQueuedJob(message.data);
    if (job === null) return;
    const { captures, jobs, settler } = this.#parts;
    const now = this.#now() - graceMs;
    if (now <= Math.min(job.startBy, job.deadline)) {
      if (!term.holds() || !(await convertOldJob(job, message.seq, { captures, jobs, unlessBegun: true }))) return;
      await jobs.remove({ sequence: message.seq });
      return;
    }
    const record = await captures.get(job.account, job.uuid);
    // An interactive capture has no record before it ends: until its deadline its front, if it lives, sees to it.
    const state =
      record === null ? (job.draft === undefined ? null : 'rendering') : stateOf(record.value, job.revision);
    const due = whatIsDue(job, state, now);
    if (due === null || !term.holds()) return;
    if (due === 'remove' && record !== null) await settler.follow(record.value);
    if (due === 'remove' || (await settler.settle(job, due))) await jobs.remove({ sequence: message.seq });
  }
}

/**
 * What is to be done about a job whose time to start, or deadline, has passed. A capture that somebody renders has its
 * deadline to end; one that has ended leaves a job that is only in the way.
 *
 * @param status of the capture, or of the refresh that the job is for; null when there is no record
 */
export function whatIsDue(
  job: Pick<CaptureJob, 'acceptedAt' | 'startBy' | 'deadline'>,
  status: ReturnType<typeof stateOf> | null,
  now: number,
): 'remove' | Settlement | null {
  const overdue = now > job.deadline;
  if (status === null) return overdue ? 'remove' : null;
  if (status === 'queued') {
    const waited = Math.min(job.startBy, job.deadline) - job.acceptedAt;
    const message = `No renderer took the capture within ${duration(waited)}.`;
    return { reason: 'not_started', unlessBegun: true, failure: { code: 'CAPTURE_TIMEOUT', message } };
  }
  if (status !== 'rendering') return 'remove';
  if (!overdue) return null;
  const message = `The capture did not end within ${duration(job.deadline - job.acceptedAt)}.`;
  return { reason: 'deadline', unlessBegun: false, failure: { code: 'CAPTURE_TIMEOUT', message } };
}
