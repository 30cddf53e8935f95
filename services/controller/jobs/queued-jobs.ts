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

/** The fields of a queued job, of this or another version, that the controller needs. */
export interface QueuedJob extends FailableJob {
  readonly version: number;
  readonly acceptedAt: number;
  readonly startBy: number;
  readonly deadline: number;
  readonly source?: CaptureSource;
}

/** Job version of webcapture 0.1, whose captures have records at every priority. */
const oldVersion = 1;

/** Returns null when the message is no job. */
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

/** The fields of a JSON object; an empty object for anything else. */
export function fieldsOf(data: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(data));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/**
 * Queues the capture of a version 0.1 job again as a job of this version, because renderers of this version do not
 * render old jobs. Returns false for other versions, and true when the old message at `sequence` needs nothing more.
 * With `unlessBegun`, a job that an old renderer has started is left to it: if the renderer dies, the job is
 * redelivered and returned.
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
    // It cannot be rendered, and fails at its deadline.
    if (error instanceof HtmlMissingError) return false;
    throw error;
  }
}

/** The record of such a capture does not contain its HTML; only the job contains or names it. */
function sourceOf({ source }: QueuedJob, { region }: CaptureRecord): Pick<JobDelivery, 'source'> {
  if (source === undefined || source.kind === 'url') return {};
  return { source: source.kind === 'html' ? source : { ...source, region } };
}
