import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { countKeys, allKeys } from '@webcapture/shared/nats/key-page.ts';
import { readMany } from '@webcapture/shared/nats/read-many.ts';
import { captureKey, capturesOfDay } from '@webcapture/shared/state/captures.ts';
import { timeOfUuid } from '@webcapture/shared/state/uuid.ts';

/**
 * A key with a wildcard for the account has the server look at each account: 0.2 ms with a thousand of them. So few are
 * asked for so, in one request; of a day with more, all keys are asked for, at 0.003 ms each.
 */
const few = 50;

/** A day with more keys is not held in memory: some 40 MB. */
const mostKeys = 300_000;

/** Finds the records of captures whose accounts are not known. For one pass: what it has read of a day it keeps. */
export class RecordFinder {
  readonly #session: NatsSession;
  readonly #db: Entries;
  /** The last day that was asked for, in whole: files come nearly in the order of their days. */
  #day: { readonly filter: string; readonly keys: ReadonlyMap<string, string> } | null = null;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  /** By uuid; what has no record is left out. Any replica may answer: one may be missing, or a moment old. */
  async find(uuids: readonly string[]): Promise<ReadonlyMap<string, CaptureRecord>> {
    const days = Map.groupBy(
      uuids.filter((uuid) => timeOfUuid(uuid) !== null),
      (uuid) => `${capturesOfDay('*', timeOfUuid(uuid) ?? 0)}*`,
    );
    const exact: string[] = [];
    const anyAccount: string[] = [];
    for (const [filter, ofDay] of days) {
      const known = ofDay.length > few ? await this.#keysOf(filter) : null;
      if (known === null) anyAccount.push(...ofDay.map((uuid) => captureKey('*', uuid)));
      else exact.push(...ofDay.flatMap((uuid) => known.get(uuid) ?? []));
    }
    const found = [await readMany<CaptureRecord>(this.#session, 'db', exact)];
    for (let start = 0; start < anyAccount.length; start += few) {
      found.push(await readMany<CaptureRecord>(this.#session, 'db', anyAccount.slice(start, start + few)));
    }
    return new Map(found.flatMap((records) => [...records.values()].map((record) => [record.uuid, record] as const)));
  }

  /** As the leader of the bucket has it; null when there is none. */
  async ofLeader(uuid: string): Promise<CaptureRecord | null> {
    if (timeOfUuid(uuid) === null) return null;
    return (await this.#db.get<CaptureRecord>(captureKey('*', uuid)))?.value ?? null;
  }

  /** The keys of a day by uuid; null when they are too many. */
  async #keysOf(filter: string): Promise<ReadonlyMap<string, string> | null> {
    if (this.#day?.filter === filter) return this.#day.keys;
    this.#day = null;
    if ((await countKeys(this.#session, 'db', filter)) > mostKeys) return null;
    const { keys } = await allKeys(this.#session, 'db', filter);
    const byUuid = new Map(keys.map((key) => [key.slice(key.lastIndexOf('.') + 1), key]));
    this.#day = { filter, keys: byUuid };
    return byUuid;
  }
}
