import { noteDelivery } from '@webcapture/shared/state/transitions.ts';
import type { Term } from '../leader/election.ts';
import type { ControllerParts } from '../parts.ts';
import { deliverNotice } from '../webhooks/deliver.ts';
import { sendNotice } from '../webhooks/send-notice.ts';
import type { TaskOf } from './run-tasks.ts';

/** Makes one try to tell a webhook, and sees to the next one. A term that ends stops it: then it counts as no try. */
export async function deliverWebhook(
  task: TaskOf<'webhook'>,
  { captures, tasks, secrets, policy, webhookMetrics, config, log }: ControllerParts,
  term: Term,
): Promise<void> {
  const next = await deliverNotice(task, {
    captures,
    secrets,
    send: (url, notice) => sendNotice(url, notice, { policy, signal: term.signal }),
    note: (account, uuid, revision, delivery) => captures.change({ account, uuid }, noteDelivery(revision, delivery)),
    cdnUrl: config.cdnUrl,
    metrics: webhookMetrics,
    log,
    now: Date.now,
  });
  if ('againAt' in next) await tasks.schedule({ ...task, attempt: next.attempt }, next.againAt);
}
