import { noteDelivery } from '@webcapture/shared/state/transitions.ts';
import type { Term } from '../leader/election.ts';
import type { ControllerParts } from '../parts.ts';
import { deliverNotice } from '../webhooks/deliver.ts';
import { attemptDueAt } from '../webhooks/retry-schedule.ts';
import { sendNotice, type SendResult } from '../webhooks/send-notice.ts';
import { TaskDeferredError, type TaskOf } from './run-tasks.ts';

/** What an attempt comes to that is not made. */
const skipped: SendResult = {
  delivered: false,
  reason: 'not sent: the receiver has not answered other events',
  gone: false,
};

/**
 * Makes one try to tell a webhook, and sees to the next one. A term that ends stops it: then it counts as no try. Throws
 * a {@link TaskDeferredError} when it is not its receiver's turn.
 */
export async function deliverWebhook(
  task: TaskOf<'webhook'>,
  {
    captures,
    tasks,
    secrets,
    policy,
    webhookMetrics,
    receivers,
    config,
    log,
    now,
  }: Pick<
    ControllerParts,
    'captures' | 'tasks' | 'secrets' | 'policy' | 'webhookMetrics' | 'receivers' | 'log' | 'now'
  > & { readonly config: Pick<ControllerParts['config'], 'cdnUrl'> },
  term: Pick<Term, 'signal'>,
): Promise<void> {
  const turn = receivers.ask(task, attemptDueAt(task));
  if (turn.verdict === 'defer') throw new TaskDeferredError('it is not the turn of the receiver', turn.retryInMs);
  try {
    const next = await deliverNotice(task, {
      captures,
      secrets,
      send: async (url, notice) => {
        if (turn.verdict === 'skip') return skipped;
        const startedAt = performance.now();
        const result = await sendNotice(url, notice, { policy, signal: term.signal });
        turn.end(result, performance.now() - startedAt);
        return result;
      },
      note: (account, uuid, revision, delivery) => captures.change({ account, uuid }, noteDelivery(revision, delivery)),
      cdnUrl: config.cdnUrl,
      metrics: webhookMetrics,
      log,
      now,
    });
    if ('againAt' in next) await tasks.schedule({ ...task, attempt: next.attempt }, next.againAt);
  } finally {
    if (turn.verdict === 'send') turn.release();
  }
}
