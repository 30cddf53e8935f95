import { EnvReader, type Environment } from '../runtime/env.ts';

/** Those root samplers of the specification that this software supports, by their names in `OTEL_TRACES_SAMPLER`. */
const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
type SamplerName = (typeof samplerNames)[number];

/** Tracing as the standard variables of OpenTelemetry describe it. The SDK itself reads the address, headers and resource attributes. */
export interface TracingConfig {
  readonly sampler: SamplerName;
  /** Share of the traces that a sampler by ratio records, from 0 to 1. */
  readonly ratio: number;
}

const endpointVariables = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;

/**
 * Returns null if tracing is off: no endpoint is set, `OTEL_SDK_DISABLED` is `true`, or `OTEL_TRACES_EXPORTER` is `none`.
 *
 * @throws ConfigError if a variable is invalid; the message does not contain addresses, because they may contain credentials
 */
export function readTracingConfig(environment: Environment): TracingConfig | null {
  const env = new EnvReader(environment);
  const endpoints = endpointVariables.map((name) => ({ name, value: env.string(name) }));
  const isOff =
    env.string('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || env.string('OTEL_TRACES_EXPORTER') === 'none';
  if (isOff || endpoints.every(({ value }) => value === undefined)) return null;
  for (const { name, value } of endpoints) {
    if (value === undefined || ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? '')) continue;
    env.problem(name, 'must be an absolute http or https address, such as http://collector:4318');
  }
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const protocol = env.string(name);
    if (protocol === undefined || protocol === 'http/protobuf') continue;
    env.problem(name, `must be http/protobuf, not "${protocol}"; collectors serve it on port 4318`);
  }
  return env.finish(() => ({ sampler: readSampler(env), ratio: readRatio(env) }));
}

function readSampler(env: EnvReader): SamplerName {
  const name = env.string('OTEL_TRACES_SAMPLER', 'parentbased_always_on');
  const found = samplerNames.find((each) => each === name);
  if (found === undefined)
    env.problem('OTEL_TRACES_SAMPLER', `must be one of ${samplerNames.join(', ')}, not "${name}"`);
  return found ?? 'parentbased_always_on';
}

function readRatio(env: EnvReader): number {
  const text = env.string('OTEL_TRACES_SAMPLER_ARG', '1');
  const ratio = Number(text);
  if (!(ratio >= 0 && ratio <= 1))
    env.problem('OTEL_TRACES_SAMPLER_ARG', `must be a number from 0 to 1, not "${text}"`);
  return ratio;
}
