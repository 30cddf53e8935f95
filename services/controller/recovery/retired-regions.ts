import type { StoredMsg } from '@nats-io/jetstream';
import { isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { readBatch } from '@webcapture/shared/nats/read-many.ts';
import { durableOfSubject, prefixed, regionOfSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { readFleetConfig, regionsOf } from '@webcapture/shared/queue/fleet-config.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { Term } from '../leader/election.ts';
import { eachOf } from '../loops.ts';
import { consumerConfigs } from '../streams.ts';
import type { FailCapture } from './fail-capture.ts';
import { readQueuedJob } from './queued-jobs.ts';

export const retiredRegionsIntervalMs = 1000;

const batch = 128;
const maxBatchBytes = 4 * 1024 * 1024;
const parallel = 16;

export interface RetiredRegionsDeps {
  readonly session: NatsSession;
  readonly live: Entries;
  /** The regions of this controller. */
  readonly regions: readonly Region[];
  readonly fleet: Fleet;
  /** False shortly after a reconnection, when heartbeats have not arrived yet. */
  readonly isFleetKnown: () => boolean;
  readonly jobs: Jobs;
  readonly failCapture: FailCapture;
  readonly log: Logger;
}

/**
 * Settles the captures of regions that were removed from the fleet's configuration, and removes their queues. No
 * renderer pulls such jobs, so they would wait until their deadline.
 */
export class RetiredRegions {
  readonly #deps: RetiredRegionsDeps;

  constructor(deps: RetiredRegionsDeps) {
    this.#deps = deps;
  }

  /**
   * Fails the captures that wait in queues of removed regions. If renderers of such a region still accept captures, they render the waiting
   * ones instead. A capture that a renderer has taken is not failed before the region's last renderer has stopped. Idempotent.
   */
  async settle(term: Pick<Term, 'holds'>): Promise<void> {
    const subjects = await this.#retiredSubjects();
    if (subjects.length === 0 || !this.#deps.isFleetKnown()) return;
    let settled = 0;
    for (const [subject, region] of subjects) settled += await this.#settleSubject(subject, region, term);
    if (settled > 0 && term.holds()) await this.removeQueues(term);
  }

  /** Removes the durables of removed regions whose subjects contain no job. */
  async removeQueues(term: Pick<Term, 'holds'>): Promise<void> {
    const { session, log } = this.#deps;
    const wanted = new Set(consumerConfigs(await this.#installed()).map(({ config }) => config.durable_name));
    const retired = [];
    for await (const { config } of session.jsm.consumers.list(streamNames.captures)) {
      if (!wanted.has(config.durable_name ?? '')) retired.push(config);
    }
    if (retired.length === 0) return;
    const subjects = await this.#subjects();
    for (const { durable_name: durable, filter_subject: subject } of retired) {
      // A job that a renderer holds stays in the stream until it is acknowledged.
      if (durable === undefined || subject === undefined || subjects.includes(subject) || !term.holds()) continue;
      try {
        await session.jsm.consumers.delete(streamNames.captures, durable);
        log.info({ durable }, 'removed the queue of a region that is no longer installed');
      } catch (error) {
        if (!isNotProvisioned(error)) throw error;
      }
    }
  }

  /** Returns the regions of this controller, and those of a newer configuration, whose controllers are about to take over. */
  async #installed(): Promise<readonly Region[]> {
    const found = await readFleetConfig(this.#deps.live);
    return [...this.#deps.regions, ...(found === null ? [] : regionsOf(found.value))];
  }

  async #retiredSubjects(): Promise<readonly (readonly [string, Region])[]> {
    const { regions } = this.#deps;
    const unknownHere = (await this.#subjects()).flatMap((subject) => {
      const region = regionOfSubject(subject);
      return region === null || regions.includes(region) ? [] : [[subject, region] as const];
    });
    if (unknownHere.length === 0) return [];
    const installed = await this.#installed();
    return unknownHere.filter(([, region]) => !installed.includes(region));
  }

  async #subjects(): Promise<readonly string[]> {
    const query = { subjects_filter: prefixed('captures.>') };
    const { state } = await this.#deps.session.jsm.streams.info(streamNames.captures, query);
    return Object.keys(state.subjects ?? {});
  }

  /** Returns the number of removed jobs. */
  async #settleSubject(subject: string, region: Region, term: Pick<Term, 'holds'>): Promise<number> {
    const { session, fleet } = this.#deps;
    const delivered = await this.#lastDelivered(durableOfSubject(subject));
    // Without a durable, no renderer can hold or get a job of this subject.
    if (delivered !== null && fleet.load(region).renderers > 0) return 0;
    const mayBeHeld = fleet.fresh(region).length > 0 ? (delivered ?? 0) : 0;
    let settled = 0;
    for (let next = mayBeHeld + 1; term.holds();) {
      const query = { seq: next, next_by_subj: subject, batch, max_bytes: maxBatchBytes };
      const messages = await readBatch(session, streamNames.captures, query);
      const last = messages.at(-1);
      if (last === undefined) break;
      await eachOf(messages, parallel, async (message) => {
        if (term.holds() && (await this.#settleJob(message, region))) settled++;
      });
      next = last.seq + 1;
    }
    return settled;
  }

  /** Returns the sequence of the last job that the durable delivered; null if the durable does not exist. */
  async #lastDelivered(durable: string): Promise<number | null> {
    try {
      const { delivered } = await this.#deps.session.jsm.consumers.info(streamNames.captures, durable);
      return delivered.stream_seq;
    } catch (error) {
      if (isNotProvisioned(error)) return null;
      throw error;
    }
  }

  /** Settles one job. Returns whether it is settled; the next pass retries the others. */
  async #settleJob({ data, seq: sequence }: StoredMsg, region: Region): Promise<boolean> {
    const { failCapture, jobs, log } = this.#deps;
    const message = `The region ${region} is no longer part of this installation. Send the request again with another region, or with auto.`;
    try {
      const job = readQueuedJob(data);
      if (job !== null) {
        await failCapture(job, {
          reason: 'region_removed',
          failure: { code: 'REGION_UNAVAILABLE', message, cause: 'service' },
          unlessBegun: false,
        });
      }
      await jobs.remove({ sequence });
      return true;
    } catch (error) {
      log.warn({ err: error, region, sequence }, 'settling a capture of a removed region failed; retrying');
      return false;
    }
  }
}
