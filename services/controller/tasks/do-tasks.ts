import type { Term } from '../leader/election.ts';
import type { ControllerParts } from '../parts.ts';
import { maxDeliveries } from '../webhooks/receiver-limits.ts';
import { deliverWebhook } from './deliver-webhook.ts';
import { dispatchJob } from './dispatch-job.ts';
import { expireCapture } from './expire-capture.ts';
import { refreshCapture } from './refresh-capture.ts';
import { runTasks } from './run-tasks.ts';

/** Does all tasks at their time, for one term. Never throws. */
export async function doTasks(parts: ControllerParts, term: Term): Promise<void> {
  const refreshDeps = { ...parts, defaultLimits: parts.config.defaultLimits };
  await Promise.all([
    runTasks({ kind: 'dispatch', parallel: 4, run: (task) => dispatchJob(task, parts) }, parts, term),
    // Of what was deleted or failed; what the version before has scheduled comes here as well.
    runTasks({ kind: 'expiry', parallel: 32, run: (task) => expireCapture(task, parts) }, parts, term),
    runTasks(
      // A receiver may take ten seconds for each: see ReceiverLimits.
      { kind: 'webhook', parallel: maxDeliveries, run: (task) => deliverWebhook(task, parts, term) },
      parts,
      term,
    ),
    runTasks({ kind: 'refresh', parallel: 4, run: (task) => refreshCapture(task, refreshDeps) }, parts, term),
  ]);
}
