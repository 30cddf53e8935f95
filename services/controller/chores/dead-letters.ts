import type { StoredMsg } from '@nats-io/jetstream';
import { captureJobVersion } from '@webcapture/shared/contract/capture-job.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import { isMessageMissing } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import { deadLetterDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Jobs } from '@webcapture/shared/state/jobs.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { Term } from '../leader/election.ts';
import { pullInTerm } from '../leader/pull-in-term.ts';
import { parseAdvisory, type Advisory } from './advisory.ts';
import type { SettledJob, Settler } from './settler.ts';

const retryMs = 5000;

const messages = {
  max_deliveries: 'The page brought its renderer down three times.',
  terminated: 'The capture could not be rendered.',
} as const satisfies Record<Advisory['reason'], string>;

/** A renderer hands such a job back; after three times the server gives it up. */
const unknownVersion = 'No renderer of the region knows this kind of capture. Upgrade the renderers.';

export interface DeadLetterDeps {
  readonly session: NatsSession;
  readonly jobs: Jobs;
  readonly settler: Settler;
  readonly log: Logger;
}

/** Settles the captures whose jobs the server has given up, for as long as the term lasts. Never throws. */
export async function settleDeadLetters(deps: DeadLetterDeps, term: Term): Promise<void> {
  const { session, log } = deps;
  while (term.holds()) {
    let letter: PulledMessage | null = null;
    try {
      letter = await pullInTerm(session, streamNames.dead, deadLetterDurable, term);
      if (letter === null) continue;
      await settleDeadLetter(deps, letter.data);
      await letter.ack();
    } catch (error) {
      // It comes back: settling twice is harmless. That none can be had is no news: the state of the queue tells.
      letter?.handBack(retryMs);
      if (letter !== null) log.warn({ err: error }, 'a dead letter could not be settled');
      await delay(1000, term.signal);
    }
  }
}

/** Settles what one advisory tells of. An advisory of something else, or of a job that is gone, leaves nothing to do. */
async function settleDeadLetter({ session, jobs, settler }: DeadLetterDeps, data: Uint8Array): Promise<void> {
  const advisory = parseAdvisory(data);
  if (advisory === null) return;
  // A terminated message has left the work queue by now: what ended it is for the renderer to record.
  const message = await messageAt(session, advisory.sequence);
  const job = message === null ? null : readJob(message.data);
  if (job !== null) {
    const message = job.version === captureJobVersion ? messages[advisory.reason] : unknownVersion;
    const failure = { code: 'CAPTURE_FAILED', message } as const;
    await settler.settle(job, { reason: advisory.reason, failure, unlessBegun: false });
  }
  if (message !== null) await jobs.remove({ sequence: advisory.sequence });
}

async function messageAt(session: NatsSession, sequence: number): Promise<StoredMsg | null> {
  try {
    return await session.jsm.streams.getMessage(streamNames.captures, { seq: sequence });
  } catch (error) {
    if (isMessageMissing(error)) return null;
    throw error;
  }
}

/** The part of a job that matters here, whatever its version; null when it is no job at all. */
function readJob(data: Uint8Array): (SettledJob & { readonly version: unknown }) | null {
  let job: unknown;
  try {
    job = JSON.parse(new TextDecoder().decode(data));
  } catch {
    return null;
  }
  if (typeof job !== 'object' || job === null) return null;
  const { version, account, uuid, revision, resultSubject } = job as Record<string, unknown>;
  if (typeof account !== 'string' || typeof uuid !== 'string') return null;
  const known = { version, account, uuid, revision: typeof revision === 'number' ? revision : 0 };
  return { ...known, ...(typeof resultSubject === 'string' ? { resultSubject } : {}) };
}
