import { availableParallelism } from 'node:os';
import { secretsVariable } from '@webcapture/shared/captures/sealed-secrets.ts';
import { egressVariables, readEgressAllow, readEgressDeny } from '@webcapture/shared/egress/policy.ts';
import { readUpstreamProxy, type UpstreamProxy, upstreamVariables } from '@webcapture/shared/egress/upstream-config.ts';
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
import { autoSlots, machineOf } from './auto-slots.ts';

/** Maximum time that a renderer takes to stop, in milliseconds: the longest possible capture, and time to store it. */
export const drainMs = 240_000;

export interface RendererConfig extends CommonConfig {
  readonly storage: StorageConfig;
  /** Keys that may seal the secrets of captures. */
  readonly secretsKeys: readonly string[] | undefined;
  readonly region: Region;
  /** Maximum number of concurrent captures. */
  readonly slots: number;
  /** Path of the headless shell. It renders all captures except those with antiBot, which need the full browser. */
  readonly headlessShellPath: string;
  readonly chromiumPath: string;
  readonly sandbox: 'on' | 'off';
  /** Number of captures after which a browser is replaced. */
  readonly capturesPerBrowser: number;
  /** Maximum memory of all browsers together. Above it, the capture that uses the most is ended. */
  readonly browserMemoryBytes: number;
  /** Limits of a single capture. A capture whose browser exceeds one of them is ended. */
  readonly captureLimits: CaptureLimits;
  /** CIDR ranges that captures may access. */
  readonly egressAllow: readonly string[];
  /** CIDR ranges that captures may not access. They override `egressAllow`. */
  readonly egressDeny: readonly string[];
  /** The proxy through which captures connect; undefined for direct connections. */
  readonly upstreamProxy: UpstreamProxy | undefined;
  /** Maximum download of one capture, in bytes. */
  readonly downloadBytes: number;
  /** Folder of compiled filter lists. If undefined, a short built-in list is used. */
  readonly filtersPath: string | undefined;
  /** Path of the module that creates the stealth provider. If undefined, full Chromium is used. */
  readonly stealthProvider: string | undefined;
}

/** Limits of one capture, over all processes of its browser. */
export interface CaptureLimits {
  /** Processor time in milliseconds. */
  readonly cpuMs: number;
  readonly memoryBytes: number;
  /** Memory of the process that runs the page. */
  readonly pageBytes: number;
  /** Files of the browser. */
  readonly diskBytes: number;
  /** Processes and threads. A worker is a thread, and a frame of another site is a process. */
  readonly processes: number;
  readonly descriptors: number;
  /** Messages from the browser to this process. Each request, frame, navigation and console message of a page causes several. */
  readonly messages: number;
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
    auto: () => autoSlots(machineOf()),
    meaning:
      'Captures that this renderer runs at the same time. `auto`: three for two CPU cores of its container or machine, but at most as many as fit into the memory with 1024 MiB and 400 MiB for each slot. The chart needs a number: it computes resources and autoscaling from it.',
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
    meaning: 'Memory of all browsers of a renderer together. Beyond it, the capture that uses most of it fails.',
  }),
  captureMemory: integerVariable('WEBCAPTURE_CAPTURE_MEMORY_MB', {
    default: 1024,
    min: 256,
    max: 1_048_576,
    unit: 'MiB',
    meaning: 'Maximum memory of the browser of one capture. Beyond it the capture fails.',
  }),
  captureCpu: integerVariable('WEBCAPTURE_CAPTURE_CPU_SECONDS', {
    default: 60,
    min: 5,
    max: 3600,
    unit: 's',
    meaning: 'Maximum processor time of one capture, over all processes of its browser. Beyond it the capture fails.',
  }),
  captureDisk: integerVariable('WEBCAPTURE_CAPTURE_DISK_MB', {
    default: 256,
    min: 16,
    max: 1_048_576,
    unit: 'MiB',
    meaning: 'Maximum size of the files of the browser of one capture. Beyond it the capture fails.',
  }),
  captureProcesses: integerVariable('WEBCAPTURE_CAPTURE_PROCESSES', {
    default: 1000,
    min: 200,
    max: 1_000_000,
    meaning:
      'Maximum number of processes and threads of the browser of one capture. A worker is a thread, a frame of another site a process. Beyond it the capture fails.',
  }),
  captureDescriptors: integerVariable('WEBCAPTURE_CAPTURE_DESCRIPTORS', {
    default: 5000,
    min: 500,
    max: 1_000_000,
    meaning: 'Maximum number of open files and connections of the browser of one capture. Beyond it the capture fails.',
  }),
  captureMessages: integerVariable('WEBCAPTURE_CAPTURE_MESSAGES', {
    default: 100_000,
    min: 1000,
    max: 1_000_000_000,
    meaning:
      'Maximum number of messages from the browser of one capture to the renderer. Each frame, navigation, request and message to the console is some. Beyond it the capture fails.',
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
      'Maximum download of one capture. Beyond it the network of the page is cut, and the page is captured in its current state.',
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

/** All variables that a renderer reads. */
export const rendererVariables: readonly Variable[] = [
  ...Object.values(commonVariables),
  ...Object.values(egressVariables),
  ...Object.values(upstreamVariables),
  ...Object.values(storageVariables),
  secretsVariable,
  ...Object.values(variables),
];

/** Throws a ConfigError that names all invalid variables. */
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
    secretsKeys: secretsVariable.read(env),
    region,
    slots,
    headlessShellPath: variables.headlessShellPath.read(env),
    chromiumPath: variables.chromiumPath.read(env),
    sandbox: variables.sandbox.read(env),
    capturesPerBrowser: variables.capturesPerBrowser.read(env),
    browserMemoryBytes: mebibyte * variables.browserMemory.read(env, 1024 + 400 * slots),
    captureLimits: {
      cpuMs: 1000 * variables.captureCpu.read(env),
      memoryBytes: mebibyte * variables.captureMemory.read(env),
      pageBytes: mebibyte * variables.pageMemory.read(env),
      diskBytes: mebibyte * variables.captureDisk.read(env),
      processes: variables.captureProcesses.read(env),
      descriptors: variables.captureDescriptors.read(env),
      messages: variables.captureMessages.read(env),
    },
    egressAllow: readEgressAllow(env),
    egressDeny: readEgressDeny(env),
    upstreamProxy: readUpstreamProxy(env),
    downloadBytes: mebibyte * variables.download.read(env),
    filtersPath: variables.filtersPath.read(env),
    stealthProvider: variables.stealthProvider.read(env),
  }));
}
