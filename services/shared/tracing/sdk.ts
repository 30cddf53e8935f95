import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { ThrottledLogger } from '../runtime/throttled-logger.ts';
import type { TracingConfig } from './config.ts';
import type { TracedProcess } from './start.ts';

/** Maximum time by which exporting the last spans delays the end of a process. */
const flushTimeoutMs = 5000;

/** Minimum interval of log lines. An unavailable collector causes a failure every few seconds. */
const logIntervalMs = 60_000;

/** Registers the SDK as the implementation of the API. Returns a function that exports the last spans and stops the SDK. */
export function startSdk(config: TracingConfig, process: TracedProcess, log: Logger): () => Promise<void> {
  reportProblems(log);
  const provider = new TracerProvider({
    resource: resourceOf(process),
    sampler: samplerOf(config),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  // Only the trace context is propagated. Baggage of clients would reach every service and log.
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return async () => {
    try {
      await withDeadline(provider.shutdown(), flushTimeoutMs, 'exporting the last spans');
    } catch (error) {
      log.warn({ err: error }, 'the last spans could not be exported');
    } finally {
      for (const api of [trace, context, propagation, diag]) api.disable();
    }
  };
}

/** The operator's attributes (`OTEL_RESOURCE_ATTRIBUTES`, `OTEL_SERVICE_NAME`) replace those of the process. */
function resourceOf({ service, version, pod, region }: TracedProcess) {
  const own = resourceFromAttributes({
    'service.name': `webcapture-${service}`,
    'service.version': version,
    'service.instance.id': pod,
    ...(region === undefined ? {} : { 'webcapture.region': region }),
  });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

function samplerOf({ sampler, ratio }: TracingConfig): Sampler {
  const root = rootSamplerOf(sampler.replace('parentbased_', ''), ratio);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function rootSamplerOf(name: string, ratio: number): Sampler {
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
}

/** Logs problems of the SDK and of the export at most once a minute. */
function reportProblems(log: Logger): void {
  const rarely = new ThrottledLogger(log, logIntervalMs);
  const warn = (problem: unknown) =>
    rarely.warn(
      problem instanceof Error ? { err: problem } : { problem: String(problem) },
      'exporting spans failed; retrying',
    );
  setGlobalErrorHandler(warn);
  const ignore = () => undefined;
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, { logLevel: DiagLogLevel.WARN });
}
