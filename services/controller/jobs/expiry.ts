import type { StoredMsg } from '@nats-io/jetstream';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { isTombstone, type Entry } from '@webcapture/shared/nats/entries.ts';
import { readBatch } from '@webcapture/shared/nats/read-many.ts';
import { expirySubject, keySubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { overdueAt } from '@webcapture/shared/captures/times.ts';
import { captureKey, type CaptureRef, type Captures } from '@webcapture/shared/captures/captures.ts';
import {
  endOfMinute,
  expandAheadMs,
  minuteSubject,
  parseExpiry,
  startOfSubject,
  type ExpiryIndex,
  type Expiry,
} from '@webcapture/shared/captures/expiry-index.ts';
import type { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { expire } from '@webcapture/shared/captures/transitions.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { Semaphore } from '@webcapture/shared/runtime/semaphore.ts';
import type { ControllerMetrics } from '../health/metrics.ts';
import type { Term } from '../leader/election.ts';
import { eachOf } from '../loops.ts';

const minuteMs = 60_000;

export interface ExpiryDeps {
  readonly captures: Captures;
  readonly tasks: Tasks;
  readonly expiryIndex: ExpiryIndex;
  readonly removeCaptureFiles: (record: CaptureRecord) => Promise<void>;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/**
 * Ends an overdue capture, and removes the files of a capture that has expired, failed or been deleted. If a refresh has extended the
 * file's lifetime, the expiry is scheduled again.
 *
 * @param known the record as read earlier; it may come from a lagging replica, because the compare-and-set detects an outdated record
 */
export async function expireCapture(
  { account, uuid }: CaptureRef,
  { captures, tasks, expiryIndex, removeCaptureFiles, now = Date.now }: ExpiryDeps,
  known?: Entry<CaptureRecord>,
): Promise<void> {
  const record = await captures.change({ account, uuid }, expire, known === undefined ? {} : { known });
  if (record?.status === 'completed') {
    // The entry must not be added to the minute that is being processed, where it would count as a duplicate.
    await expiryIndex.add({ account, uuid }, Math.max(record.expiresAt, now() + minuteMs));
  }
  if (record === null || !['expired', 'deleted', 'failed'].includes(record.status)) return;
  await removeCaptureFiles(record);
  // A renderer that was working on a refresh may store its file now, and die before the file is removed.
  const { refresh } = record;
  if (refresh?.failure?.cancelled === true && now() < refresh.deadline) {
    await tasks.schedule({ kind: 'expiry', account, uuid }, overdueAt(refresh.deadline));
  }
}

/** Maximum number of concurrent removals. A bucket takes 50 ms for each, and two thousand may be due in a second. */
const maxInFlight = 256;

/** Number of entries and records that one request reads. The server answers requests for at most about a thousand subjects. */
const entriesAtOnce = 1000;
const recordsAtOnce = 500;

/** Number of minutes that are processed concurrently. After a long pause there are many minutes with a few entries each. */
const subjectsAtOnce = 8;

/** Delay before a failed cleanup is retried. */
const retryMs = 5 * 60_000;

/** Number of consecutive failures after which the store counts as failing. Nothing is postponed then, and the next pass retries. */
const outageSize = 20;

export interface ExpirySweepDeps extends ExpiryDeps {
  readonly session: NatsSession;
  readonly expiryIndex: ExpiryIndex;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
}

/** Progress of reading a subject. */
interface Minute {
  /** Stream sequence of the first unread entry. */
  next: number;
  /** Entries that were read before they are due. */
  waiting: Expiry[];
}

/**
 * Ends captures when they are due, by the entries of the expiry index. The current minute is read repeatedly. A past minute is purged when
 * all of its entries are processed. If a leader dies before that, the next leader processes the minute again, and thus repeats some of its
 * entries.
 */
export class ExpirySweep {
  readonly #deps: ExpirySweepDeps;
  readonly #now: () => number;
  readonly #semaphore = new Semaphore(maxInFlight);
  readonly #minutes = new Map<string, Minute>();

  constructor(deps: ExpirySweepDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /** Ends due captures, the oldest first. Throws if NATS or the store fails. */
  async pass(term: Pick<Term, 'holds'>): Promise<void> {
    const now = this.#now();
    const begun = (await this.#subjects(expirySubject('*', '*'))).filter((subject) => startOfSubject(subject) <= now);
    const [oldest] = begun;
    const lagMs = oldest === undefined ? 0 : Math.max(0, now - endOfMinute(oldest));
    this.#deps.metrics.expiryLag.set(lagMs / 1000);
    const kept = new Set(begun);
    for (const subject of this.#minutes.keys()) {
      if (!kept.has(subject)) this.#minutes.delete(subject);
    }
    const failures: unknown[] = [];
    await eachOf(begun, subjectsAtOnce, async (subject) => {
      if (failures.length > 0) return;
      await this.#workThrough(subject, term).catch((error: unknown) => failures.push(error));
    });
    if (failures.length > 0) throw failures[0];
  }

  /** Moves the entries of an upcoming day to their minutes. */
  async expandDays(term: Pick<Term, 'holds'>): Promise<void> {
    const days = await this.#subjects(expirySubject('*'));
    for (const subject of days) {
      if (startOfSubject(subject) - expandAheadMs > this.#now()) continue;
      while (term.holds()) {
        const messages = await this.#read(subject, 1);
        const entries = messages.flatMap(({ data }) => parseExpiry(data) ?? []);
        await Promise.all(entries.map((entry) => this.#deps.expiryIndex.write(entry, minuteSubject(entry.expiresAt))));
        const last = messages.at(-1);
        if (last === undefined) break;
        await this.#purge(subject, last.seq + 1);
      }
    }
  }

  /** Returns the non-empty subjects that match the filter, ordered by time. */
  async #subjects(filter: string): Promise<string[]> {
    const { state } = await this.#deps.session.jsm.streams.info(streamNames.expiry, { subjects_filter: filter });
    return Object.keys(state.subjects ?? {})
      .filter((subject) => !Number.isNaN(startOfSubject(subject)))
      .toSorted();
  }

  async #workThrough(subject: string, term: Pick<Term, 'holds'>): Promise<void> {
    const minute = this.#minutes.get(subject) ?? { next: 1, waiting: [] };
    this.#minutes.set(subject, minute);
    while (term.holds()) {
      const messages = await this.#read(subject, minute.next);
      const now = this.#now();
      const isOver = endOfMinute(subject) <= now;
      const entries = [...minute.waiting, ...messages.flatMap(({ data }) => parseExpiry(data) ?? [])];
      const { due = [], waiting = [] } = Object.groupBy(entries, ({ expiresAt }) =>
        isOver || expiresAt <= now ? 'due' : 'waiting',
      );
      await this.#expire(due, term);
      minute.waiting = waiting;
      minute.next = (messages.at(-1)?.seq ?? minute.next - 1) + 1;
      // Entries of the current minute are kept: if another leader takes over, it needs those that are not due yet.
      if (isOver && minute.next > 1) await this.#purge(subject, minute.next);
      if (messages.length < entriesAtOnce) return;
    }
  }

  async #expire(entries: readonly Expiry[], term: Pick<Term, 'holds'>): Promise<void> {
    for (let start = 0; start < entries.length; start += entriesAtOnce) {
      const some = entries.slice(start, start + entriesAtOnce);
      const records = await this.#records(some);
      const failures: { readonly entry: Expiry; readonly error: unknown }[] = [];
      const expireOne = async (entry: Expiry) => {
        try {
          if (!term.holds()) throw new Error('the term is over');
          await expireCapture(entry, this.#deps, records.get(entry.uuid));
          this.#deps.metrics.tasks.inc({ kind: 'expiry', outcome: 'done' });
        } catch (error) {
          this.#deps.metrics.tasks.inc({ kind: 'expiry', outcome: 'failed' });
          failures.push({ entry, error });
        }
      };
      await Promise.all(some.map((entry) => this.#semaphore.run(() => expireOne(entry))));
      const [first] = failures;
      if (first === undefined) continue;
      const isOutage = failures.length >= outageSize && failures.length === some.length;
      if (isOutage || !term.holds()) throw first.error;
      const facts = { err: first.error, count: failures.length };
      this.#deps.log.warn(facts, 'cleanup of expired captures failed; retrying in 5 minutes');
      await Promise.all(failures.map(({ entry }) => this.#deps.expiryIndex.add(entry, this.#now() + retryMs)));
    }
  }

  /** Returns the records of the captures by uuid, from any replica. Missing records are absent. */
  async #records(entries: readonly Expiry[]): Promise<ReadonlyMap<string, Entry<CaptureRecord>>> {
    const found = new Map<string, Entry<CaptureRecord>>();
    const subjects = new Set(entries.map(({ account, uuid }) => keySubject('db', captureKey(account, uuid))));
    for (let rest = [...subjects]; rest.length > 0; rest = rest.slice(recordsAtOnce)) {
      const query = { multi_last: rest.slice(0, recordsAtOnce) };
      for (const message of await readBatch(this.#deps.session, streamNames.db, query)) {
        if (isTombstone(message.header)) continue;
        const value = message.json<CaptureRecord>();
        found.set(value.uuid, { value, revision: message.seq });
      }
    }
    return found;
  }

  #read(subject: string, sequence: number): Promise<StoredMsg[]> {
    const query = { seq: sequence, next_by_subj: subject, batch: entriesAtOnce };
    return readBatch(this.#deps.session, streamNames.expiry, query);
  }

  /** Removes a subject's entries before a sequence; newer ones stay. */
  async #purge(subject: string, before: number): Promise<void> {
    await this.#deps.session.jsm.streams.purge(streamNames.expiry, { filter: subject, seq: before });
  }
}
