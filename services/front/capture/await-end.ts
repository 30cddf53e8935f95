import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import type { ResultAnnouncement } from '@webcapture/shared/state/results.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { NatsLink } from '../nats-link.ts';
import type { Mailbox } from './mailbox.ts';

export interface AwaitDeps {
  readonly captures: Pick<Captures, 'get' | 'fail' | 'cancelQueued'>;
  readonly link: Pick<NatsLink, 'onReconnect'>;
  readonly log: Logger;
}

/** How often the record is read, in case the announcement was lost. */
const pollMs = 2000;

/** Renderers drop a job at its time by themselves, and their word counts: they are given this much to say it. */
const graceMs = 500;

/** One reading or settling of the record. */
const callMs = 4000;

/** When the state could not be read for so long after the deadline, the front gives up. */
const giveUpMs = 10_000;

const failures = {
  queue: {
    code: 'CAPTURE_TIMEOUT',
    message: 'The capture waited in the queue for longer than it may: no renderer was free. Try again later.',
  },
  rendering: {
    code: 'CAPTURE_TIMEOUT',
    message: 'Rendering had begun, but the capture did not end in time. Send the request again.',
  },
  client: { code: 'CAPTURE_FAILED', message: 'The client went away before the capture had begun.', cancelled: true },
} as const satisfies Record<string, CaptureFailure>;

/** How a capture ended, as far as this front knows. */
export interface AwaitedEnd extends ResultAnnouncement {
  /** This front ended it: its job may still lie in the queue. */
  readonly endedHere: boolean;
}

/**
 * Waits until a queued capture has ended, and ends it when its time is up. The announcement is only a hint that comes
 * early: the record is read every two seconds, and at once after a reconnection, so a lost one costs little. When the
 * client goes away, a capture that has not begun is cancelled; one that has is left to end by itself, and the record is
 * answered as it stands, still open.
 *
 * @throws ServiceError INTERNAL_ERROR when the record could not be read although the deadline has passed
 */
export async function awaitEnd(
  job: CaptureJob,
  mailbox: Mailbox,
  clientGone: AbortSignal,
  deps: AwaitDeps,
): Promise<AwaitedEnd> {
  const { uuid } = job;
  let wake = new AbortController();
  let lookedAt = job.acceptedAt;
  const wakeUp = () => wake.abort();
  mailbox.onDelivery(wakeUp);
  clientGone.addEventListener('abort', wakeUp);
  const stopListening = deps.link.onReconnect(wakeUp);
  try {
    for (;;) {
      if (mailbox.announcement !== undefined) return { ...mailbox.announcement, endedHere: false };
      if (!clientGone.aborted) {
        await delay(Math.max(1, Math.min(pollMs, nextTurn(job, lookedAt) - Date.now())), wake.signal);
        if (mailbox.announcement !== undefined) continue;
      }
      wake = new AbortController();
      lookedAt = Date.now();
      try {
        const looking = look(job, lookedAt, clientGone.aborted, deps.captures);
        const record = await withDeadline(looking, callMs, 'reading a capture');
        if (record === null)
          throw new ServiceError('INTERNAL_ERROR', 'The capture was removed while it was under way.');
        if (mailbox.announcement !== undefined) continue;
        // What was written here comes back as the very same object.
        const endedHere = Object.values(failures).some((failure) => failure === record.failure);
        if (!isOpen(record) || clientGone.aborted) return { record, bytes: null, endedHere };
      } catch (error) {
        if (!isTransient(error)) throw error;
        deps.log.warn({ err: error, uuid }, 'the state of a capture could not be read; trying again');
        if (Date.now() >= job.deadline + giveUpMs || clientGone.aborted) throw unreadable(error);
        await delay(100);
      }
    }
  } finally {
    stopListening();
    clientGone.removeEventListener('abort', wakeUp);
  }
}

/** Reads the record, or settles it when it is time for that. */
async function look(
  job: CaptureJob,
  now: number,
  clientIsGone: boolean,
  captures: AwaitDeps['captures'],
): Promise<CaptureRecord | null> {
  if (now >= job.deadline + graceMs) return captures.fail(job, failures.rendering);
  if (clientIsGone) return captures.cancelQueued(job, failures.client);
  if (now >= job.startBy + graceMs) return captures.cancelQueued(job, failures.queue);
  return (await captures.get(job.account, job.uuid))?.value ?? null;
}

/** When the record has to be looked at next, whatever else happens. */
function nextTurn({ startBy, deadline }: CaptureJob, lookedAt: number): number {
  return (lookedAt < startBy + graceMs ? startBy : deadline) + graceMs;
}

function unreadable(cause: unknown): ServiceError {
  return new ServiceError(
    'INTERNAL_ERROR',
    'How the capture ended could not be found out. Ask for it by its uuid, or send the request again.',
    { cause },
  );
}
