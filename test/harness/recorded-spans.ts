import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace';

export interface RecordedSpans extends Disposable {
  /** The ended spans, in the order of their ends. */
  readonly spans: () => readonly ReadableSpan[];
  /** Returns the ended span of this name; throws if there is none. */
  readonly span: (name: string) => ReadableSpan;
}

/** Records the spans of this process in memory, until it is disposed. Files of a project share modules, so dispose it in each test. */
export function recordSpans(): RecordedSpans {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const spans = () => exporter.getFinishedSpans();
  return {
    spans,
    span: (name) => {
      const found = spans().find((span) => span.name === name);
      if (found === undefined)
        throw new Error(
          `no span ${name}; ended: ${spans()
            .map((each) => each.name)
            .join(', ')}`,
        );
      return found;
    },
    [Symbol.dispose]: () => {
      for (const api of [trace, context, propagation]) api.disable();
    },
  };
}
