import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { isOpen, stateOf } from '@webcapture/shared/captures/transitions.ts';
import { HtmlMissingError } from '@webcapture/shared/files/stored-html.ts';
import {
  captureJobVersion,
  type CaptureSource,
  type JobDelivery,
  jobOf,
  type JobReply,
} from '@webcapture/shared/queue/job.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import type { FailableJob } from './fail-capture.ts';

/** A job out of the queue, of this version or another one: what looking after it takes. */
export interface QueuedJob extends FailableJob {
  readonly version: number;
  readonly acceptedAt: number;
  readonly startBy: number;
  readonly deadline: number;
  readonly source?: CaptureSource;
}

/** Version 0.1 of this software made jobs of this version. Their captures have records, whatever their priority. */
const oldVersion = 1;

/** Null when the message is no job at all. */
export function readQueuedJob(data: Uint8Array): QueuedJob | null {
  const { version, account, uuid, revision, ticket, reply, source, ...times } = fieldsOf(data);
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
    ...(source === undefined ? {} : { source: source as CaptureSource }),
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

/**
 * Queues the capture of a job of version 0.1 anew, which no renderer of this version renders. False when it is of another
 * version; true when there is nothing more to do about the old message at `sequence`. With `unlessBegun` a job that a
 * renderer of the version before has begun is left to it: should it die, the job is delivered again, to be returned.
 */
export async function convertOldJob(
  old: QueuedJob,
  sequence: number,
  deps: { readonly captures: Pick<Captures, 'get'>; readonly jobs: Pick<Jobs, 'publish'> },
  { unlessBegun }: { readonly unlessBegun: boolean },
): Promise<boolean> {
  const { captures, jobs } = deps;
  if (old.version !== oldVersion) return false;
  const record = (await captures.get(old.account, old.uuid))?.value;
  if (record === undefined || !isOpen(record, old.revision)) return true;
  if (unlessBegun && stateOf(record, old.revision) === 'rendering') return false;
  const job = jobOf(record, old.revision, sourceOf(old, record));
  try {
    await jobs.publish(job, { attempt: `converted-${sequence}`, copiesHtml: true });
    return true;
  } catch (error) {
    // It cannot be rendered, and fails when its time is over.
    if (error instanceof HtmlMissingError) return false;
    throw error;
  }
}

/** The record of such a capture does not have its html: the job alone has it, or names it. */
function sourceOf({ source }: QueuedJob, { region }: CaptureRecord): Pick<JobDelivery, 'source'> {
  if (source === undefined || source.kind === 'url') return {};
  return { source: source.kind === 'html' ? source : { ...source, region } };
}
