import { headers } from '@nats-io/nats-core';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { readTracingConfig } from '@webcapture/shared/tracing/config.ts';
import {
  activeSpanFields,
  contextOfRequest,
  inTraceOf,
  isInTrace,
  recordSpan,
  runInSpan,
  startSpan,
  traceHeaders,
  withSpan,
} from '@webcapture/shared/tracing/spans.ts';
import { recordSpans } from '../../harness/recorded-spans.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;

describe('the configuration', () => {
  test.each([
    ['no endpoint', {}],
    ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['a disabled SDK', { ...endpoint, OTEL_SDK_DISABLED: 'true' }],
    ['no exporter', { ...endpoint, OTEL_TRACES_EXPORTER: 'none' }],
  ])('leaves tracing off with %s', (_, env) => {
    expect(readTracingConfig(env)).toBeNull();
  });

  test('records every trace that the caller has not decided about, by default', () => {
    expect(readTracingConfig(endpoint)).toEqual({ sampler: 'parentbased_always_on', ratio: 1 });
  });

  test('accepts the endpoint of traces alone, and a share of the traces', () => {
    const env = {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    };
    expect(readTracingConfig(env)).toEqual({ sampler: 'parentbased_traceidratio', ratio: 0.25 });
  });

  test.each([
    [
      { OTEL_TRACES_SAMPLER: 'jaeger_remote' },
      /^OTEL_TRACES_SAMPLER must be one of always_on, .*, not "jaeger_remote"$/,
    ],
    [{ OTEL_TRACES_SAMPLER_ARG: '2' }, 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not "2"'],
    [{ OTEL_TRACES_SAMPLER_ARG: 'half' }, 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not "half"'],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, not "grpc"'],
  ])('refuses %o', (env, message) => {
    expect(() => readTracingConfig({ ...endpoint, ...env })).toThrow(message);
  });

  test('refuses an address of another kind without quoting it, because it may contain a password', () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'user:s3cret@collector:4318' };
    expect(() => readTracingConfig(env)).toThrow(
      /^OTEL_EXPORTER_OTLP_ENDPOINT must be an absolute http or https address/,
    );
    expect(() => readTracingConfig(env)).not.toThrow(/s3cret/);
  });
});

describe('the trace of a client', () => {
  const parentOf = (received: Record<string, string>) => {
    using recorded = recordSpans();
    startSpan('request', {}, contextOfRequest(received)).end();
    return recorded.span('request').parentSpanContext;
  };

  test('continues', () => {
    expect(parentOf({ traceparent })).toMatchObject({ traceId, spanId, traceFlags: 1, isRemote: true });
  });

  test('keeps its state', () => {
    expect(parentOf({ traceparent, tracestate: 'vendor=1' })?.traceState?.serialize()).toBe('vendor=1');
  });

  test.each([
    ['text', 'hello'],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['a forbidden version', `ff-${traceId}-${spanId}-01`],
    ['capital letters', traceparent.toUpperCase()],
    ['two headers', `${traceparent}, ${traceparent}`],
  ])('is ignored if the header is %s', (_, invalid) => {
    expect(parentOf({ traceparent: invalid })).toBeUndefined();
  });

  test('is not recorded if the client does not sample it', () => {
    using recorded = recordSpans();
    const span = startSpan('request', {}, contextOfRequest({ traceparent: `00-${traceId}-${spanId}-00` }));
    span.end();
    expect(span.spanContext().traceId).toBe(traceId);
    expect(recorded.spans()).toEqual([]);
  });
});

describe('the headers of a message', () => {
  test('make the receiver a child of the sender', async () => {
    using recorded = recordSpans();
    const message = await withSpan('send', { kind: SpanKind.PRODUCER }, async () => traceHeaders());
    await inTraceOf(message, () => withSpan('process', { kind: SpanKind.CONSUMER }, async () => undefined));
    const [sent, processed] = [recorded.span('send'), recorded.span('process')];
    const { traceId: trace, spanId: span } = sent.spanContext();
    expect(processed.parentSpanContext).toMatchObject({ traceId: trace, spanId: span, isRemote: true });
  });

  test('do not mix with the active span of the receiver', async () => {
    using recorded = recordSpans();
    await withSpan('own', {}, () => inTraceOf({}, () => withSpan('process', {}, async () => undefined)));
    expect(recorded.span('process').parentSpanContext).toBeUndefined();
  });

  test('are absent without an active span', () => {
    using _recorded = recordSpans();
    expect(traceHeaders()).toEqual({});
  });
});

describe('a span', () => {
  test('has the code of its error, but not the message, which may quote an address', async () => {
    using recorded = recordSpans();
    const failing = withSpan('step', {}, async () => {
      throw new ServiceError('NAVIGATION_FAILED', 'https://example.com/private could not be opened.');
    });
    await expect(failing).rejects.toThrow('could not be opened');
    const { attributes, status, events } = recorded.span('step');
    expect({ attributes, status, events }).toEqual({
      attributes: { 'error.type': 'NAVIGATION_FAILED' },
      status: { code: SpanStatusCode.ERROR },
      events: [],
    });
  });

  test('that is recorded after the fact has the times of its step', async () => {
    using recorded = recordSpans();
    const startTime = performance.now() - 1000;
    await withSpan('job', {}, async () => recordSpan('navigate', { startTime, endTime: startTime + 250 }));
    const { duration, parentSpanContext } = recorded.span('navigate');
    expect(duration[0] * 1000 + duration[1] / 1e6).toBeCloseTo(250, 3);
    expect(parentSpanContext?.spanId).toBe(recorded.span('job').spanContext().spanId);
  });

  test('adds its ids to log lines until it ends', () => {
    using _recorded = recordSpans();
    const span = startSpan('job', {});
    const ids = { trace_id: span.spanContext().traceId, span_id: span.spanContext().spanId };
    runInSpan(span, () => {
      expect(activeSpanFields()).toEqual(ids);
      span.end();
      expect(activeSpanFields()).toEqual({});
    });
  });
});

test('without the SDK nothing is propagated or recorded, and work runs as usual', async () => {
  const sent = headers();
  sent.set('traceparent', traceparent);
  const result = await inTraceOf({ headers: sent }, () =>
    withSpan('process', {}, async () => ({ headers: traceHeaders(), fields: activeSpanFields(), isIn: isInTrace() })),
  );
  expect(result).toEqual({ headers: {}, fields: {}, isIn: false });
  expect(contextOfRequest({ traceparent })).toBe(contextOfRequest({}));
});
