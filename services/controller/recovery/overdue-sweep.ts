import type { StoredMsg } from '@nats-io/jetstream';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { stateOf } from '@webcapture/shared/captures/transitions.ts';
import { isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { readBatch } from '@webcapture/shared/nats/read-many.ts';
import { prefixed, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { Term } from '../leader/election.ts';
import { decideOverdue, type FailCapture } from './fail-capture.ts';
import { readQueuedJob } from './queued-jobs.ts';

/** Time for which fronts and renderers, which watch the same deadlines by their own clocks, may act first. */
const graceMs = 3000;

/** Number of jobs that are read per subject and pass, once from the head and once further on. */
const batch = 16;

/** A job may contain up to max_payload bytes of HTML. */
const maxBytes = 4 * 1024 * 1024;

export interface OverdueSweepDeps {
  readonly session: NatsSession;
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly failCapture: FailCapture;
  readonly followUps: FollowUps;
  /** Unix milliseconds; default: the server's clock. */
  readonly now?: () => number;
}

/**
 * Fails captures that no renderer pulled in time. The sweep is needed because the server sends no advisory about a message that it never
 * delivered. Each pass reads the head of every subject and one further section, so that several passes cover a long queue.
 */
export class OverdueSweep {
  readonly #deps: OverdueSweepDeps;
  /** Sequence at which the next pass continues in each subject. */
  readonly #cursors = new Map<string, number>();

  constructor(deps: OverdueSweepDeps) {
    this.#deps = deps;
  }

  async pass(term: Pick<Term, 'holds'>): Promise<void> {
    for (const subject of await this.#subjects()) {
      if (!term.holds()) return;
      const headEnd = await this.#look(subject, 1, term);
      if (headEnd === null) continue;
      const from = Math.max(this.#cursors.get(subject) ?? 1, headEnd + 1);
      const end = await this.#look(subject, from, term);
      if (end === null) this.#cursors.delete(subject);
      else this.#cursors.set(subject, end + 1);
    }
  }

  /** Returns every subject with jobs, including those of regions that are no longer installed. */
  async #subjects(): Promise<string[]> {
    try {
      const info = await this.#deps.session.jsm.streams.info(streamNames.captures, {
        subjects_filter: prefixed('captures.>'),
      });
      return Object.keys(info.state.subjects ?? {});
    } catch (error) {
      if (isNotProvisioned(error)) return [];
      throw error;
    }
  }

  /**
   * Reads the next jobs of a subject from a sequence on, without taking them from the queue. Returns the last sequence; null if there are
   * no jobs.
   */
  async #look(subject: string, sequence: number, term: Pick<Term, 'holds'>): Promise<number | null> {
    const query = { seq: sequence, next_by_subj: subject, batch, max_bytes: maxBytes };
    const messages = await readBatch(this.#deps.session, streamNames.captures, query);
    for (const message of messages) await this.#lookAt(message, term);
    return messages.at(-1)?.seq ?? null;
  }

  async #lookAt({ data, seq: sequence }: StoredMsg, term: Pick<Term, 'holds'>): Promise<void> {
    const job = readQueuedJob(data);
    if (job === null) return;
    const { session, captures, jobs, failCapture, followUps } = this.#deps;
    const now = (this.#deps.now ?? session.now)() - graceMs;
    if (now <= Math.min(job.startBy, job.deadline)) return;
    const record = await captures.get(job.account, job.uuid);
    // An interactive capture has no record before it ends. Until its deadline only its front, which may be running, may end it.
    const state =
      record === null ? (job.draft === undefined ? null : 'rendering') : stateOf(record.value, job.revision);
    const due = decideOverdue(job, state, now);
    if (due === null || !term.holds()) return;
    if (due === 'remove' && record !== null) await followUps.schedule(record.value);
    if (due === 'remove' || (await failCapture(job, due))) await jobs.remove({ sequence });
  }
}
