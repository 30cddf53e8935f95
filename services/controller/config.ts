import { defaultLimitVariables, readDefaultLimits } from '@webcapture/shared/accounts/accounts.ts';
import { allowIgnoreTlsErrorsVariable } from '@webcapture/shared/accounts/tls-errors.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import { egressVariables, readEgressAllow, readEgressDeny } from '@webcapture/shared/egress/policy.ts';
import { readUpstreamProxy, type UpstreamProxy, upstreamVariables } from '@webcapture/shared/egress/upstream-config.ts';
import {
  addressVariables,
  type CommonConfig,
  commonVariables,
  readAddresses,
  readCommonConfig,
  readStorage,
  type StorageConfig,
  storageVariables,
} from '@webcapture/shared/runtime/config.ts';
import { type Environment, EnvReader } from '@webcapture/shared/runtime/env.ts';
import { isRegion, type Region } from '@webcapture/shared/runtime/regions.ts';
import {
  choiceVariable,
  integerVariable,
  parsedVariable,
  type Variable,
} from '@webcapture/shared/runtime/variables.ts';
import { type KubernetesSettings, kubernetesVariables, readKubernetesSettings } from './kubernetes/settings.ts';
import type { StreamSettings } from './streams.ts';

/** `hub`: the cluster that runs everything. `satellite`: a cluster that only runs renderers and joins a hub. */
const roles = ['hub', 'satellite'] as const;

/** Maximum duration of a controller's shutdown, in milliseconds. */
export const drainMs = 8000;

export interface ControllerConfig extends CommonConfig {
  readonly role: (typeof roles)[number];
  readonly storage: StorageConfig;
  /** The subset of `regions` whose renderers run in other clusters. */
  readonly otherRegions: readonly Region[];
  readonly streams: StreamSettings;
  /** Interval of the canary captures in each region; 0 disables them. */
  readonly canaryIntervalMs: number;
  /**
   * Maximum number of slots by region for which background captures count in the region's load; a missing region has no
   * maximum.
   */
  readonly backgroundSlots: ReadonlyMap<Region, number>;
  /** CIDR ranges that webhooks and captures may reach although they are private. */
  readonly egressAllow: readonly string[];
  /** CIDR ranges that webhooks and captures may never reach; they override every other rule. */
  readonly egressDeny: readonly string[];
  /** The proxy through which webhooks are sent; undefined for direct connections. */
  readonly upstreamProxy: UpstreamProxy | undefined;
  /** Default limits of accounts. */
  readonly defaultLimits: AccountLimits;
  /** Whether the captures of accounts with the permission may ignore TLS errors. */
  readonly allowIgnoreTlsErrors: boolean;
  /** URL at which clients reach the fronts, without a trailing slash. */
  readonly publicUrl: string;
  /** Base URL of files: a file is at `<cdnUrl>/<name>`. */
  readonly cdnUrl: string;
  /** Null without Kubernetes: the status then depends on heartbeats alone. */
  readonly kubernetes: KubernetesSettings | null;
}

const mebibyte = 1024 * 1024;

/** Effects of a full stream, worded for the docs. */
const refusesNew = 'When it is full, it refuses what is new, and captures fail.';
const losesOldest =
  'When it is full, it drops its oldest messages; the daily audit of the records recreates them, up to a day late. Leave it without a limit.';

const variables = {
  role: choiceVariable('WEBCAPTURE_ROLE', roles, {
    default: 'hub',
    meaning:
      '`hub`: the controller takes part in the election of the leader, which runs the fleet. `satellite`: it reports the renderers of its cluster to the hub and shows their state there; it needs Kubernetes.',
  }),
  otherRegions: parsedVariable('WEBCAPTURE_OTHER_REGIONS', {
    type: 'list such as `asia-east,asia-southeast`',
    default: '',
    defaultText: 'none',
    parse: parseOtherRegions,
    meaning:
      'The regions of `WEBCAPTURE_REGIONS` whose renderers run in other clusters. Such a region is outside of `GET /status`, and its captures fail with `REGION_UNAVAILABLE`, until it has worked for the first time.',
  }),
  natsReplicas: choiceVariable('WEBCAPTURE_NATS_REPLICAS', ['1', '3'], {
    default: '1',
    meaning: 'Copies of every stream. 3 needs three NATS servers.',
  }),
  maxBytes: {
    db: maxBytesVariable('WEBCAPTURE_DB_MAX_BYTES', `Captures, accounts, keys and usage. ${refusesNew}`),
    live: maxBytesVariable('WEBCAPTURE_LIVE_MAX_BYTES', `Heartbeats, limits, leases and the status. ${refusesNew}`),
    cache: maxBytesVariable(
      'WEBCAPTURE_CACHE_MAX_BYTES',
      'Entries of the response cache; the default holds more than 100,000. When it is full, it drops the oldest.',
      256,
    ),
    captures: maxBytesVariable('WEBCAPTURE_CAPTURES_MAX_BYTES', `Jobs that wait for a renderer. ${refusesNew}`),
    results: maxBytesVariable(
      'WEBCAPTURE_RESULTS_MAX_BYTES',
      'Results of renderers that no front has settled yet. When it is full, it refuses what is new, and captures do not end.',
    ),
    tasks: maxBytesVariable('WEBCAPTURE_TASKS_MAX_BYTES', `Refreshes and webhooks that are due later. ${losesOldest}`),
    expiry: maxBytesVariable('WEBCAPTURE_EXPIRY_MAX_BYTES', `Times at which files expire. ${losesOldest}`),
    dead: maxBytesVariable(
      'WEBCAPTURE_DEAD_MAX_BYTES',
      'Advisories about jobs that failed on every delivery. When it is full, it drops the oldest.',
      64,
    ),
    files: maxBytesVariable(
      'WEBCAPTURE_FILES_MAX_BYTES',
      'Files, where no bucket is configured, and supplied HTML that is too large for a job. When it is full, captures fail with `STORAGE_FAILED` until files expire.',
    ),
  },
  backgroundSlots: parsedVariable('WEBCAPTURE_BACKGROUND_SLOTS', {
    type: 'list such as `us-east:6,eu-west:7.5`',
    default: '',
    defaultText: 'no limit',
    parse: parseBackgroundSlots,
    meaning:
      'Maximum number of slots of a region for which background captures count in its load (`GET /scale/<region>`). An autoscaler adds renderers by that load.',
  }),
  canaryInterval: integerVariable('WEBCAPTURE_CANARY_INTERVAL', {
    default: 60,
    min: 0,
    max: 86_400,
    unit: 'seconds',
    meaning: 'Time between canary captures in each region; 0 for none.',
  }),
};

