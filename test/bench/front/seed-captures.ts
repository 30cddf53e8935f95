import { randomUUIDv7 } from 'node:crypto';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { captureKey } from '@webcapture/shared/captures/captures.ts';
import { firstUuidOf } from '@webcapture/shared/captures/uuid.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

/** Number of concurrent publishes. */
const pipelined = 2000;

/** Writes records of ended captures, spread evenly between two times (Unix ms); one in 20 has failed. Returns their UUIDs. */
export async function seedCaptures(
  { js }: NatsSession,
  seed: { readonly account: string; readonly count: number; readonly from: number; readonly until: number },
): Promise<string[]> {
  const { account, count, from, until } = seed;
  const uuids: string[] = [];
  while (uuids.length < count) {
    const batch = Array.from({ length: Math.min(pipelined, count - uuids.length) }, (_, index) => {
      const acceptedAt = Math.floor(from + ((until - from) * (uuids.length + index)) / count);
      return recordOf(account, acceptedAt, uuids.length + index);
    });
    await Promise.all(
      batch.map((record) => js.publish(`$KV.db.${captureKey(account, record.uuid)}`, JSON.stringify(record))),
    );
    uuids.push(...batch.map(({ uuid }) => uuid));
  }
  return uuids;
}

function recordOf(account: string, acceptedAt: number, index: number): CaptureRecord {
  const uuid = firstUuidOf(acceptedAt).slice(0, 13) + randomUUIDv7().slice(13);
  const record = newRecord({ account, uuid, acceptedAt, lifetimeMs: 365 * 86_400_000, endedAt: acceptedAt + 900 });
  if (index % 20 === 7) {
    return {
      ...record,
      status: 'failed',
      failure: { code: 'NAVIGATION_FAILED', message: 'No such host.', cause: 'page' },
    };
  }
  return { ...record, status: 'completed', outcome: newOutcome({ capturedAt: acceptedAt + 800 }) };
}
