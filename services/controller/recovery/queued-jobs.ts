import { captureJobVersion, type JobReply } from '@webcapture/shared/queue/job.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import type { FailableJob } from './fail-capture.ts';

/** The fields of a queued job that the controller needs. A job of another version has them too. */
export interface QueuedJob extends FailableJob {
  readonly version: number;
  readonly acceptedAt: number;
  readonly startBy: number;
  readonly deadline: number;
}

/** Returns the fields of a job; null if the message is not a job. */
export function readQueuedJob(data: Uint8Array): QueuedJob | null {
  const { version, account, uuid, revision, ticket, reply, ...times } = fieldsOf(data);
  if (typeof version !== 'number' || typeof account !== 'string') return null;
  if (typeof uuid !== 'string' || typeof ticket !== 'string') return null;
  const time = (name: string) => (typeof times[name] === 'number' ? times[name] : Number.POSITIVE_INFINITY);
  const draft = version === captureJobVersion ? ticketOf({ ticket }).draft : undefined;
  return {
    version,
    account,
    uuid,
    revision: typeof revision === 'number' ? revision : 0,
    acceptedAt: time('acceptedAt'),
    startBy: time('startBy'),
    deadline: time('deadline'),
    ...(draft === undefined ? {} : { draft }),
    ticket,
    ...(reply === undefined ? {} : { reply: reply as JobReply }),
  };
}

/** Returns the fields of a JSON object; an empty object for anything else. */
export function fieldsOf(data: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(data));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
