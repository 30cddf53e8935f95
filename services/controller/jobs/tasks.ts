import type { PulledMessage, PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { streamNames, taskAckWaitMs, taskDurable, type TaskKind } from '@webcapture/shared/nats/streams.ts';
import { parseTask, type Task, type TaskOf } from '@webcapture/shared/queue/tasks.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ControllerMetrics } from '../health/metrics.ts';
import type { Term } from '../leader/election.ts';
import { pullInTerm } from '../leader/pull-in-term.ts';

/** Delay before a failed task is redelivered. */
const retryMs = 5000;

export interface TaskWork<K extends TaskKind> {
  readonly kind: K;
  /** Maximum number of tasks that run concurrently. */
  readonly parallel: number;
  /**
   * Runs the task; may be called repeatedly for the same task. If it throws, the task is redelivered. If it throws a {@link
   * TaskDeferredError}, the task is redelivered after the delay of that error.
   */
  readonly run: (task: TaskOf<K>) => Promise<void>;
}

/** Thrown if a task cannot run now. The task is redelivered after the delay, and this does not count as a failure. */
export class TaskDeferredError extends Error {
  readonly retryInMs: number;

  constructor(reason: string, retryInMs: number) {
    super(reason);
    this.name = 'TaskDeferredError';
    this.retryInMs = retryInMs;
  }
}

export interface RunTasksDeps {
  readonly inbox: PullInbox;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
}

/** Runs the tasks of one kind as they arrive, during the term. Never throws. */
export async function runTasks<K extends TaskKind>(work: TaskWork<K>, deps: RunTasksDeps, term: Term): Promise<void> {
  const { inbox, log } = deps;
  const pulled = { inbox, stream: streamNames.tasks, durable: taskDurable(work.kind), parallel: work.parallel, log };
  await pullInTerm(pulled, term, (message) => handle(message, work, deps));
}

async function handle<K extends TaskKind>(
  message: PulledMessage,
  { kind, run }: TaskWork<K>,
  { metrics, log }: RunTasksDeps,
): Promise<void> {
  const task = read(message, log);
  const heartbeat = setInterval(() => message.working(), taskAckWaitMs * 0.3);
  try {
    if (task?.kind === kind) await run(task as TaskOf<K>);
    await message.ack();
    metrics.tasks.inc({ kind, outcome: 'done' });
  } catch (error) {
    if (error instanceof TaskDeferredError) return message.nak(error.retryInMs);
    metrics.tasks.inc({ kind, outcome: 'failed' });
    log.warn({ err: error, kind, delivery: message.delivery }, 'task failed; retrying');
    message.nak(retryMs);
  } finally {
    clearInterval(heartbeat);
  }
}

/** Returns null for a message that is not a task. Such a message is acknowledged, so that it is not redelivered. */
function read(message: PulledMessage, log: Logger): Task | null {
  try {
    return parseTask(message.data);
  } catch (error) {
    log.error({ err: error, subject: message.subject }, 'invalid task message');
    return null;
  }
}
