import { randomUUIDv7 } from 'node:crypto';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { captureKey } from '@webcapture/shared/captures/captures.ts';
import { firstUuidOf } from '@webcapture/shared/captures/uuid.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { OrphanCollectionLease } from '../../../../services/controller/jobs/orphans/state.ts';
import {
  createOrphanMetrics,
  type OrphanCollectionDeps,
} from '../../../../services/controller/jobs/orphans/collection.ts';
import { newFile, newOutcome, newRecord } from '../../../harness/records.ts';
import { recordingLog, type LogLine } from '../support/recording-log.ts';
import type { Settling } from '../support/settling.ts';
import { tasking } from '../support/tasking.ts';

export const hour = 3_600_000;

/** The time of the orphan collection: files that a test stores are older than all grace periods. */
export const tomorrow = () => Date.now() + 25 * hour;

/** A file with its record, or without a record if `changes` is null. */
export interface Kind {
  readonly changes: Partial<CaptureRecord> | null;
  /** Age of the capture in days. */
  readonly day?: number;
  readonly account?: string;
  /** Without a record: whether the file expires much later. Otherwise it has expired at the time of the collection. */
  readonly lasts?: boolean;
}

/** The orphan collection on a real server, with tools to fill and inspect it. */
export function setUp(
  { session, failCapture }: Pick<Settling, 'session' | 'failCapture'>,
  through: Partial<FileStore> = {},
) {
  const { deps, store: real } = tasking({ session, failCapture });
  const store: FileStore = {
    readsUploads: real.readsUploads,
    create: (file) => real.create(file),
    accept: (upload, expected, limits) => real.accept(upload, expected, limits),
    discard: (name, upload) => real.discard(name, upload),
    stat: (name) => real.stat(name),
    read: (file, range) => real.read(file, range),
    remove: (name) => real.remove(name),
    list: (after, limit) => real.list(after, limit),
    ...through,
  };
  const lines: LogLine[] = [];
  const registry = createMetrics('test');
  const live = new Entries(session, 'live');
  const parts: OrphanCollectionDeps = {
    ...deps,
    session,
    store,
    live,
    collectionLease: new OrphanCollectionLease(live, 'the leader of the fleet'),
    orphanMetrics: createOrphanMetrics(registry),
    log: recordingLog(lines),
  };
  return {
    parts,
    lines,
    claimOf: (holder: string) => new OrphanCollectionLease(live, holder),
    forget: async () => {
      for (const key of ['pass', 'lease', 'missing']) await live.delete(`reconcile.${key}`);
      for (const stream of [streamNames.files, streamNames.db]) await session.jsm.streams.purge(stream);
    },
    metric: async (name: string, labels: Record<string, string> = {}) => {
      const found = (await registry.getMetricsAsJSON()).find(
        (metric) => metric.name === `webcapture_reconcile_${name}`,
      );
      const fits = (value: { labels: object }) =>
        Object.entries(labels).every(([key, label]) => (value.labels as Record<string, unknown>)[key] === label);
      return found?.values.find((value) => fits(value))?.value;
    },
    /** Stores a file of each kind; returns the records, including those that are not stored. */
    fill: async (kinds: readonly Kind[]) => {
      const filled = kinds.map((kind) => plan(kind));
      // Not all at once: the last of a thousand requests would time out.
      for (let from = 0; from < filled.length; from += 100) {
        await Promise.all(
          filled.slice(from, from + 100).map(async ({ record, name, kind, isKnown }) => {
            if (isKnown) await writeRecord(session, record);
            await storeFile(real, name, kind);
          }),
        );
      }
      return filled;
    },
    names: async () => {
      const { files } = await real.list(null, 10_000);
      return files.map(({ name }) => name).toSorted();
    },
    sequences: async () => {
      const infos = await Promise.all(
        [streamNames.files, streamNames.db].map((name) => session.jsm.streams.info(name)),
      );
      return infos.map(({ state }) => [state.messages, state.last_seq]);
    },
  };
}

function plan(kind: Kind) {
  const { changes, day = 0, account = 'acme' } = kind;
  const uuid = firstUuidOf(Date.now() - day * 24 * hour).slice(0, 13) + randomUUIDv7().slice(13);
  const complete = { status: 'completed', outcome: newOutcome(), endedAt: Date.now() } as const;
  const record = newRecord({ uuid, account, ...complete, expiresAt: Date.now() + 1000 * hour, ...changes });
  const name = changes?.fileName === undefined ? record.fileName : newFileName(uuid, 'png');
  return { kind, record, name, isKnown: changes !== null };
}

function writeRecord({ js }: NatsSession, record: CaptureRecord) {
  return js.publish(`$KV.db.${captureKey(record.account, record.uuid)}`, JSON.stringify(record));
}

function storeFile(store: FileStore, name: string, { changes, lasts }: Kind) {
  const hours = changes === null && lasts !== true ? 1 : 1000;
  return store.create(newFile(7, { name, expiresAt: Date.now() + hours * hour }));
}
