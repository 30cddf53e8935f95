import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, test } from 'vitest';
import { withSpan } from '@webcapture/shared/tracing/spans.ts';
import { RequestTrace } from '../../../services/front/http/request-trace.ts';
import { recordSpans } from '../../harness/recorded-spans.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const request = {
  method: 'POST',
  routeOptions: { url: '/capture' },
  headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, authorization: 'Bearer s3cret' },
} as unknown as ConstructorParameters<typeof RequestTrace>[0];

const run = (trace: RequestTrace) => trace.run(() => withSpan('step', {}, async () => undefined));

describe('the span of a request', () => {
  test('continues the trace of the client from the arrival of the request to its end', async () => {
    using recorded = recordSpans();
    const trace = new RequestTrace(request, performance.now() - 500);
    await run(trace);
    const fields = trace.end(200, undefined);
    const { name, kind, attributes, status, duration } = recorded.span('POST /capture');
    expect({ name, kind, attributes, status }).toEqual({
      name: 'POST /capture',
      kind: SpanKind.SERVER,
      attributes: { 'http.request.method': 'POST', 'http.route': '/capture', 'http.response.status_code': 200 },
      status: { code: SpanStatusCode.UNSET },
    });
    expect(duration[0] * 1000 + duration[1] / 1e6).toBeGreaterThanOrEqual(500);
    expect(fields).toEqual({ trace_id: traceId, span_id: recorded.span('step').parentSpanContext?.spanId });
  });

  test('does not exist for a request that was not authenticated', () => {
    using recorded = recordSpans();
    const trace = new RequestTrace(request, performance.now());
    trace.set({ 'webcapture.cache': 'hit' });
    expect(trace.end(401, 'UNAUTHORIZED')).toEqual({});
    expect(recorded.spans()).toEqual([]);
  });

  test('is the same if the request is processed again', async () => {
    using recorded = recordSpans();
    const trace = new RequestTrace(request, performance.now());
    await trace.run(() => run(trace));
    trace.end(200, undefined);
    expect(recorded.spans().map(({ name }) => name)).toEqual(['step', 'POST /capture']);
  });

  test.each([
    [400, 'VALIDATION_ERROR', SpanStatusCode.UNSET],
    [500, 'CAPTURE_FAILED', SpanStatusCode.ERROR],
  ])('of status %i has the code of the error, and fails from 500 on', async (status, code, expected) => {
    using recorded = recordSpans();
    const trace = new RequestTrace(request, performance.now());
    await run(trace);
    trace.end(status, code);
    const span = recorded.span('POST /capture');
    expect(span.status.code).toBe(expected);
    expect(span.attributes).toMatchObject({ 'error.type': code, 'http.response.status_code': status });
  });
});
