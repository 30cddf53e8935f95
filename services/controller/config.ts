import { readAddresses } from '@webcapture/shared/config/addresses.ts';
import { readCommonConfig, type CommonConfig } from '@webcapture/shared/config/common.ts';
import { readDefaultLimits } from '@webcapture/shared/config/default-limits.ts';
import { readEgressAllow, readEgressDeny } from '@webcapture/shared/config/egress.ts';
import { EnvReader, type Environment } from '@webcapture/shared/config/env.ts';
import { readStorage, type StorageConfig } from '@webcapture/shared/config/storage.ts';
import type { StreamSettings } from '@webcapture/shared/nats/streams.ts';
import type { AccountLimits } from '@webcapture/shared/state/admission.ts';
import { readKubernetesSettings, type KubernetesSettings } from './kubernetes/settings.ts';

export interface ControllerConfig extends CommonConfig {
  readonly storage: StorageConfig;
  readonly streams: StreamSettings;
  /** How often each region is tried out with a capture of our own; 0 for never. */
  readonly canaryIntervalMs: number;
  /** How often all files are compared with their records; 0 for never. */
  readonly reconcileIntervalMs: number;
  /** CIDR ranges opened to webhooks, as to captures. */
  readonly egressAllow: readonly string[];
  /** CIDR ranges closed to them, whatever else opens them. */
  readonly egressDeny: readonly string[];
  /** Limits of an account for which none were chosen. */
  readonly defaultLimits: AccountLimits;
  /** Files are at `<cdnUrl>/<name>`. */
  readonly cdnUrl: string;
  /** Null where there is no Kubernetes: then heartbeats alone decide. */
  readonly kubernetes: KubernetesSettings | null;
}

const mebibyte = 1024 * 1024;

/** Each pass lists all files, which a bucket charges for. */
const minReconcileSeconds = 3600;

/**
 * Reads the controller's variables, throws a ConfigError that names every bad one:
 * - `WEBCAPTURE_NATS_REPLICAS` (1 or 3, default 1): copies of every stream.
 * - `WEBCAPTURE_DB_MAX_BYTES`, `_LIVE_`, `_CAPTURES_`, `_RESULTS_`, `_TASKS_`, `_EXPIRY_`, `_FILES_` (default -1, no limit but the
 *   server's own): a stream that is full refuses what is new. With FILES that fails captures (STORAGE_FAILED) until files
 *   expire. TASKS and EXPIRY lose their oldest messages; the daily audit of the records finds what was due, up to a day
 *   late: better without a limit.
 * - `WEBCAPTURE_CACHE_MAX_BYTES` (default 256 MiB, above 100,000 answers): the oldest ones go first.
 * - `WEBCAPTURE_DEAD_MAX_BYTES` (default 64 MiB): the oldest advisories go first.
 * - `PORT`, `WEBCAPTURE_PUBLIC_URL`, `WEBCAPTURE_CDN_URL`, `WEBCAPTURE_EGRESS_ALLOW`,
 *   `WEBCAPTURE_EGRESS_DENY` and `WEBCAPTURE_DEFAULT_*`, as for the fronts.
 * - `WEBCAPTURE_CANARY_INTERVAL` in seconds (default 60, 0 for off).
 * - `WEBCAPTURE_RECONCILE_INTERVAL` in seconds (default a day, 0 for off, at least an hour).
 * - those of {@link readKubernetesSettings}.
 */
export function readControllerConfig(environment: Environment): ControllerConfig {
  const env = new EnvReader(environment);
  const common = readCommonConfig(env, { opsPort: 9092 });
  const replicas = Number(env.oneOf('WEBCAPTURE_NATS_REPLICAS', ['1', '3'], '1'));
  const maxBytes = {
    db: readMaxBytes(env, 'WEBCAPTURE_DB_MAX_BYTES', -1),
    live: readMaxBytes(env, 'WEBCAPTURE_LIVE_MAX_BYTES', -1),
    cache: readMaxBytes(env, 'WEBCAPTURE_CACHE_MAX_BYTES', 256 * mebibyte),
    captures: readMaxBytes(env, 'WEBCAPTURE_CAPTURES_MAX_BYTES', -1),
    results: readMaxBytes(env, 'WEBCAPTURE_RESULTS_MAX_BYTES', -1),
    tasks: readMaxBytes(env, 'WEBCAPTURE_TASKS_MAX_BYTES', -1),
    expiry: readMaxBytes(env, 'WEBCAPTURE_EXPIRY_MAX_BYTES', -1),
    dead: readMaxBytes(env, 'WEBCAPTURE_DEAD_MAX_BYTES', 64 * mebibyte),
    files: readMaxBytes(env, 'WEBCAPTURE_FILES_MAX_BYTES', -1),
  };
  const canarySeconds = env.integer('WEBCAPTURE_CANARY_INTERVAL', 60, { min: 0, max: 86_400 });
  const reconcileSeconds = env.integer('WEBCAPTURE_RECONCILE_INTERVAL', 86_400, { min: 0, max: 30 * 86_400 });
  if (reconcileSeconds > 0 && reconcileSeconds < minReconcileSeconds) {
    env.problem('WEBCAPTURE_RECONCILE_INTERVAL', `must be 0 (off) or at least ${minReconcileSeconds}`);
  }
  return env.finish(() => ({
    ...common,
    storage: readStorage(env),
    streams: Object.freeze({ replicas, maxBytes: Object.freeze(maxBytes) }),
    canaryIntervalMs: canarySeconds * 1000,
    reconcileIntervalMs: reconcileSeconds * 1000,
    egressAllow: readEgressAllow(env),
    egressDeny: readEgressDeny(env),
    defaultLimits: readDefaultLimits(env),
    cdnUrl: readAddresses(env, env.port('PORT', 3000)).cdnUrl,
    kubernetes: readKubernetesSettings(env),
  }));
}

function readMaxBytes(env: EnvReader, name: string, fallback: number): number {
  const bytes = env.integer(name, fallback, { min: -1, max: Number.MAX_SAFE_INTEGER });
  // The server takes 0 for "no limit", which is not what it says.
  if (bytes !== -1 && bytes < mebibyte) env.problem(name, `must be -1 (no limit) or at least ${mebibyte} bytes`);
  return bytes;
}
