import {
  captureJobVersion,
  type CaptureJob,
  type CaptureSource,
  type JobFile,
  type JobReply,
} from '../contract/capture-job.ts';
import type { CaptureRecord } from '../contract/capture-record.ts';
import { replySubject, sharedInbox } from '../nats/streams.ts';
import { newFileName } from '../storage/file-name.ts';
import type { Ticket } from './tickets.ts';

/** For how long caches keep a copy of a file that may be replaced before they ask again. */
const replaceableCacheSeconds = 300;

/** What only a front that waits for the end knows of a job. */
export interface JobDelivery {
  /** By default, of a background job: fronts are told when its rendering begins. */
  readonly reply?: JobReply;
  /** Html that is kept nowhere else. */
  readonly source?: CaptureSource;
  /** As in `Ticket`. */
  readonly attempt?: number;
}

/** A job but for the signature of its ticket. */
export type UnsignedJob = Omit<CaptureJob, 'ticket'> & { readonly ticket: Ticket };

/**
 * The job of a capture (revision 0) or of its latest refresh: everything that it needs stands in the record, so whoever
 * finds that a job is missing can make it again. An interactive capture has no record before it ends: its ticket carries
 * it.
 *
 * @throws TypeError when the revision is neither 0 nor that of the latest refresh
 */
export function jobOf(record: CaptureRecord, revision = 0, { source, reply, attempt }: JobDelivery = {}): UnsignedJob {
  const { uuid, account, refresh, options } = record;
  const turn = revision === 0 ? record : refresh;
  if (turn === undefined || (revision !== 0 && refresh?.revision !== revision)) {
    throw new TypeError(`${uuid} has no revision ${revision}`);
  }
  const { region } = turn;
  const lane = revision === 0 ? record.lane : 'background';
  const file = fileOf(record, revision);
  const started = { subject: replySubject(region, sharedInbox, uuid), wants: 'start' } as const;
  const answer = reply ?? (lane === 'background' ? started : undefined);
  const ticket = {
    account,
    uuid,
    revision,
    region,
    object: file.object,
    ...(attempt === undefined ? {} : { attempt }),
  };
  return {
    version: captureJobVersion,
    uuid,
    revision,
    region,
    ticket: lane === 'interactive' ? { ...ticket, draft: record } : ticket,
    ...(answer === undefined ? {} : { reply: answer }),
    account,
    lane,
    acceptedAt: turn.acceptedAt,
    startBy: turn.startBy,
    deadline: turn.deadline,
    file,
    source: source ?? sourceOf(record),
    options,
    ...(turn.isolation === undefined ? {} : { isolation: turn.isolation }),
  };
}

function fileOf(record: CaptureRecord, revision: number): JobFile {
  const { uuid, fileName, options, lifetimeMs, expiresAt } = record;
  const cache = cacheOf(record, revision);
  if (revision === 0) return { object: fileName, lifetimeMs, ...cache };
  // A renderer cannot overwrite: the new file is put in the place of the old one when it is there.
  return { object: newFileName(uuid, options.format), lifetimeMs, expiresAt, ...cache };
}

/** For how long caches keep a copy of a file that may be replaced; nothing for one that is not. */
export function cacheOf({ persistence }: CaptureRecord, revision: number): { readonly cacheSeconds?: number } {
  return revision > 0 || persistence !== undefined ? { cacheSeconds: replaceableCacheSeconds } : {};
}

function sourceOf({ url, html, region }: CaptureRecord): CaptureSource {
  return html === undefined ? { kind: 'url', url } : { kind: 'stored-html', fileName: html, region };
}
