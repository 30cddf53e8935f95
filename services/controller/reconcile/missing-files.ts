import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { isTombstone } from '@webcapture/shared/nats/entries.ts';
import { readBatch } from '@webcapture/shared/nats/read-batch.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import { eachOf } from './each-of.ts';

const pageSize = 500;

/** Questions to the store under way at once: it may take 50 ms for each. */
const parallel = 16;

export interface MissingDeps {
  readonly session: NatsSession;
  readonly captures: Pick<Captures, 'get'>;
  readonly store: Pick<FileStore, 'stat'>;
  readonly now: () => number;
}

export interface MissingOptions {
  readonly signal: AbortSignal;
  /** Hears of each completed, unexpired capture whose file is gone. */
  readonly onMissing: (record: CaptureRecord) => void;
}

/**
 * Asks the store for the file of every capture that should have one, in the order in which their records were written
 * last. Changes nothing. What is written meanwhile is not looked at. Returns how many files it has asked for. Throws
 * when NATS or the store does not answer.
 */
export async function findMissing(deps: MissingDeps, { signal, onMissing }: MissingOptions): Promise<number> {
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
