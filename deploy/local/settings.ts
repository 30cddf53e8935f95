import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { readEgressDeny } from '@webcapture/shared/egress/policy.ts';
import {
  addressVariables,
  type BucketConfig,
  commonVariables,
  readStorage,
} from '@webcapture/shared/runtime/config.ts';
import { type Environment, EnvReader } from '@webcapture/shared/runtime/env.ts';
import type { InstalledRegion } from '@webcapture/shared/runtime/regions.ts';
import { optionalVariable, textVariable } from '@webcapture/shared/runtime/variables.ts';

/** Settings of `npm start` from the environment. Other variables are passed to the services. */
export interface StartSettings {
  /** 0 selects a free port. */
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string | undefined;
  /** If undefined, a key is generated and kept in the data folder. */
  readonly apiKey: string | undefined;
  readonly dataDir: string;
  /** CIDR ranges of private addresses that captures may reach, separated by commas; empty by default. */
  readonly egressAllow: string;
  readonly regions: readonly InstalledRegion[];
  /** URL of an existing server; undefined for a private one. */
  readonly natsUrl: string | undefined;
  /** Prefix of the names of the fleet in NATS. */
  readonly natsPrefix: string;
  /** Location of files; undefined for the data folder. */
  readonly bucket: BucketConfig | undefined;
  readonly homeRegion: string;
  /** If undefined, the sandbox is on if it works. */
  readonly sandbox: 'on' | 'off' | undefined;
}

/** Variables of `npm start` and of the set-up of tools, in addition to those of the services. */
export const startVariables = {
  dataDir: textVariable('WEBCAPTURE_DATA_DIR', {
    default: '.data',
    defaultText: '`.data` in the repository',
    meaning: 'Folder that keeps the state between starts: the data of NATS and the demo key.',
  }),
  cacheDir: optionalVariable('WEBCAPTURE_CACHE_DIR', {
    defaultText: "`webcapture` in the user's cache folder",
    meaning: 'Folder that keeps downloaded and built tools and compiled filter lists.',
  }),
  natsServerPath: optionalVariable('WEBCAPTURE_NATS_SERVER_PATH', {
    defaultText: 'found or installed',
    meaning: 'Path of another nats-server, 2.14 or newer.',
  }),
  filterListsDir: optionalVariable('WEBCAPTURE_FILTER_LISTS_DIR', {
    defaultText: 'lists that are found or downloaded',
    meaning:
      'Folder of filter lists to compile. `node deploy/filters/cli.ts <folder>` compiles them for `WEBCAPTURE_FILTERS_PATH`.',
  }),
};

/** On a laptop, captures may reach pages of local servers. */
const localEgressAllow = '127.0.0.0/8,::1/128';

const maxRenderersPerRegion = 16;

/** Throws a ConfigError that names every invalid variable and its rule. */
export function readSettings(env: Environment, root: string): Readonly<StartSettings> {
  const reader = new EnvReader(env);
  const regions = readRegions(reader);
  const settings: StartSettings = {
    port: addressVariables.port.read(reader),
    host: reader.string('WEBCAPTURE_HOST', '127.0.0.1'),
    publicUrl: addressVariables.publicUrl.read(reader, '') || undefined,
    apiKey: readApiKey(reader),
    dataDir: resolve(startVariables.dataDir.read(reader, join(root, '.data'))),
    egressAllow: readEgressAllow(reader),
    regions,
    natsUrl: reader.string('WEBCAPTURE_NATS_URL'),
    natsPrefix: commonVariables.natsPrefix.read(reader),
    bucket: readStorage(reader).bucket,
    homeRegion: readHomeRegion(reader, regions),
    sandbox: readSandbox(reader),
  };
  // The services read these variables; an invalid value would stop each of them.
  commonVariables.logLevel.read(reader);
  readEgressDeny(reader);
  return reader.finish(() => settings);
}

function readApiKey(reader: EnvReader): string | undefined {
  const key = reader.string('WEBCAPTURE_API_KEY');
  if (key !== undefined && key.length < 16) reader.problem('WEBCAPTURE_API_KEY', 'must have at least 16 characters');
  if (key !== undefined && !/^[\x20-\x7e]*$/.test(key)) {
    reader.problem('WEBCAPTURE_API_KEY', 'must have only printable ASCII characters, since it travels in a header');
  }
  return key;
}

function readEgressAllow(reader: EnvReader): string {
  const ranges = reader.raw('WEBCAPTURE_EGRESS_ALLOW')?.trim() ?? localEgressAllow;
  const wrong = ranges === '' ? undefined : ranges.split(',').find((range) => !isRange(range.trim()));
  if (wrong !== undefined) {
    reader.problem('WEBCAPTURE_EGRESS_ALLOW', `must be a list like ${localEgressAllow}; "${wrong}" is no CIDR range`);
  }
  return ranges;
}

function readHomeRegion(reader: EnvReader, regions: readonly InstalledRegion[]): string {
  const names: readonly string[] = regions.map(({ region }) => region);
  const home = reader.string('WEBCAPTURE_HOME_REGION', names[0] ?? '');
  if (names.length > 0 && !names.includes(home)) {
    reader.problem('WEBCAPTURE_HOME_REGION', `must be one of ${names.join(', ')}, not "${home}"`);
  }
  return home;
}

function readSandbox(reader: EnvReader): 'on' | 'off' | undefined {
  const sandbox = reader.string('WEBCAPTURE_CHROMIUM_SANDBOX');
  if (sandbox === undefined || sandbox === 'on' || sandbox === 'off') return sandbox;
  reader.problem('WEBCAPTURE_CHROMIUM_SANDBOX', `must be one of on, off, not "${sandbox}"`);
  return undefined;
}

function readRegions(reader: EnvReader): readonly InstalledRegion[] {
  const regions = commonVariables.regions.read(reader);
  const tooMany = regions.find(({ minRenderers }) => minRenderers > maxRenderersPerRegion);
  if (tooMany !== undefined) {
    reader.problem(
      'WEBCAPTURE_REGIONS',
      `may ask for ${maxRenderersPerRegion} renderers per region here, not ${tooMany.minRenderers}`,
    );
  }
  return regions;
}

function isRange(range: string): boolean {
  const [address = '', prefix = '', ...rest] = range.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}
