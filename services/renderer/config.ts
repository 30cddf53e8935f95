import { availableParallelism } from 'node:os';
import { egressVariables, readEgressAllow, readEgressDeny } from '@webcapture/shared/egress/policy.ts';
import {
  type CommonConfig,
  commonVariables,
  readCommonConfig,
  readStorage,
  type StorageConfig,
  storageVariables,
} from '@webcapture/shared/runtime/config.ts';
import { type Environment, EnvReader } from '@webcapture/shared/runtime/env.ts';
import { type Region, regions } from '@webcapture/shared/runtime/regions.ts';
import {
  choiceVariable,
  integerVariable,
  optionalVariable,
  textVariable,
  type Variable,
} from '@webcapture/shared/runtime/variables.ts';

export interface RendererConfig extends CommonConfig {
  readonly storage: StorageConfig;
  readonly region: Region;
  /** Captures at a time. */
  readonly slots: number;
  /** The headless shell renders everything but antiBot, which needs the full browser. */
  readonly headlessShellPath: string;
  readonly chromiumPath: string;
  readonly sandbox: 'on' | 'off';
  /** A browser is replaced after so many captures, and when its processes hold more memory than this. */
  readonly capturesPerBrowser: number;
  readonly browserMemoryBytes: number;
  /** A page whose process holds more memory than this is ended, and its capture with it. */
  readonly pageMemoryBytes: number;
  /** CIDR ranges opened to captures. */
  readonly egressAllow: readonly string[];
  /** CIDR ranges closed to them, whatever else opens them. */
  readonly egressDeny: readonly string[];
  /** The most that one capture may download. */
  readonly downloadBytes: number;
  /** The folder of compiled filter lists; without one, a short built-in list serves. */
  readonly filtersPath: string | undefined;
  /** Path of the module that makes the stealth provider; without one it is full Chromium. */
  readonly stealthProvider: string | undefined;
}

const variables = {
  region: choiceVariable('WEBCAPTURE_REGION', regions, {
    default: 'us-east',
    defaultText: 'the first of `WEBCAPTURE_REGIONS`',
    meaning: 'Region whose captures this renderer takes.',
  }),
  slots: integerVariable('WEBCAPTURE_SLOTS', {
    default: availableParallelism(),
    defaultText: 'the number of CPU cores',
    min: 1,
    max: 64,
    meaning: 'Captures that this renderer runs at the same time.',
  }),
  headlessShellPath: textVariable('WEBCAPTURE_HEADLESS_SHELL_PATH', {
    default: '/usr/bin/chromium-headless-shell',
    meaning: "Path of Chromium's headless shell, which renders every capture without `antiBot`.",
  }),
  chromiumPath: textVariable('WEBCAPTURE_CHROMIUM_PATH', {
    default: '/usr/bin/chromium',
    meaning: 'Path of full Chromium, which renders captures with `antiBot`.',
  }),
  sandbox: choiceVariable('WEBCAPTURE_CHROMIUM_SANDBOX', ['on', 'off'], {
    default: 'on',
    meaning:
      "Chromium's own sandbox. With `on` a renderer that cannot start the sandbox does not start; it never falls back to `off` by itself.",
  }),
  capturesPerBrowser: integerVariable('WEBCAPTURE_CAPTURES_PER_BROWSER', {
    default: 200,
    min: 1,
    max: 100_000,
    meaning: 'A browser is replaced after this many captures.',
  }),
  browserMemory: integerVariable('WEBCAPTURE_BROWSER_MEMORY_MB', {
    default: 1024 + 400 * availableParallelism(),
    defaultText: '1024 + 400 × `WEBCAPTURE_SLOTS`',
    min: 256,
    max: 1_048_576,
    unit: 'MiB',
    meaning: 'A browser is replaced when its processes together hold more memory than this.',
  }),
  pageMemory: integerVariable('WEBCAPTURE_PAGE_MEMORY_MB', {
    default: 768,
    min: 64,
    max: 1_048_576,
    unit: 'MiB',
    meaning: 'A page whose process holds more memory than this is ended, and its capture fails.',
  }),
  download: integerVariable('WEBCAPTURE_CAPTURE_DOWNLOAD_MB', {
    default: 512,
    min: 1,
    max: 1_048_576,
    unit: 'MiB',
    meaning:
      'Maximum download of one capture. Beyond it the network of the page is cut, and the page is captured as it is.',
  }),
  filtersPath: optionalVariable('WEBCAPTURE_FILTERS_PATH', {
    defaultText: 'a short built-in list',
    meaning: 'Folder of compiled filter lists for `block`. Images contain one; `npm start` compiles its own.',
  }),
  stealthProvider: optionalVariable('WEBCAPTURE_STEALTH_PROVIDER', {
    defaultText: 'full Chromium',
    meaning: 'Path of a module that provides the browser for `antiBot`. See [stealth providers](stealth-providers.md).',
  }),
};

/** Every variable that a renderer reads. */
export const rendererVariables: readonly Variable[] = [
  ...Object.values(commonVariables),
  ...Object.values(egressVariables),
  ...Object.values(storageVariables),
  ...Object.values(variables),
];

/** Throws a ConfigError that names every variable that is wrong. */
export function readRendererConfig(environment: Environment): RendererConfig {
  const env = new EnvReader(environment);
  const common = readCommonConfig(env, { opsPort: 9091 });
  const installed = common.regions.map(({ region }) => region);
  const region = variables.region.read(env, installed[0]);
  if (!installed.includes(region)) env.problem('WEBCAPTURE_REGION', `must be one of WEBCAPTURE_REGIONS, not ${region}`);
  const slots = variables.slots.read(env);
  const mebibyte = 1024 * 1024;
  return env.finish(() => ({
    ...common,
    storage: readStorage(env),
    region,
    slots,
    headlessShellPath: variables.headlessShellPath.read(env),
    chromiumPath: variables.chromiumPath.read(env),
    sandbox: variables.sandbox.read(env),
    capturesPerBrowser: variables.capturesPerBrowser.read(env),
    browserMemoryBytes: mebibyte * variables.browserMemory.read(env, 1024 + 400 * slots),
    pageMemoryBytes: mebibyte * variables.pageMemory.read(env),
    egressAllow: readEgressAllow(env),
    egressDeny: readEgressDeny(env),
    downloadBytes: mebibyte * variables.download.read(env),
    filtersPath: variables.filtersPath.read(env),
    stealthProvider: variables.stealthProvider.read(env),
  }));
}
