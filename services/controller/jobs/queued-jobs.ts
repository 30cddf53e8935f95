import { captureJobVersion, type JobReply } from '@webcapture/shared/queue/job.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import type { FailableJob } from './fail-capture.ts';

/** A job out of the queue, of this version or another one: what looking after it takes. */
export interface QueuedJob extends FailableJob {
  readonly version: number;
  readonly acceptedAt: number;
  readonly startBy: number;
  readonly deadline: number;
}

/** Null when the message is no job at all. */
export function readQueuedJob(data: Uint8Array): QueuedJob | null {
  const { version, account, uuid, revision, ticket, reply, ...times } = fieldsOf(data);
  if (typeof version !== 'number' || typeof account !== 'string' || typeof uuid !== 'string') return null;
  const time = (name: string) => (typeof times[name] === 'number' ? times[name] : Number.POSITIVE_INFINITY);
  const draft = typeof ticket === 'string' && version === captureJobVersion ? ticketOf({ ticket }).draft : undefined;
  return {
    version,
    account,
    uuid,
    revision: typeof revision === 'number' ? revision : 0,
    acceptedAt: time('acceptedAt'),
    startBy: time('startBy'),
    deadline: time('deadline'),
    ...(draft === undefined ? {} : { draft }),
    ...(typeof ticket === 'string' ? { ticket } : {}),
    ...(reply === undefined ? {} : { reply: reply as JobReply }),
  };
}

/** Those of a JSON object; none of anything else. */
export function fieldsOf(data: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(data));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
