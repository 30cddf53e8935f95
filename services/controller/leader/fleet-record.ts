import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import {
  differencesFrom,
  type FleetConfig,
  type FleetConfigCheck,
  fleetConfigFormat,
  fleetConfigKey,
  type FleetValues,
  readFleetConfig,
  regionsOf,
} from '@webcapture/shared/queue/fleet-config.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';

/** The oldest supported version of satellites. */
export const minSatelliteVersion = '0.2.0';

const writeTimeoutMs = 2000;

/** If NATS has lost the record, a hub with other values waits this long, so that the rightful hub can write it again. */
const vanishedMs = 30_000;

export interface FleetRecordParts {
  readonly live: Entries;
  readonly own: FleetValues;
  /** Display name of this installation. */
  readonly name: string;
  readonly check: FleetConfigCheck;
  /** The regions whose renderers run in other clusters. */
  readonly otherRegions: readonly Region[];
  readonly now?: () => number;
}

/**
 * How the values of a controller relate to the record. `newer`: the controller started after the record was written,
 * and replaces it. `superseded`: a controller of the same installation that started later has replaced its values.
 * `foreign`: the record belongs to another installation.
 */
export type Standing = 'agrees' | 'newer' | 'superseded' | 'foreign';

/**
 * Decides how a controller relates to the record.
 *
 * @param own `id` of its installation, or null if unknown; `generation` of the last record with its values, or null if there was none
 */
export function standingOf(
  found: FleetConfig | null,
  own: { readonly id: string | null; readonly values: FleetValues; readonly generation: number | null },
): Standing {
  if (found === null || differencesFrom(found, own.values).length === 0) return 'agrees';
  if (found.hub.id !== own.id) return 'foreign';
  return own.generation !== null && found.generation > own.generation ? 'superseded' : 'newer';
}

/**
 * The configuration of the fleet in the view of a hub's controller. It belongs to the installation of the first leader. A controller of
 * another installation may lead only if its values are the same, because it then changes nothing. Among the controllers of one
 * installation, only those with the values of the controller that started last may lead. A rolling update therefore does not wait for the
 * old leader.
 */
export class FleetRecord {
  readonly #parts: FleetRecordParts;
  readonly #now: () => number;
  /** Id of this installation; null until its cluster has reported it. */
  #id: string | null = null;
  /** Undefined before the first read. */
  #found: FleetConfig | null | undefined;
  /** Generation of the last record with the values of this process; null if there was none. */
  #generation: number | null = null;
  #vanishedAt: number | null = null;
  /** Regions of other clusters that have worked at least once. */
  readonly #joined = new Set<Region>();

  constructor(parts: FleetRecordParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  identify(id: string): void {
    this.#id = id;
  }

  /**
   * Reads the record, and writes the configuration of this process if it is newer. If NATS does not answer or the bucket does not exist,
   * throws and keeps the last record.
   */
  async look(): Promise<void> {
    const entry = await readFleetConfig(this.#parts.live);
    this.#take(entry?.value ?? null);
    if (this.#standing === 'newer') await this.#write(entry);
  }

  /** Whether the record has been read. */
  get isKnown(): boolean {
    return this.#found !== undefined;
  }

  /** Regions of other clusters that have never worked; empty before the first read. */
  get pending(): ReadonlySet<Region> {
    return new Set(this.isKnown ? this.#parts.otherRegions.filter((region) => !this.#joined.has(region)) : []);
  }

  /** Marks a region as working. The next call of `store` writes that. */
  join(region: Region): void {
    this.#joined.add(region);
  }

  /** Whether this controller may lead the fleet: its values are current, or leading changes nothing. */
  get mayLead(): boolean {
    return this.#standing === 'agrees' || this.#standing === 'newer';
  }

  /** Whether a controller of this installation with a newer configuration should lead. */
  get isSuperseded(): boolean {
    return this.#standing === 'superseded';
  }

  /** Why this controller may not lead, in words for operators; null if it may. */
  get obstacle(): string | null {
    const found = this.#found;
    if (this.mayLead || found === undefined || found === null) return null;
    if (this.isSuperseded) return 'a controller of this installation has started with a newer configuration';
    const fields = differencesFrom(found, this.#parts.own).join(', ');
    return `this fleet belongs to the installation ${found.hub.name} (${found.hub.id}), whose configuration differs in ${fields}`;
  }

  /** Whether this controller may create the bucket of the leader election. No controller can lead without it. */
  get mayBootstrap(): boolean {
    return this.#found === undefined || this.mayLead;
  }

  /**
   * Makes the next `look` write this process's configuration, as if the process had just started. Called if the newer controllers no longer
   * exist.
   */
  supersede(): void {
    this.#generation = null;
  }

  /** Writes the configuration of this installation if it is the hub and the record differs. Only the leader calls it. */
  async store(): Promise<void> {
    const entry = await readFleetConfig(this.#parts.live);
    this.#take(entry?.value ?? null);
    const found = entry?.value;
    if (!this.mayLead || (found !== undefined && found.hub.id !== this.#id)) return;
    const isSame =
      found?.format === fleetConfigFormat &&
      found.hub.version === version &&
      found.minSatelliteVersion === minSatelliteVersion &&
      this.#standing === 'agrees' &&
      String(found.joined) === String(this.#joinedOfOwn());
    if (!isSame) await this.#write(entry);
  }

  get #standing(): Standing | undefined {
    if (this.#found === undefined) return undefined;
    return standingOf(this.#found, { id: this.#id, values: this.#parts.own, generation: this.#generation });
  }

  /** Replaces the record that was read, unless another controller has replaced it since. */
  async #write(entry: { readonly value: FleetConfig; readonly revision: number } | null): Promise<void> {
    if (this.#id === null) return;
    const { live, own, name } = this.#parts;
    const before = Math.max(this.#generation ?? 0, entry === null ? 0 : entry.value.generation);
    const next: FleetConfig = {
      format: fleetConfigFormat,
      hub: { id: this.#id, name, version },
      minSatelliteVersion,
      values: own,
      joined: this.#joinedOfOwn(),
      generation: this.#standing === 'newer' ? before + 1 : Math.max(before, 1),
      at: Date.now(),
    };
    const written =
      entry === null ? live.create(fleetConfigKey, next) : live.update(fleetConfigKey, next, entry.revision);
    try {
      await withDeadline(written, writeTimeoutMs, 'writing the configuration of the fleet');
      this.#take(next);
    } catch (error) {
      // Another controller has written first. The next read shows its record.
      if (!isWriteConflict(error)) throw error;
    }
  }

  /** A region that is removed and added again counts as new. */
  #joinedOfOwn(): readonly Region[] {
    const { own, otherRegions } = this.#parts;
    return regionsOf({ values: own }).filter((region) => !otherRegions.includes(region) || this.#joined.has(region));
  }

  #take(found: FleetConfig | null): void {
    if (found === null && this.#found !== undefined && this.#found !== null && !this.mayLead) {
      this.#vanishedAt ??= this.#now();
      if (this.#now() - this.#vanishedAt < vanishedMs) return;
    }
    this.#vanishedAt = null;
    this.#found = found;
    for (const region of found?.joined ?? []) this.#joined.add(region);
    if (found !== null && differencesFrom(found, this.#parts.own).length === 0) {
      this.#generation = Math.max(this.#generation ?? 0, found.generation);
    }
    this.#parts.check.compare(found);
  }
}
