import { Gauge, type Registry } from 'prom-client';
import type { AccountLimits } from '../accounts/limits.ts';
import type { Entries } from '../nats/entries.ts';
import { isS3, type StorageConfig } from '../runtime/config.ts';
import { delay, withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { type InstalledRegion, isRegion, type Region } from '../runtime/regions.ts';

/** The settings that must be the same in all processes of a fleet. Each value is a string, which makes values comparable. */
export const fleetFields = [
  'regions',
  'storage',
  'publicUrl',
  'cdnUrl',
  'defaultLimits',
  'streamReplicas',
  'streamMaxBytes',
] as const;
export type FleetField = (typeof fleetFields)[number];
export type FleetValues = Readonly<Record<FleetField, string>>;

/**
 * The configuration of the fleet, in the key `config` of the bucket `live`. The leader of the hub writes it, and so does a controller of
 * the hub that starts with other values.
 */
export interface FleetConfig {
  /** Format of this record. A reader that does not know the format is too old for the fleet. */
  readonly format: number;
  readonly hub: {
    /** Id of the installation: the uid of its Lease, or {@link idWithoutCluster} outside of Kubernetes. */
    readonly id: string;
    /** Namespace and release of the installation, for people. */
    readonly name: string;
    readonly version: string;
  };
  /** The oldest supported version of satellites. */
  readonly minSatelliteVersion: string;
  readonly values: FleetValues;
  /** The regions that have worked at least once. */
  readonly joined: readonly Region[];
  /** Increases by one with each change of the values. */
  readonly generation: number;
  /** Unix milliseconds. */
  readonly at: number;
}

export const fleetConfigKey = 'config';
export const fleetConfigFormat = 1;

/** Id of an installation outside of Kubernetes. Every process with access to its data belongs to the hub. */
export const idWithoutCluster = 'without a cluster';

export const regionsText = (regions: readonly InstalledRegion[]): string =>
  regions
    .map(({ region, minRenderers }) => `${region}:${minRenderers}`)
    .toSorted()
    .join(',');

export const storageText = ({ bucket }: StorageConfig): string =>
  bucket === undefined
    ? 'nats'
    : `${bucket.endpoint ?? (isS3(bucket) ? 's3:/' : 'gs:/')}/${bucket.bucket}/${bucket.prefix}`;

export const limitsText = (limits: AccountLimits): string => numbersText(limits);

export const numbersText = (numbers: object): string =>
  Object.entries(numbers)
    .map(([name, number]) => `${name}=${String(number)}`)
    .toSorted()
    .join(',');

/** Returns the regions of the hub. */
export function regionsOf({ values }: Pick<FleetConfig, 'values'>): readonly Region[] {
  return values.regions
    .split(',')
    .map((entry) => entry.split(':')[0])
    .filter(isRegion);
}

/** Returns those fields in which a process differs from the fleet. The process may know only some of the fields. */
export function differencesFrom({ values }: FleetConfig, own: Partial<FleetValues>): readonly FleetField[] {
  return fleetFields.filter((field) => own[field] !== undefined && own[field] !== values[field]);
}

const readTimeoutMs = 2000;

/** Reads the configuration with its revision; null if none was written. Throws if NATS does not answer or the bucket does not exist. */
export function readFleetConfig(live: Entries) {
  return withDeadline(live.get<FleetConfig>(fleetConfigKey), readTimeoutMs, 'reading the configuration of the fleet');
}

/** Interval at which a process reads the configuration of the fleet. */
const checkIntervalMs = 10_000;

/**
 * Compares a process with the configuration of its fleet. Logs each difference once and reports it in a metric. The configuration stays
 * unchanged, because the hub decides.
 */
export class FleetConfigCheck {
  readonly #own: Partial<FleetValues>;
  readonly #log: Logger;
  readonly #mismatch: Gauge<'field'>;
  #lastLogged = '';

  constructor(own: Partial<FleetValues>, { registry, log }: { registry: Registry; log: Logger }) {
    this.#own = own;
    this.#log = log;
    this.#mismatch = new Gauge({
      name: 'webcapture_fleet_config_mismatch',
      help: 'Fields in which the configuration of this process differs from that of its fleet, which the hub decides: 1 for each that differs, otherwise 0.',
      labelNames: ['field'],
      registers: [registry],
    });
    this.compare(null);
  }

  /** Returns the fields that differ; none while there is no configuration. */
  compare(found: FleetConfig | null): readonly FleetField[] {
    const fields = found === null ? [] : differencesFrom(found, this.#own);
    for (const field of fleetFields) {
      if (this.#own[field] !== undefined) this.#mismatch.set({ field }, fields.includes(field) ? 1 : 0);
    }
    if (found === null) return fields;
    const differences = fields.map(
      (field) => `${field} is ${this.#own[field]} here and ${found.values[field]} in the fleet`,
    );
    const text = differences.join('; ');
    if (text === this.#lastLogged) return fields;
    this.#lastLogged = text;
    const { name, version } = found.hub;
    if (fields.length === 0) this.#log.info('the configuration agrees with that of the fleet again');
    else this.#log.warn({ fields, hub: name, version }, `the configuration differs from that of the fleet: ${text}`);
    return fields;
  }

  /** Compares the process with its fleet periodically until the signal aborts. Never throws. */
  async follow(live: Entries, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.compare((await readFleetConfig(live))?.value ?? null);
      } catch {
        // If the read fails, the next check repeats it.
      }
      await delay(checkIntervalMs, signal);
    }
  }
}
