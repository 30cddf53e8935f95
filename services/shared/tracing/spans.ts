import type { IncomingHttpHeaders } from 'node:http';
import {
  type Attributes,
  context,
  type Context,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  trace,
  propagation,
  ROOT_CONTEXT,
} from '@opentelemetry/api';
import { headers, type MsgHdrs } from '@nats-io/nats-core';

export { type Attributes, type Span, SpanKind } from '@opentelemetry/api';

/** A span that is recorded after its end. Times are Unix milliseconds, or those of `performance.now()`. */
interface PastSpan {
  readonly startTime: number;
  readonly endTime: number;
  readonly attributes?: Attributes;
  /** Code of the error that ended the step; undefined if it succeeded. */
  readonly errorCode?: string | undefined;
}

/** Returns the tracer of this software. Without the SDK, its spans do nothing. */
const tracer = () => trace.getTracer('webcapture');

/** Starts a span, which the caller must end. Its parent is the active span, unless a context is given. */
export function startSpan(name: string, options: SpanOptions, parent?: Context): Span {
  return tracer().startSpan(name, options, parent);
}

/** Runs `work` in a span, which ends with it. If `work` fails, the span gets the code of the error, but not its message. */
export async function withSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  const span = startSpan(name, options);
  try {
    return await runInSpan(span, () => work(span));
  } catch (error) {
    failSpan(span, codeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Runs `work` with the span as the active one. */
export function runInSpan<T>(span: Span, work: () => T): T {
  return context.with(trace.setSpan(context.active(), span), work);
}

/** Records a step that has ended, as a child of the active span. */
export function recordSpan(name: string, { startTime, endTime, attributes = {}, errorCode }: PastSpan): void {
  const span = startSpan(name, { startTime, attributes });
  if (errorCode !== undefined) failSpan(span, errorCode);
  span.end(endTime);
}

/** Whether a span is active. It may belong to another process. */
export const isInTrace = (): boolean => trace.getActiveSpan() !== undefined;

/** Whether the active span is recorded. If not, callers need not prepare spans. */
export const isRecording = (): boolean => trace.getActiveSpan()?.isRecording() === true;

/** Sets attributes of the active span, if there is one. */
export const setSpanAttributes = (attributes: Attributes): void =>
  void trace.getActiveSpan()?.setAttributes(attributes);

/** Marks a span as failed. The message of the error is not recorded, because it may contain an address of a page. */
export function failSpan(span: Span, code: string): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Marks the active span as failed, if there is one. */
export function failActiveSpan(code: string): void {
  const span = trace.getActiveSpan();
  if (span !== undefined) failSpan(span, code);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** The ids of a span that is being recorded; otherwise no fields. */
export interface SpanFields {
  readonly trace_id?: string;
  readonly span_id?: string;
}

/** Returns the fields that a log line, or an exemplar, has for a span. */
export function spanFields(span: Span | undefined): SpanFields {
  if (span?.isRecording() !== true) return {};
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/** Returns the fields of every log line that is written in the active span. */
export const activeSpanFields = () => spanFields(trace.getActiveSpan());

/** Returns the context of a client's `traceparent`. An invalid header is ignored. If tracing is off, every header is ignored. */
export function contextOfRequest(received: IncomingHttpHeaders): Context {
  return propagation.extract(ROOT_CONTEXT, received);
}

/**
 * Returns the options of a publish that pass the active span on to the receiver. They contain no headers if no span is active or tracing is
 * off.
 */
export function traceHeaders(): { readonly headers?: MsgHdrs } {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  const fields = Object.entries(carrier);
  if (fields.length === 0) return {};
  const message = headers();
  for (const [name, value] of fields) message.set(name, value);
  return { headers: message };
}

/** Runs `work` as a part of the trace of a message. */
export function inTraceOf<T>(message: { readonly headers?: MsgHdrs | undefined }, work: () => T): T {
  return context.with(propagation.extract(ROOT_CONTEXT, message.headers, getter), work);
}

const getter = {
  keys: (carrier: MsgHdrs | undefined) => carrier?.keys() ?? [],
  get: (carrier: MsgHdrs | undefined, name: string) => carrier?.get(name) || undefined,
};
