import { hostname } from 'node:os';
import type { EnvReader } from './env.ts';
import { parseRegions, type InstalledRegion } from './regions.ts';
import { choiceVariable, optionalVariable, parsedVariable, portVariable, textVariable } from './variables.ts';

/** What every process is told. */
export interface CommonConfig {
  readonly nats: { readonly url: string; readonly user?: string; readonly password?: string };
  /** The operations port: /metrics, /livez, /readyz. */
  readonly ops: { readonly host: string; readonly port: number };
  readonly logLevel: string;
  /** The name of this process in the fleet. */
  readonly pod: string;
  readonly regions: readonly InstalledRegion[];
}

export const defaultRegions = 'us-east:1,eu-west:1';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** What every service reads. */
export const commonVariables = {
  natsUrl: textVariable('WEBCAPTURE_NATS_URL', {
    default: 'nats://127.0.0.1:4222',
    meaning: 'Addresses of the NATS servers, separated by commas. They must be version 2.14 or newer, with JetStream.',
  }),
  natsUser: optionalVariable('WEBCAPTURE_NATS_USER', {
    meaning: 'NATS user of this service. Set it together with `WEBCAPTURE_NATS_PASSWORD`.',
  }),
  natsPassword: optionalVariable('WEBCAPTURE_NATS_PASSWORD', { meaning: 'Password of the NATS user.' }),
  regions: parsedVariable('WEBCAPTURE_REGIONS', {
    type: 'list such as `us-east:1,eu-west:2`',
    default: defaultRegions,
    parse: parseRegions,
    meaning:
      'The installed regions, each with the number of renderers that it always keeps. A region with 0 may have no renderer; its captures then wait for one. Set it to the same value on all services.',
  }),
  pod: textVariable('WEBCAPTURE_POD', {
    default: hostname().replaceAll(/[^A-Za-z0-9_-]/g, '-'),
    defaultText: 'the host name',
    meaning: 'Name of this process in logs, heartbeats and leases. It must be unique in the fleet.',
  }),
  logLevel: choiceVariable('WEBCAPTURE_LOG_LEVEL', logLevels, {
    default: 'info',
    meaning: 'Lowest level that is logged. Logs are JSON lines on standard output.',
  }),
  opsHost: textVariable('WEBCAPTURE_OPS_HOST', {
    default: '0.0.0.0',
    meaning: 'Address that the operations port listens on.',
  }),
  opsPort: portVariable('WEBCAPTURE_OPS_PORT', {
    default: 9090,
    defaultText: 'front `9090`, renderer `9091`, controller `9092`',
    meaning: 'The operations port: `/metrics`, `/livez` and `/readyz`. Do not expose it to clients.',
  }),
};

/** Reads the variables that all services share. Call it before `env.finish`. */
export function readCommonConfig(env: EnvReader, defaults: { opsPort: number }): CommonConfig {
  const user = commonVariables.natsUser.read(env);
  const password = commonVariables.natsPassword.read(env);
  if ((user === undefined) !== (password === undefined)) {
    env.problem('WEBCAPTURE_NATS_USER', 'and WEBCAPTURE_NATS_PASSWORD must be set together');
  }
  const pod = commonVariables.pod.read(env);
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(pod)) {
    env.problem('WEBCAPTURE_POD', 'must be 1 to 128 letters, digits, "-" or "_"');
  }
  return {
    nats: {
      url: commonVariables.natsUrl.read(env),
      ...(user !== undefined && password !== undefined ? { user, password } : {}),
    },
    ops: { host: commonVariables.opsHost.read(env), port: commonVariables.opsPort.read(env, defaults.opsPort) },
    logLevel: commonVariables.logLevel.read(env),
    pod,
    regions: commonVariables.regions.read(env) ?? [],
  };
}
