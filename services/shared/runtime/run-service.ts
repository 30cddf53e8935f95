import { flushCompileCache } from 'node:module';
import process from 'node:process';
import type { Registry } from 'prom-client';
import { trustCaBundle } from './ca-bundle.ts';
import { setNamePrefix } from '../nats/streams.ts';
import type { CommonConfig } from './config.ts';
import { ConfigError, type Environment } from './env.ts';
import { configExitCode } from './exit-code.ts';
import { createLogger, type Logger } from './logger.ts';
import { createMetrics } from './ops-server.ts';
import { Shutdown } from './shutdown.ts';
import { unknownVariables } from './unknown-variables.ts';
import { readTracingConfig, type TracingConfig } from '../tracing/config.ts';
import { activeSpanFields } from '../tracing/spans.ts';
import { startTracing } from '../tracing/start.ts';
import { serveExemplars } from '../tracing/traced-histogram.ts';
import manifest from '../package.json' with { type: 'json' };

/** The parts that every service gets at its start. */
export interface ServiceParts {
  readonly log: Logger;
  readonly shutdown: Shutdown;
  /** The metrics of the process. */
  readonly metrics: Registry;
}

interface Service<Config extends ServiceConfig> {
  readonly name: string;
  readonly readConfig: (env: Environment) => Config;
  /** Creates and starts the service. Must register the steps of the shutdown in the order of the start. */
  readonly start: (config: Config, parts: ServiceParts) => Promise<void>;
  /** Maximum duration of draining in milliseconds. */
  readonly drainMs: (config: Config) => number;
}

/** The configuration of a service. Only renderers have a `region`. */
type ServiceConfig = Pick<CommonConfig, 'logLevel' | 'pod' | 'nats' | 'caBundle'> & { readonly region?: string };

/**
 * Runs a process: reads the configuration, starts, waits for SIGTERM or SIGINT, drains in reverse order, and exits. The
 * exit code is 0 after a drain, 1 after a failed start or an unhandled error, and 78 for an invalid configuration.
 */
export async function runService<Config extends ServiceConfig>(service: Service<Config>): Promise<void> {
  const { config, tracing } = readConfigOrExit(service);
  const { pod, region, caBundle } = config;
  setNamePrefix(config.nats.prefix);
  const log = createLogger({
    service: service.name,
    pod,
    level: config.logLevel,
    ...(tracing === null ? {} : { mixin: activeSpanFields }),
  });
  if (caBundle !== undefined) {
    trustCaBundle(caBundle);
    const { file, certificates } = caBundle;
    log.info({ file, certificates: certificates.length }, 'trusting the authorities of the CA bundle');
  }
  for (const { variable, message } of unknownVariables(process.env)) log.warn({ variable }, message);
  const shutdown = new Shutdown(log, service.drainMs(config));
  let stopping = false;
  const stop = (reason: string, code: number) => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, 'stopping');
    void shutdown.run().then((clean) => exitAfterFlush(log, clean ? code : 1));
  };
  process.on('SIGTERM', () => stop('SIGTERM', 0));
  process.on('SIGINT', () => stop('SIGINT', 0));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception');
    stop('uncaught exception', 1);
  });
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'unhandled rejection');
    stop('unhandled rejection', 1);
  });
  const metrics = createMetrics(service.name);
  try {
    if (tracing !== null) {
      serveExemplars(metrics);
      shutdown.add('tracing', await startTracing(tracing, { service: service.name, version, pod, region }, log));
    }
    await service.start(config, { log, shutdown, metrics });
    // With NODE_COMPILE_CACHE set, Node would write compiled code only at a normal exit. The code is written now, because the process may
    // be killed.
    flushCompileCache();
  } catch (error) {
    // If a signal interrupted the start, its drain ends the process.
    if (stopping) return;
    log.fatal({ err: error }, 'the start failed');
    stop('the start failed', 1);
  }
}

function readConfigOrExit<Config extends ServiceConfig>(
  service: Service<Config>,
): { readonly config: Config; readonly tracing: TracingConfig | null } {
  try {
    return { config: service.readConfig(process.env), tracing: readTracingConfig(process.env) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${service.name} cannot start:\n${error.message.replaceAll(/^/gm, '  ')}\n`);
    process.exit(configExitCode);
  }
}

function exitAfterFlush(log: Logger, code: number): void {
  log.info({ code }, 'stopped');
  log.flush(() => process.exit(code));
}

/** The version of the software, the same for all services. */
export const version: string = manifest.version;
