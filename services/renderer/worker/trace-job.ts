import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import {
  inTraceOf,
  failActiveSpan,
  isInTrace,
  recordSpan,
  setSpanAttributes,
  SpanKind,
  withSpan,
} from '@webcapture/shared/tracing/spans.ts';

/** The server's clock. */
interface Clock {
  readonly now: () => number;
  readonly isKnown: boolean;
}

/** Processes a job in a span of the trace that its message carries. Each delivery of a job has a span in the same trace. */
export function traceJob(
  message: PulledMessage,
  job: CaptureJob,
  clock: Clock,
  work: () => Promise<void>,
): Promise<void> {
  return inTraceOf(message, () => {
    recordQueueSpan(message, clock);
    return withSpan('process job', { kind: SpanKind.CONSUMER, attributes: attributesOf(message, job) }, work);
  });
}

const attributesOf = ({ subject, delivery }: PulledMessage, { uuid, region, options }: CaptureJob) => ({
  'messaging.system': 'nats',
  'messaging.operation.type': 'process',
  'messaging.operation.name': 'process',
  'messaging.destination.name': subject,
  'webcapture.capture.id': uuid,
  'webcapture.region': region,
  'webcapture.format': options.format,
  'webcapture.delivery': delivery,
});

/** Records the wait in the queue. The server has set the time stamp of the message, so its age is measured by the server's clock. */
function recordQueueSpan({ delivery, timestamp }: PulledMessage, clock: Clock): void {
  if (delivery > 1 || !clock.isKnown || !isInTrace()) return;
  const endTime = Date.now();
  recordSpan('queue', { startTime: endTime - Math.max(0, clock.now() - timestamp), endTime });
}

/** Sets the outcome of the job on its span. */
export function traceOutcome(outcome: JobOutcome): void {
  setSpanAttributes({ 'webcapture.outcome': outcome.kind });
  if (outcome.kind === 'failed') failActiveSpan(outcome.code);
  if (outcome.kind === 'returned') setSpanAttributes({ 'webcapture.return_reason': outcome.reason });
}
