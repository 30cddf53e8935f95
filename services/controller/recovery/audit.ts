import type { StoredMsg } from '@nats-io/jetstream';
import type { Registry } from 'prom-client';
import type { BatchRecord } from '@webcapture/shared/captures/batch-record.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { getMessage } from '@webcapture/shared/nats/get-message.ts';
import { isTombstone, type Entries } from '@webcapture/shared/nats/entries.ts';
import { keysMatching, readBatch, readMany } from '@webcapture/shared/nats/read-many.ts';
import {
  keySubject,
  laterSubject,
  streamNames,
  type TaskKind,
  taskKinds,
  taskSubject,
} from '@webcapture/shared/nats/streams.ts';
import { overdueAt } from '@webcapture/shared/captures/times.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { pendingDelivery } from '@webcapture/shared/queue/follow-ups.ts';
import { nameOf, type Task, type Tasks } from '@webcapture/shared/queue/tasks.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Term } from '../leader/election.ts';
import { eachOf } from '../loops.ts';
import { counterOf, gaugeOf } from '../metrics.ts';

const progressKey = 'record-audit.pass';

/** Number of records that one request reads. With the pause after each request, ten million records take an hour and a half. */
const pageSize = 1000;
const auditPauseMs = 500;

/** The server answers requests for at most about a thousand subjects. */
const subjectsAtOnce = 500;

/** Number of batches that one request reads; each has up to 40 KB. */
const batchesAtOnce = 100;

/** Maximum number of incomplete records that are handled concurrently. */
const parallel = 16;

/** Time in which the process that writes a record schedules its tasks. An expiry may be late by the same time. */
const marginMs = 10 * 60_000;

/**
 * Progress of an audit. It is stored in the bucket `live`, where the next leader reads it. Times in Unix milliseconds.
 */
export interface AuditState {
  readonly startedAt: number;
  /** Null until the audit ends. */
  readonly endedAt: number | null;
  /** Stream sequences: records up to the first one have been checked, and those up to the second one will be. */
  readonly sequence: number;
  readonly lastSequence: number;
  readonly records: number;
  readonly recreated: Readonly<Record<TaskKind, number>>;
}

