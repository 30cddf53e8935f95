import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureKey, type Captures, capturesOfDay } from '@webcapture/shared/captures/captures.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries, isTombstone } from '@webcapture/shared/nats/entries.ts';
import { allKeys, countKeys, readBatch, readMany } from '@webcapture/shared/nats/read-many.ts';
import { keySubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { eachOf } from '../../loops.ts';

/**
 * A key with a wildcard for the account makes the server search each account: 0.2 ms with a thousand accounts. Up to
 * this many are requested that way, in one request. For a day with more, all keys are requested, at 0.003 ms each.
 */
const few = 50;

/** A day with more keys is not kept in memory: this many take about 40 MB. */
const maxKeys = 300_000;

/** Finds records of captures whose accounts are unknown. Create one for each pass: it caches the keys of a day. */
export class RecordFinder {
  readonly #session: NatsSession;
  readonly #db: Entries;
  /** All keys of the last requested day: files are listed almost in the order of their days. */
  #day: { readonly filter: string; readonly keys: ReadonlyMap<string, string> } | null = null;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  /** Returns records by uuid, without missing ones. Any replica may answer, so a record may be missing or outdated. */
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

  /** Reads a record from the leader of the bucket; null when it does not exist. */
  async ofLeader(uuid: string): Promise<CaptureRecord | null> {
    if (timeOfUuid(uuid) === null) return null;
    return (await this.#db.get<CaptureRecord>(captureKey('*', uuid)))?.value ?? null;
  }

  /** The keys of a day by uuid; null when there are too many. */
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

/** Maximum concurrent requests to the store: each may take 50 ms. */
const parallel = 16;

interface MissingDeps {
  readonly session: NatsSession;
  readonly captures: Pick<Captures, 'get'>;
  readonly store: Pick<FileStore, 'stat'>;
  readonly now: () => number;
}

/**
 * Checks in the store the file of every capture that should have one, in the order in which their records were last written.
 * Changes nothing. Ignores records that are written meanwhile. Returns the number of checked files. Throws when NATS or the store
 * does not answer.
 *
 * @param options.onMissing called for each completed, unexpired capture whose file is missing
 */
export async function findMissing(
  deps: MissingDeps,
  { signal, onMissing }: { readonly signal: AbortSignal; readonly onMissing: (record: CaptureRecord) => void },
): Promise<number> {
  const { session, now } = deps;
  const { state } = await session.jsm.streams.info(streamNames.db);
  let asked = 0;
  for (let sequence = 0; sequence < state.last_seq && !signal.aborted;) {
    const query = { seq: sequence + 1, next_by_subj: keySubject('db', 'capture.>'), batch: pageSize };
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

/** A file that is about to expire is not missing. */
const marginMs = 60_000;

const shouldHaveFile = ({ status, expiresAt }: CaptureRecord, now: number) =>
  status === 'completed' && expiresAt > now + marginMs;

async function isMissing({ account, uuid, fileName }: CaptureRecord, deps: MissingDeps): Promise<boolean> {
  if ((await deps.store.stat(fileName)) !== null) return false;
  // The capture may have been deleted since its record was read.
  const record = (await deps.captures.get(account, uuid))?.value;
  return record !== undefined && shouldHaveFile(record, deps.now());
}
