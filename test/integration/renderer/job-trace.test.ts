import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import { traceHeaders, withSpan } from '@webcapture/shared/tracing/spans.ts';
import type { RenderEngine } from '../../../services/renderer/page/engine.ts';
import { runJob, type JobDeps } from '../../../services/renderer/worker/run-job.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { newRecord } from '../../harness/records.ts';
import { recordSpans } from '../../harness/recorded-spans.ts';
import { delivered } from './support/delivered.ts';
import { picture } from './support/renderer.ts';

const record = newRecord({});
const upload = { object: 'o', contentType: 'image/png', size: 1, etag: 't', width: 1, height: 1, expiresAt: 0 };

/** Processes a job whose message was sent in a span `request`. */
async function process(delivery: number, render: RenderEngine['render'] = async () => picture()): Promise<void> {
  const deps = {
    engine: { render },
    uploader: { upload: () => ({ sent: Promise.resolve(upload), stored: Promise.resolve(upload) }) },
    results: { reply: () => undefined, publish: async () => undefined },
    readHtml: async () => '',
    reachesNats: async () => true,
    clock: { now: () => Date.now(), isKnown: true },
    onEnd: () => undefined,
    onReturn: () => undefined,
    log: silentLog,
  } as unknown as JobDeps;
  const { headers } = await withSpan('request', {}, async () => traceHeaders());
  const job = { ...jobOf(record), ticket: 'a.b' };
  const message = delivered(job, delivery, {
    headers,
    subject: 'captures.us-east.interactive',
    timestamp: Date.now() - 400,
  });
  await runJob(message, new AbortController().signal, deps).done;
}

test('a job is a part of the trace of its message, with its wait in the queue and the storing of its file', async () => {
  using recorded = recordSpans();
  await process(1);
  const [request, queue, job, store] = ['request', 'queue', 'process job', 'store'].map(recorded.span);
  expect(queue?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
  expect(job?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
  expect(store?.parentSpanContext?.spanId).toBe(job?.spanContext().spanId);
  expect((queue?.duration[0] ?? 0) * 1000 + (queue?.duration[1] ?? 0) / 1e6).toBeGreaterThanOrEqual(399);
  expect(job?.kind).toBe(SpanKind.CONSUMER);
  expect(job?.attributes).toMatchObject({
    'messaging.destination.name': 'captures.us-east.interactive',
    'webcapture.capture.id': record.uuid,
    'webcapture.delivery': 1,
    'webcapture.outcome': 'completed',
  });
});

test('a redelivered job stays in the trace, without the wait that its first delivery ended', async () => {
  using recorded = recordSpans();
  await process(2);
  const traces = recorded.spans().map((span) => span.spanContext().traceId);
  expect(new Set(traces).size).toBe(1);
  expect(recorded.span('process job').attributes).toMatchObject({ 'webcapture.delivery': 2 });
  expect(recorded.spans().map(({ name }) => name)).not.toContain('queue');
});

test('a failed job has the code of its error', async () => {
  using recorded = recordSpans();
  await process(1, async () => {
    throw new ServiceError('NAVIGATION_FAILED', 'https://example.com/private could not be opened.');
  });
  const { attributes, status } = recorded.span('process job');
  expect(attributes).toMatchObject({ 'webcapture.outcome': 'failed', 'error.type': 'NAVIGATION_FAILED' });
  expect(status).toEqual({ code: SpanStatusCode.ERROR });
});
