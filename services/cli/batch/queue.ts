import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Webcapture, WebcaptureError } from '@webcapture/client';
import { maxBatchRequests } from '@webcapture/shared/api/batch.ts';
import { asCaptureOptions } from '../capture/options.ts';
import { checkRegular } from '../files.ts';
import type { Entry } from './entries.ts';
import { beginEntry, type Journal } from './journal.ts';

interface QueueOptions {
  readonly client: Webcapture;
  readonly journal: Journal;
  readonly folder: string;
  readonly entries: readonly Entry[];
  /** Files by the id of their entry. */
  readonly files: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
}

/** Maximum size of a group. The service accepts bodies of 8 MiB. */
const maxGroupBytes = 7 * 1024 * 1024;

/**
 * Statuses with which the service refuses a whole group. Versions without batches refuse the route. In both cases the entries of the group
 * are captured one by one, which finds those that the service accepts.
 */
const refusals: ReadonlySet<number | null> = new Set([400, 402, 404, 405, 413, 429]);

/** Queues the entries that no run has begun, in groups, as background captures. */
export async function queueEntries(options: QueueOptions): Promise<void> {
  const { journal, entries, folder, files, signal } = options;
  const fresh = entries.filter(({ id }) => !journal.states.has(id));
  for (const group of groupsOf(fresh)) {
    for (const entry of group) {
      signal.throwIfAborted();
      const file = files.get(entry.id);
      if (file === undefined) throw new Error(`no file was chosen for ${entry.id}`);
      // The file is checked before the capture is charged.
      await checkRegular(join(folder, file));
      await beginEntry(journal, entry, file);
    }
    const key = `batch-${randomUUID()}`;
    await journal.write({ type: 'queueing', key, ids: group.map(({ id }) => id) });
    await send(options, key, group);
  }
}

/**
 * Repeats the requests of an earlier run whose response is unknown. If the list has changed, a request cannot be repeated, and its
 * entries are captured one by one.
 */
export async function repeatQueueing(options: QueueOptions): Promise<void> {
  const { journal, entries } = options;
  if (journal.queueing.size === 0) return;
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  for (const [key, ids] of journal.queueing) {
    const group = ids.flatMap((id) => byId.get(id) ?? []);
    if (group.length === ids.length) await send(options, key, group);
    else await journal.write({ type: 'queued', key, uuids: [] });
  }
}

async function send({ client, journal, signal }: QueueOptions, key: string, group: readonly Entry[]): Promise<void> {
  const requests = group.map(({ request }) => asCaptureOptions(request));
  let uuids: readonly string[] = [];
  try {
    const { captures } = await client.createBatch({ requests }, { idempotencyKey: key, signal });
    uuids = captures.map(({ uuid }) => uuid);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof WebcaptureError) || !refusals.has(error.status)) throw error;
  }
  await journal.write({ type: 'queued', key, uuids });
}

function groupsOf(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = Buffer.byteLength(JSON.stringify(entry.request)) + 1;
    const last = groups.at(-1);
    if (last === undefined || last.length === maxBatchRequests || bytes + size > maxGroupBytes) {
      groups.push([entry]);
      bytes = size;
    } else {
      last.push(entry);
      bytes += size;
    }
  }
  return groups;
}
