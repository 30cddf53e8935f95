import { inspectProgram } from './inspect-program.ts';
import { findInCache } from './strategies/find-in-cache.ts';
import { findInPath } from './strategies/find-in-path.ts';
import { goBuild } from './strategies/go-build.ts';
import type { Tool } from './tool.ts';

/** The version that collector/go.mod requires. */
const version = '0.165.0';
const name = 'otelcol';

/** The OpenTelemetry Collector, with a receiver of OTLP and an exporter by HTTP; for tests only. */
export const otelCollector: Tool = {
  name,
  inspect: inspectProgram({ args: ['--version'], minimum: '0.150.0' }),
  find: [findInPath(name), findInCache(version)],
  install: [
    goBuild({
      module: new URL('collector/', import.meta.url),
      programs: [name],
      version,
      variables: { 'main.version': version },
      kept: name,
    }),
  ],
  byHand: () =>
    'put otelcol of https://github.com/open-telemetry/opentelemetry-collector-releases into a folder of PATH',
};
