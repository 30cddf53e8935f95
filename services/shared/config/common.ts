import { hostname } from 'node:os';
import type { EnvReader } from './env.ts';
import { parseRegions, type InstalledRegion } from './regions.ts';

/** What every process is told. */
export interface CommonConfig {
  readonly nats: { readonly url: string; readonly user?: string; readonly password?: string };
  /** The operators' port: /metrics, /livez, /readyz. */
  readonly ops: { readonly host: string; readonly port: number };
  readonly logLevel: string;
  /** The name of this process in the fleet. */
  readonly pod: string;
  readonly regions: readonly InstalledRegion[];
}

export const defaultRegions = 'us-east:1,eu-west:1';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** Reads the variables that all services share. Call it before `env.finish`. */
export function readCommonConfig(env: EnvReader, defaults: { opsPort: number }): CommonConfig {
  const user = env.string('WEBCAPTURE_NATS_USER');
  const password = env.string('WEBCAPTURE_NATS_PASSWORD');
  if ((user === undefined) !== (password === undefined)) {
    env.problem('WEBCAPTURE_NATS_USER', 'and WEBCAPTURE_NATS_PASSWORD must be set together');
  }
  const pod = env.string('WEBCAPTURE_POD', hostname().replaceAll(/[^A-Za-z0-9_-]/g, '-'));
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(pod)) {
    env.problem('WEBCAPTURE_POD', 'must be 1 to 128 letters, digits, "-" or "_"');
  }
  return {
    nats: {
      url: env.string('WEBCAPTURE_NATS_URL', 'nats://127.0.0.1:4222'),
      ...(user !== undefined && password !== undefined ? { user, password } : {}),
    },
    ops: {
      host: env.string('WEBCAPTURE_OPS_HOST', '0.0.0.0'),
      port: env.port('WEBCAPTURE_OPS_PORT', defaults.opsPort),
    },
    logLevel: env.oneOf('WEBCAPTURE_LOG_LEVEL', logLevels, 'info'),
    pod,
    regions: env.parsed('WEBCAPTURE_REGIONS', defaultRegions, parseRegions) ?? [],
  };
}
