import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { timeOfUuid } from '@webcapture/shared/state/uuid.ts';
import { systemAccount } from './canary-job.ts';

const oldMs = 10 * 60_000;

/** Removes the records of canaries whose controller died before it could. */
export async function removeOldCanaries(session: NatsSession, captures: Captures): Promise<void> {
  const filter = `$KV.db.capture.${systemAccount}.>`;
  const { state } = await session.jsm.streams.info(streamNames.db, { subjects_filter: filter });
  for (const subject of Object.keys(state.subjects ?? {})) {
    const uuid = subject.split('.').at(-1) ?? '';
    const time = timeOfUuid(uuid);
    if (time !== null && time < Date.now() - oldMs) await captures.remove(systemAccount, uuid);
  }
}