export interface AuditDeps {
  readonly session: NatsSession;
  readonly captures: Captures;
  readonly tasks: Tasks;
  readonly expiryIndex: ExpiryIndex;
  readonly live: Entries;
  readonly auditMetrics: AuditMetrics;
  readonly log: Logger;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A task that a record needs, and when it is due. */
interface Wanted {
  readonly task: Task;
  readonly at: number;
}

/**
 * Recreates missing tasks from the records. Tasks can be missing because a full stream drops its oldest messages. Starts an audit if the
 * last one began long enough ago, or continues an unfinished one. An audit reads all records in the order of their last write.
 *
 * @param intervalMs from the start of one audit to the start of the next
 */
export async function auditIfDue(
  deps: AuditDeps,
  intervalMs: number,
  term: Pick<Term, 'holds' | 'signal'>,
  pauseMs = auditPauseMs,
): Promise<void> {
  const { live, session, now, auditMetrics, log } = deps;
  const last = (await live.get<AuditState>(progressKey))?.value ?? null;
  if (last?.endedAt) auditMetrics.endedAt.set(last.endedAt / 1000);
  const isUnfinished = last !== null && last.endedAt === null;
  if (!isUnfinished && last !== null && now() < last.startedAt + intervalMs) return;
  let state = isUnfinished ? last : newAudit(now(), (await session.jsm.streams.info(streamNames.db)).state.last_seq);
  while (state.endedAt === null) {
    if (!term.holds()) return;
    state = await auditPage(state, deps);
    await live.put(progressKey, state);
    if (state.endedAt === null) await delay(pauseMs, term.signal);
  }
  auditMetrics.endedAt.set(state.endedAt / 1000);
  const { records, recreated } = state;
  const total = taskKinds.reduce((sum, kind) => sum + recreated[kind], 0);
  const facts = { records, recreated, seconds: Math.round((now() - state.startedAt) / 1000) };
  if (total === 0) log.info(facts, 'audit of capture records finished: no task was missing');
  else log.warn(facts, `audit of capture records finished: ${total} missing tasks recreated`);
}

const noneRecreated = { dispatch: 0, expiry: 0, refresh: 0, webhook: 0, batch: 0 };

const newAudit = (startedAt: number, lastSequence: number): AuditState => ({
  startedAt,
  endedAt: null,
  sequence: 0,
  lastSequence,
  records: 0,
  recreated: noneRecreated,
});

async function auditPage(state: AuditState, deps: AuditDeps): Promise<AuditState> {
  const { session, now, auditMetrics } = deps;
  // An earlier version may have written the state.
  const recreated = { ...noneRecreated, ...state.recreated };
  const onRecreated = (kind: TaskKind) => {
    recreated[kind]++;
    auditMetrics.recreated.inc({ kind });
  };
  const query = { seq: state.sequence + 1, next_by_subj: keySubject('db', 'capture.>') };
  const messages = await readBatch(session, streamNames.db, { ...query, batch: pageSize });
  const last = messages.at(-1);
  if (last === undefined) {
    // Any replica may have answered, including one that is behind.
    if ((await getMessage(session.jsm.streams, streamNames.db, query)) !== null)
      throw new Error('the replica that answered lags behind the leader of the capture records');
    await recreateMissingOfBatches(deps, onRecreated);
    return { ...state, recreated, endedAt: now() };
  }
  await recreateMissing(messages, deps, onRecreated);
  const records = state.records + messages.length;
  const isLast = last.seq >= state.lastSequence;
  if (isLast) await recreateMissingOfBatches(deps, onRecreated);
  const endedAt = isLast ? now() : null;
  return { ...state, sequence: last.seq, records, recreated, endedAt };
}

async function recreateMissing(
  messages: readonly StoredMsg[],
  deps: AuditDeps,
  onRecreated: (kind: TaskKind) => void,
): Promise<void> {
  const now = deps.now();
  const found = messages
    .filter(({ header, time }) => !isTombstone(header) && time.getTime() < now - marginMs)
    .map((message) => ({ sequence: message.seq, record: message.json<CaptureRecord>() }))
    .map((entry) => ({ ...entry, wanted: wantedOf(entry.record, now) }));
  const present = await presentSubjects(
    deps.session,
    found.flatMap(({ wanted }) => wanted.flatMap(({ task }) => subjectsOf(task))),
  );
  const lacking = found
    .map(({ wanted, ...entry }) => ({
      ...entry,
      wanted: wanted.filter(({ task }) => !subjectsOf(task).some((subject) => present.has(subject))),
    }))
    .filter(({ wanted }) => wanted.length > 0);
  const failures: unknown[] = [];
  await eachOf(lacking, parallel, async ({ sequence, record, wanted }) => {
    try {
      // So far any replica may have answered, so the leader is asked now. If the record is newer, the process that wrote it schedules its
      // tasks.
      const current = await deps.captures.get(record.account, record.uuid);
      if (current?.revision !== sequence) return;
      for (const each of wanted) {
        if (await recreate(each, deps)) onRecreated(each.task.kind);
      }
    } catch (error) {
      failures.push(error);
    }
  });
  if (failures.length > 0) throw failures[0];
}

/** Like {@link recreateMissing}, for the batches with a webhook. */
async function recreateMissingOfBatches(deps: AuditDeps, onRecreated: (kind: TaskKind) => void): Promise<void> {
  const { session, now } = deps;
  const keys = await keysMatching(session, 'db', 'batch.>');
  for (let start = 0; start < keys.length; start += batchesAtOnce) {
    const batches = await readMany<BatchRecord>(session, 'db', keys.slice(start, start + batchesAtOnce));
    const wanted = [...batches.values()].flatMap((batch) => wantedOfBatch(batch, now()));
    const present = await presentSubjects(
      session,
      wanted.flatMap(({ task }) => subjectsOf(task)),
    );
    const missing = wanted.filter(({ task }) => !subjectsOf(task).some((subject) => present.has(subject)));
    for (const each of missing) if (await recreate(each, deps)) onRecreated(each.task.kind);
  }
}

/** Returns the task that a batch needs. A task that is no longer needed does nothing. */
function wantedOfBatch(batch: BatchRecord, now: number): Wanted[] {
  const { account, uuid, webhook } = batch;
  if (webhook === undefined || (timeOfUuid(uuid) ?? 0) > now - marginMs) return [];
  if (webhook.state === 'waiting') return [{ task: { kind: 'batch', account, uuid }, at: now }];
  const delivery = pendingDelivery(batch);
  return delivery === null ? [] : [{ task: delivery, at: webhook.nextAttemptAt ?? delivery.firstAt }];
}

/** Returns the tasks that a record needs. */
function wantedOf(record: CaptureRecord, now: number): Wanted[] {
  const { account, uuid, status, expiresAt, nextRefreshAt, webhook, refresh } = record;
  const capture = { account, uuid };
  const wanted: Wanted[] = [];
  if (status === 'completed' && expiresAt < now - marginMs) {
    wanted.push({ task: { kind: 'expiry', ...capture }, at: expiresAt });
  }
  if (status === 'completed' && expiresAt > now && nextRefreshAt !== undefined) {
    wanted.push({ task: { kind: 'refresh', ...capture }, at: nextRefreshAt });
  }
  const open = [{ revision: 0, deadline: record.deadline }, ...(refresh === undefined ? [] : [refresh])];
  for (const { revision, deadline } of open.filter((turn) => isOpen(record, turn.revision))) {
    wanted.push({ task: { kind: 'dispatch', ...capture, revision }, at: overdueAt(deadline) });
  }
  const delivery = status === 'deleted' ? null : pendingDelivery(record);
  if (delivery !== null) wanted.push({ task: delivery, at: webhook?.nextAttemptAt ?? delivery.firstAt });
  return wanted;
}

/**
 * Returns the subjects on which a task waits: first until it is due, and then for the leader. Expiries have a separate index, which is not
 * read.
 */
function subjectsOf(task: Task): string[] {
  if (task.kind === 'expiry') return [];
  const name = nameOf(task);
  return [laterSubject(task.kind, name), taskSubject(task.kind, name)];
}

async function presentSubjects(session: NatsSession, subjects: readonly string[]): Promise<ReadonlySet<string>> {
  const present = new Set<string>();
  for (let start = 0; start < subjects.length; start += subjectsAtOnce) {
    const query = { multi_last: subjects.slice(start, start + subjectsAtOnce) };
    for (const { subject } of await readBatch(session, streamNames.tasks, query)) present.add(subject);
  }
  return present;
}

/** Recreates a task. Returns false if the task exists after all. */
async function recreate({ task, at }: Wanted, { session, tasks, expiryIndex, now }: AuditDeps): Promise<boolean> {
  if (task.kind === 'expiry') {
    // The entry is added as due now. If it named the original minute, the server would reject it as a duplicate of the lost entry.
    await expiryIndex.add(task, now());
    return true;
  }
  for (const subject of subjectsOf(task)) {
    if ((await getMessage(session.jsm.streams, streamNames.tasks, { last_by_subj: subject })) !== null) return false;
  }
  if (at <= now()) await tasks.publish(task);
  else await tasks.schedule(task, at);
  return true;
}

type AuditMetrics = ReturnType<typeof createAuditMetrics>;

export const createAuditMetrics = (registry: Registry) => ({
  recreated: counterOf(
    registry,
    'webcapture_record_audit_recreated_total',
    'Missing tasks that the audit of the capture records recreated, by kind.',
    { kind: taskKinds },
  ),
  endedAt: gaugeOf(
    registry,
    'webcapture_record_audit_last_end_timestamp_seconds',
    'Unix time of the end of the last audit of the capture records.',
  ),
});
