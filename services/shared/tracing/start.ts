import type { Logger } from '../runtime/logger.ts';
import type { TracingConfig } from './config.ts';

/** The process that records spans, as resource attributes describe it. */
export interface TracedProcess {
  readonly service: string;
  readonly version: string;
  readonly pod: string;
  /** Region of a renderer; undefined for other services. */
  readonly region?: string | undefined;
}

/**
 * Starts tracing. Returns a function that exports the last spans and stops tracing, and never rejects. The SDK is loaded here. A process
 * without tracing thus loads only the API, whose functions do nothing.
 */
export async function startTracing(
  config: TracingConfig,
  process: TracedProcess,
  log: Logger,
): Promise<() => Promise<void>> {
  const { startSdk } = await import('./sdk.ts');
  return startSdk(config, process, log);
}
