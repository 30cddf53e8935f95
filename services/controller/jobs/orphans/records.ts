import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureKey, type Captures, capturesOfDay } from '@webcapture/shared/captures/captures.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries, isTombstone } from '@webcapture/shared/nats/entries.ts';
import { allKeys, countKeys, readBatch, readMany } from '@webcapture/shared/nats/read-many.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { eachOf } from '../../loops.ts';

/**
 * A key with a wildcard for the account has the server look at each account: 0.2 ms with a thousand of them. So few are
 * asked for so, in one request; of a day with more, all keys are asked for, at 0.003 ms each.
 */
const few = 50;

/** A day with more keys is not held in memory: some 40 MB. */
const maxKeys = 300_000;

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
    if ((await countKeys(this.#session, 'db', filter)) > maxKeys) return null;
    const { keys } = await allKeys(this.#session, 'db', filter);
    const byUuid = new Map(keys.map((key) => [key.slice(key.lastIndexOf('.') + 1), key]));
    this.#day = { filter, keys: byUuid };
    return byUuid;
  }
}

const pageSize = 500;

/** Requests to the store under way at once: it may take 50 ms for each. */
const parallel = 16;

interface MissingDeps {
  readonly session: NatsSession;
  readonly captures: Pick<Captures, 'get'>;
  readonly store: Pick<FileStore, 'stat'>;
  readonly now: () => number;
}

/**
 * Asks the store for the file of every capture that should have one, in the order in which their records were written
 * last. Changes nothing. What is written meanwhile is not looked at. Returns how many files it has asked for. Throws
 * when NATS or the store does not answer.
 *
 * @param options.onMissing called for each completed, unexpired capture whose file is gone
 */
export async function findMissing(
  deps: MissingDeps,
  { signal, onMissing }: { readonly signal: AbortSignal; readonly onMissing: (record: CaptureRecord) => void },
): Promise<number> {
  const { session, now } = deps;
  const { state } = await session.jsm.streams.info(streamNames.db);
  let asked = 0;
  for (let sequence = 0; sequence < state.last_seq && !signal.aborted;) {
    const query = { seq: sequence + 1, next_by_subj: '$KV.db.capture.>', batch: pageSize };
    const messages = await readBatch(session, streamNames.db, query);
    const last = messages.at(-1);
    if (last === undefined) break;
    sequence = last.seq;
    const records = messages
      .filter(({ header }) => !isTombstone(header))
      .map((message) => message.json<CaptureRecord>())
      .filter((record) => shouldHaveFile(record, now()));
    await eachOf(records, parallel, async (record) => {
      if (await isMissing(record, deps)) onMissing(record);
    });
    asked += records.length;
  }
  return asked;
}

/** A file that is about to go by itself is not missed. */
const marginMs = 60_000;

const shouldHaveFile = ({ status, expiresAt }: CaptureRecord, now: number) =>
  status === 'completed' && expiresAt > now + marginMs;

async function isMissing({ account, uuid, fileName }: CaptureRecord, deps: MissingDeps): Promise<boolean> {
  if ((await deps.store.stat(fileName)) !== null) return false;
  // It may have been deleted since its record was read.
  const record = (await deps.captures.get(account, uuid))?.value;
  return record !== undefined && shouldHaveFile(record, deps.now());
}
