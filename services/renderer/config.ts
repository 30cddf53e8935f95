import { availableParallelism } from 'node:os';
import { readCommonConfig, type CommonConfig } from '@webcapture/shared/config/common.ts';
import { readEgressAllow, readEgressDeny } from '@webcapture/shared/config/egress.ts';
import { EnvReader, type Environment } from '@webcapture/shared/config/env.ts';
import { readStorage, type StorageConfig } from '@webcapture/shared/config/storage.ts';
import { regions, type Region } from '@webcapture/shared/contract/regions.ts';

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

/** Throws a ConfigError that names every variable that is wrong. */
export function readRendererConfig(environment: Environment): RendererConfig {
  const env = new EnvReader(environment);
  const common = readCommonConfig(env, { opsPort: 9091 });
  const installed = common.regions.map(({ region }) => region);
  const region = env.oneOf('WEBCAPTURE_REGION', regions, installed[0] ?? 'us-east');
  if (!installed.includes(region)) env.problem('WEBCAPTURE_REGION', `must be one of WEBCAPTURE_REGIONS, not ${region}`);
  const slots = env.integer('WEBCAPTURE_SLOTS', availableParallelism(), { min: 1, max: 64 });
  const mebibyte = 1024 * 1024;
  return env.finish(() => ({
    ...common,
    storage: readStorage(env),
    region,
    slots,
    headlessShellPath: env.string('WEBCAPTURE_HEADLESS_SHELL_PATH', '/usr/bin/chromium-headless-shell'),
    chromiumPath: env.string('WEBCAPTURE_CHROMIUM_PATH', '/usr/bin/chromium'),
    sandbox: env.oneOf('WEBCAPTURE_CHROMIUM_SANDBOX', ['on', 'off'], 'on'),
    capturesPerBrowser: env.integer('WEBCAPTURE_CAPTURES_PER_BROWSER', 200, { min: 1, max: 100_000 }),
    browserMemoryBytes:
      mebibyte * env.integer('WEBCAPTURE_BROWSER_MEMORY_MB', 1024 + 400 * slots, { min: 256, max: 1_048_576 }),
    pageMemoryBytes: mebibyte * env.integer('WEBCAPTURE_PAGE_MEMORY_MB', 768, { min: 64, max: 1_048_576 }),
    egressAllow: readEgressAllow(env),
    egressDeny: readEgressDeny(env),
    downloadBytes: mebibyte * env.integer('WEBCAPTURE_CAPTURE_DOWNLOAD_MB', 512, { min: 1, max: 1_048_576 }),
    filtersPath: env.string('WEBCAPTURE_FILTERS_PATH'),
    stealthProvider: env.string('WEBCAPTURE_STEALTH_PROVIDER'),
  }));
}
