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
} from '@webcapture/shared/queue/fleet-config.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';

/** The oldest satellites that this version works with. */
export const minSatelliteVersion = '0.1.0';

const writeTimeoutMs = 2000;

/** A hub with other values leaves the rightful one so long to write its configuration again after NATS has lost it. */
const vanishedMs = 30_000;

export interface FleetRecordParts {
  readonly live: Entries;
  readonly own: FleetValues;
  /** Of this installation, for people. */
  readonly name: string;
  readonly check: FleetConfigCheck;
  readonly now?: () => number;
}

/**
 * The configuration of the fleet as a controller of a hub sees it. It belongs to one installation, that of the first leader. A controller
 * of another one leads only with the same values, since then it changes nothing.
 */
export class FleetRecord {
  readonly #parts: FleetRecordParts;
  readonly #now: () => number;
  /** Of this installation; null until its cluster has told. */
  #id: string | null = null;
  /** Undefined before the first look. */
  #found: FleetConfig | null | undefined;
  #vanishedAt: number | null = null;

  constructor(parts: FleetRecordParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  identify(id: string): void {
    this.#id = id;
  }

  /** Reads the record. Throws when NATS does not answer, or the bucket is not there: then what was read last stands. */
  async look(): Promise<void> {
    this.#take((await readFleetConfig(this.#parts.live))?.value ?? null);
  }

  /** Whether there was a first look. */
  get isKnown(): boolean {
    return this.#found !== undefined;
  }

  /** Whether this controller may lead the fleet: it decides about the streams, or would not change them. */
  get mayLead(): boolean {
    const found = this.#found;
    if (found === undefined) return false;
    return found === null || found.hub.id === this.#id || differencesFrom(found, this.#parts.own).length === 0;
  }

  /** Why not, in words for operators; null when it may. */
  get obstacle(): string | null {
    const found = this.#found;
    if (this.mayLead || found === undefined || found === null) return null;
    const fields = differencesFrom(found, this.#parts.own).join(', ');
    return `this fleet belongs to the installation ${found.hub.name} (${found.hub.id}), whose configuration differs in ${fields}`;
  }

  /** Whether the bucket may be created, in which leaders are elected: nobody can lead before. */
  get mayBootstrap(): boolean {
    return this.#found === undefined || this.mayLead;
  }

  /** Writes the configuration of this installation, where it is the hub and another one is written. To be called by the leader. */
  async claim(): Promise<void> {
    const entry = await readFleetConfig(this.#parts.live);
    this.#take(entry?.value ?? null);
    const { live, own, name } = this.#parts;
    if (this.#id === null || (entry !== null && entry.value.hub.id !== this.#id)) return;
    const isSame =
      entry !== null &&
      entry.value.format === fleetConfigFormat &&
      entry.value.hub.version === version &&
      entry.value.minSatelliteVersion === minSatelliteVersion &&
      differencesFrom(entry.value, own).length === 0;
    if (isSame) return;
    const next: FleetConfig = {
      format: fleetConfigFormat,
      hub: { id: this.#id, name, version },
      minSatelliteVersion,
      values: own,
      at: Date.now(),
    };
    const written =
      entry === null ? live.create(fleetConfigKey, next) : live.update(fleetConfigKey, next, entry.revision);
    try {
      await withDeadline(written, writeTimeoutMs, 'writing the configuration of the fleet');
      this.#take(next);
    } catch (error) {
      // Another leader was first: the next look shows what it wrote.
      if (!isWriteConflict(error)) throw error;
    }
  }

  #take(found: FleetConfig | null): void {
    if (found === null && this.#found !== undefined && this.#found !== null && !this.mayLead) {
      this.#vanishedAt ??= this.#now();
      if (this.#now() - this.#vanishedAt < vanishedMs) return;
    }
    this.#vanishedAt = null;
    this.#found = found;
    this.#parts.check.compare(found);
  }
}
