import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import { streamNames, taskAckWaitMs, taskDurable, type TaskKind } from '@webcapture/shared/nats/streams.ts';
import { parseTask, type Task } from '@webcapture/shared/state/tasks.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { ControllerMetrics } from '../apply/metrics.ts';
import type { Term } from '../leader/election.ts';
import { pullInTerm } from '../leader/pull-in-term.ts';

/** A task that could not be done comes again after this. */
const retryMs = 5000;

/** A task of an account that has its share comes again after this, and later each time. */
const crowdedMs = 2000;
const mostCrowdedMs = 60_000;

export type TaskOf<K extends TaskKind> = Extract<Task, { readonly kind: K }>;

export interface TaskWork<K extends TaskKind> {
  readonly kind: K;
  /** How many are done at a time. */
  readonly parallel: number;
  /** How many of these may be of one account; without it all may. */
  readonly perAccount?: number;
  /** Does it; may be called again for the same task. What it throws has the task come again. */
  readonly run: (task: TaskOf<K>) => Promise<void>;
}

export interface RunTasksDeps {
  readonly session: NatsSession;
  readonly metrics: Pick<ControllerMetrics, 'task'>;
  readonly log: Logger;
}

/** Does the tasks of one kind as they come, for as long as the term lasts. Never throws. */
export async function runTasks<K extends TaskKind>(work: TaskWork<K>, deps: RunTasksDeps, term: Term): Promise<void> {
  const running = new Map<string, number>();
  await Promise.all(Array.from({ length: work.parallel }, () => serve(work, running, deps, term)));
}

async function serve<K extends TaskKind>(
  work: TaskWork<K>,
  running: Map<string, number>,
  deps: RunTasksDeps,
  term: Term,
): Promise<void> {
  while (term.holds()) {
    let message: PulledMessage | null;
    try {
      message = await pullInTerm(deps.session, streamNames.tasks, taskDurable(work.kind), term);
    } catch {
      // That nothing can be had is no news: the state of the queue tells.
      await delay(1000, term.signal);
      continue;
    }
    if (message !== null) await handle(message, work, running, deps);
  }
}

async function handle<K extends TaskKind>(
  message: PulledMessage,
  { kind, run, perAccount = Number.POSITIVE_INFINITY }: TaskWork<K>,
  running: Map<string, number>,
  { metrics, log }: RunTasksDeps,
): Promise<void> {
  const task = read(message, log);
  const account = task?.account ?? '';
  const before = running.get(account) ?? 0;
  if (before >= perAccount) {
    // The more often, the longer: a thousand of one account must not keep the queue busy with themselves.
    message.handBack(Math.min(message.delivery * crowdedMs, mostCrowdedMs) * (0.5 + Math.random() / 2));
    return;
  }
  running.set(account, before + 1);
  const heartbeat = setInterval(() => message.working(), taskAckWaitMs * 0.3);
  try {
    if (task?.kind === kind) await run(task as TaskOf<K>);
    await message.ack();
    metrics.task(kind, 'done');
  } catch (error) {
    metrics.task(kind, 'failed');
    log.warn({ err: error, kind, delivery: message.delivery }, 'a task could not be done; it comes again');
    message.handBack(retryMs);
  } finally {
    clearInterval(heartbeat);
    const after = (running.get(account) ?? 1) - 1;
    if (after === 0) running.delete(account);
    else running.set(account, after);
  }
}

/** Null for what nobody will ever be able to do. */
function read(message: PulledMessage, log: Logger): Task | null {
  try {
    return parseTask(message.data);
  } catch (error) {
    log.error({ err: error, subject: message.subject }, 'a message among the tasks is none');
    return null;
  }
}
