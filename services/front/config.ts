import { readAddresses } from '@webcapture/shared/config/addresses.ts';
import { readCommonConfig, type CommonConfig } from '@webcapture/shared/config/common.ts';
import { readDefaultLimits } from '@webcapture/shared/config/default-limits.ts';
import { readEgressAllow, readEgressDeny } from '@webcapture/shared/config/egress.ts';
import { EnvReader, type Environment } from '@webcapture/shared/config/env.ts';
import { readStorage, type StorageConfig } from '@webcapture/shared/config/storage.ts';
import { maxLifetimeSeconds } from '@webcapture/shared/contract/capture-request.ts';
import { regions, type Region } from '@webcapture/shared/contract/regions.ts';
import type { AccountLimits } from '@webcapture/shared/state/admission.ts';

export interface FrontConfig extends CommonConfig {
  readonly storage: StorageConfig;
  /** Clients are sent to signed links of the bucket for their files, in place of getting them through the front. */
  readonly signedLinks: boolean;
  readonly host: string;
  readonly port: number;
  /** How clients reach the front, without a slash at its end. */
  readonly publicUrl: string;
  /** Files are at `<cdnUrl>/<name>`. */
  readonly cdnUrl: string;
  /** A key, of any form, that works from the start on; its account is `demo`. */
  readonly presetKey: string | undefined;
  /** Opens the admin endpoints; of at least 16 characters; without one there are none. */
  readonly adminToken: string | undefined;
  /** Limits of an account for which none were chosen. */
  readonly defaultLimits: AccountLimits;
  /** What `auto` prefers. */
  readonly homeRegion: Region;
  /** CIDR ranges opened to captures. */
  readonly egressAllow: readonly string[];
  /** CIDR ranges closed to them, whatever else opens them. */
  readonly egressDeny: readonly string[];
  /** How long a capture that a client waits for may wait for a renderer. */
  readonly queueTimeoutMs: number;
  /** The shortest interval of refreshes, but for 0. */
  readonly minRefreshSeconds: number;
  /** How long persisted files are kept. */
  readonly persistenceSeconds: number;
  /** Believe the X-Forwarded-* headers and the X-Request-Id of whoever connects: only behind a proxy of one's own. */
  readonly trustProxy: boolean;
  /** How long a front that stops still takes connections, and closes each after its answer. */
  readonly drainDelayMs: number;
}

/** Throws a ConfigError that names every variable that is wrong. */
export function readFrontConfig(environment: Environment): FrontConfig {
  const env = new EnvReader(environment);
  const common = readCommonConfig(env, { opsPort: 9090 });
  const installed = common.regions.map(({ region }) => region);
  const port = env.port('PORT', 3000);
  const { publicUrl, cdnUrl } = readAddresses(env, port);
  const homeRegion = env.oneOf('WEBCAPTURE_HOME_REGION', regions, installed[0] ?? 'us-east');
  if (installed.length > 0 && !installed.includes(homeRegion)) {
    env.problem('WEBCAPTURE_HOME_REGION', `must be one of WEBCAPTURE_REGIONS, not ${homeRegion}`);
  }
  return env.finish(() => {
    const storage = readStorage(env);
    return {
      ...common,
      storage,
      signedLinks: readSignedLinks(env, storage),
      host: env.string('WEBCAPTURE_HOST', '0.0.0.0'),
      port,
      publicUrl,
      cdnUrl,
      presetKey: env.secret('WEBCAPTURE_API_KEY', 16),
      adminToken: env.secret('WEBCAPTURE_ADMIN_TOKEN', 16),
      defaultLimits: readDefaultLimits(env),
      homeRegion,
      egressAllow: readEgressAllow(env),
      egressDeny: readEgressDeny(env),
      queueTimeoutMs: 1000 * env.integer('WEBCAPTURE_QUEUE_TIMEOUT', 60, { min: 1, max: 300 }),
      minRefreshSeconds: env.integer('WEBCAPTURE_MIN_REFRESH_INTERVAL', 3600, { min: 1, max: maxLifetimeSeconds }),
      persistenceSeconds: 86_400 * env.integer('WEBCAPTURE_PERSISTENCE_DAYS', 3650, { min: 1, max: 36_500 }),
      drainDelayMs: 1000 * env.integer('WEBCAPTURE_DRAIN_DELAY', 0, { min: 0, max: 60 }),
      trustProxy: env.oneOf('WEBCAPTURE_TRUST_PROXY', ['true', 'false'], 'false') === 'true',
    };
  });
}

function readSignedLinks(env: EnvReader, { bucket }: StorageConfig): boolean {
  const asked = env.oneOf('WEBCAPTURE_GCS_LINKS', ['stream', 'signed'], 'stream') === 'signed';
  if (asked && bucket === undefined) env.problem('WEBCAPTURE_GCS_LINKS', 'needs WEBCAPTURE_GCS_BUCKET beside it');
  if (asked && bucket?.endpoint !== undefined) {
    env.problem(
      'WEBCAPTURE_GCS_LINKS',
      'cannot be signed beside WEBCAPTURE_GCS_ENDPOINT: an emulator knows no signatures',
    );
  }
  return asked;
}