/** Every variable that the controller reads. */
export const controllerVariables: readonly Variable[] = [
  ...Object.values(commonVariables),
  ...Object.values(addressVariables),
  ...Object.values(egressVariables),
  ...Object.values(upstreamVariables),
  ...Object.values(storageVariables),
  ...Object.values(defaultLimitVariables),
  allowIgnoreTlsErrorsVariable,
  variables.role,
  variables.otherRegions,
  variables.natsReplicas,
  ...Object.values(variables.maxBytes),
  variables.backgroundSlots,
  variables.canaryInterval,
  ...Object.values(kubernetesVariables),
];

/** Throws a ConfigError that names every invalid variable. */
export function readControllerConfig(environment: Environment): ControllerConfig {
  const env = new EnvReader(environment);
  const common = readCommonConfig(env, { opsPort: 9092 });
  const replicas = Number(variables.natsReplicas.read(env));
  const limits = Object.entries(variables.maxBytes).map(([stream, variable]) => [stream, variable.read(env)]);
  const maxBytes = Object.freeze(Object.fromEntries(limits) as StreamSettings['maxBytes']);
  const canarySeconds = variables.canaryInterval.read(env);
  const role = variables.role.read(env);
  const otherRegions = variables.otherRegions.read(env);
  const unknown = otherRegions.find((region) => !common.regions.some((each) => each.region === region));
  if (unknown !== undefined) {
    env.problem('WEBCAPTURE_OTHER_REGIONS', `names ${unknown}, which WEBCAPTURE_REGIONS does not contain`);
  }
  return env.finish(() => {
    const kubernetes = readKubernetesSettings(env);
    if (role === 'satellite' && kubernetes === null) {
      env.problem('WEBCAPTURE_ROLE', 'satellite needs a cluster to report: see WEBCAPTURE_KUBERNETES');
    }
    return {
      ...common,
      role,
      storage: readStorage(env),
      otherRegions,
      streams: Object.freeze({ replicas, maxBytes }),
      canaryIntervalMs: canarySeconds * 1000,
      backgroundSlots: variables.backgroundSlots.read(env),
      egressAllow: readEgressAllow(env),
      egressDeny: readEgressDeny(env),
      upstreamProxy: readUpstreamProxy(env),
      defaultLimits: readDefaultLimits(env),
      allowIgnoreTlsErrors: allowIgnoreTlsErrorsVariable.read(env) === 'true',
      ...readAddresses(env, addressVariables.port.read(env)),
      kubernetes,
    };
  });
}

function parseOtherRegions(value: string): readonly Region[] {
  const names = value.split(',').map((name) => name.trim());
  const named = names.filter((name) => name !== '');
  if (!named.every(isRegion)) throw new Error('must be a list of regions, such as asia-east,asia-southeast');
  return named;
}

function parseBackgroundSlots(value: string): ReadonlyMap<Region, number> {
  const entries = value.split(',').filter((each) => each.trim() !== '');
  return new Map(
    entries.map((entry) => {
      const [, region = '', slots] = /^\s*([a-z-]+):(\d+(?:\.\d+)?)\s*$/.exec(entry) ?? [];
      if (!isRegion(region))
        throw new Error('must be a list of regions with a number of slots each, such as us-east:6');
      return [region, Number(slots)];
    }),
  );
}

/** Maximum size of a stream in bytes; -1 for the limit of the server. */
function maxBytesVariable(name: string, meaning: string, defaultMebibytes?: number): Variable<number> {
  const variable = integerVariable(name, {
    default: defaultMebibytes === undefined ? -1 : defaultMebibytes * mebibyte,
    defaultText: defaultMebibytes === undefined ? 'no limit' : `${defaultMebibytes} MiB`,
    min: -1,
    meaning,
  });
  return {
    ...variable,
    type: `integer, bytes, ${mebibyte} or more; -1 for no limit`,
    read: (env) => {
      const bytes = variable.read(env);
      // NATS treats 0 as "no limit", which the operator would not expect.
      if (bytes !== -1 && bytes < mebibyte) env.problem(name, `must be -1 (no limit) or at least ${mebibyte} bytes`);
      return bytes;
    },
  };
}
