import type { Isolation } from '../api/account.ts';
import type { RenderOptions } from '../api/capture-request.ts';
import type { CaptureSecrets } from '../api/secret-options.ts';
import type { CaptureRecord } from '../captures/capture-record.ts';
import type { SealedSecrets } from '../captures/sealed-secrets.ts';
import { newFileName } from '../files/file-name.ts';
import { type Priority, replySubject, sharedInbox } from '../nats/streams.ts';
import type { Region } from '../runtime/regions.ts';
import type { Ticket } from './tickets.ts';

/**
 * Version of {@link CaptureJob}. A job of any version has the fields of {@link JobEnvelope}. With these fields, a renderer can return a job
 * of an unknown version.
 */
export const captureJobVersion = 2;

/** The page to render: a URL, or HTML. The job contains the HTML, or names HTML that is stored for a region because it is too large. */
export type CaptureSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'html'; readonly html: string }
  | { readonly kind: 'stored-html'; readonly fileName: string; readonly region: Region };

/** Sealed secrets, as in the record. The secrets of an interactive capture are in plain text if no key to seal them is configured. */
type JobSecrets = SealedSecrets | { readonly clear: CaptureSecrets };

/** The subject on which a front receives messages about a job (core NATS, so they may be lost), and the messages that it wants. */
export interface JobReply {
  readonly subject: string;
  /** `start`: a message when rendering starts. `result`: the result. `bytes`: the result, with the file if it fits into a message. */
  readonly wants: 'start' | 'result' | 'bytes';
  /** If set, the renderer also reports each step before the result. Requires `result` or `bytes`. */
  readonly progress?: true;
}

/** The part of a job that all versions share. */
export interface JobEnvelope {
  readonly version: number;
  readonly uuid: string;
  /** 0 for the capture itself, or the number of the refresh. Together with the uuid it forms the `Nats-Msg-Id`. */
  readonly revision: number;
  readonly region: Region;
  /** The signed ticket, which the result must contain: see `Tickets`. */
  readonly ticket: string;
  readonly reply?: JobReply;
  /**
   * Time after which the queue of results drops the result, because its reader already has the reply. Absent if the queue keeps the result.
   */
  readonly resultTtlSeconds?: number;
}

/**
 * A capture's job for a renderer. It contains everything that the renderer needs. All times are Unix milliseconds by the clock of the NATS
 * server. Readers ignore fields that they do not know.
 */
export interface CaptureJob extends JobEnvelope {
  readonly version: typeof captureJobVersion;
  readonly account: string;
  readonly priority: Priority;
  readonly acceptedAt: number;
  /** Time by which rendering must start. After it, the job is dropped and the capture fails. */
  readonly startBy: number;
  /** Time by which the capture must end, including redeliveries after a renderer's death. */
  readonly deadline: number;
  /** The file to create. */
  readonly file: JobFile;
  readonly source: CaptureSource;
  readonly options: RenderOptions;
  readonly secrets?: JobSecrets;
  /** State of the session that `options.session` names. If it names one and the state is absent, the session does not exist. */
  readonly session?: SealedSecrets;
  /** Whether the result must contain the cookies and the storage that the page leaves in the browser, for a new session. */
  readonly keepsSession?: true;
  /** Selectors of elements that are not compared. The result must contain the areas of these elements. */
  readonly ignore?: readonly string[];
  /** Isolation of the browser. If absent, `context` applies. */
  readonly isolation?: Isolation;
}

interface JobFile {
  /** Name of the object. A refresh creates a new object, which a trusted service moves to the final name. */
  readonly object: string;
  /** Lifetime of the file, counted from its rendering. */
  readonly lifetimeMs: number;
  /** Expiry of the file of a refresh. It replaces `lifetimeMs`. */
  readonly expiresAt?: number;
  /** See `StoredFile`. */
  readonly cacheSeconds?: number;
}

/** Time in seconds for which caches keep a copy without revalidation, if the file may be replaced. */
const replaceableCacheSeconds = 300;

/** Data of a job that the record does not contain. Only the front that accepted the request has it. */
export interface JobDelivery {
  /** Where replies are sent. By default, fronts are notified when the rendering of a background job starts. */
  readonly reply?: JobReply;
  /** HTML that is stored nowhere else. */
  readonly source?: CaptureSource;
  /** Secrets in plain text that are stored nowhere else. */
  readonly secrets?: JobSecrets;
}

/** A job without the signature of its ticket, and without the state of its session, which `Jobs` adds. */
export type UnsignedJob = Omit<CaptureJob, 'ticket' | 'session'> & { readonly ticket: Ticket };

/**
 * Returns the job of a capture (0) or of its latest refresh (its number). The record contains everything that the job needs, so any process
 * that finds a job missing can create it again. An interactive capture has no record before it ends; its ticket contains the record.
 *
 * @throws TypeError if the number is neither 0 nor that of the latest refresh
 */
export function jobOf(
  record: CaptureRecord,
  refreshNumber = 0,
  { source, secrets = record.secrets, reply }: JobDelivery = {},
): UnsignedJob {
  const { uuid, account, refresh, options, persistence, login } = record;
  const { ignore } = persistence?.compare ?? {};
  const turn = refreshNumber === 0 ? record : refresh;
  if (turn === undefined || (refreshNumber !== 0 && refresh?.revision !== refreshNumber)) {
    throw new TypeError(`${uuid} has no revision ${refreshNumber}`);
  }
  const { region } = turn;
  const priority = refreshNumber === 0 ? record.priority : 'background';
  const file = fileOf(record, refreshNumber);
  const started = { subject: replySubject(region, sharedInbox, uuid), wants: 'start' } as const;
  const answer = reply ?? (priority === 'background' ? started : undefined);
  const ticket = {
    account,
    uuid,
    revision: refreshNumber,
    region,
    object: file.object,
    ...(turn.attempt === undefined ? {} : { attempt: turn.attempt }),
  };
  return {
    version: captureJobVersion,
    uuid,
    revision: refreshNumber,
    region,
    ticket: priority === 'interactive' ? { ...ticket, draft: record } : ticket,
    ...(answer === undefined ? {} : { reply: answer }),
    account,
    priority,
    acceptedAt: turn.acceptedAt,
    startBy: turn.startBy,
    deadline: turn.deadline,
    file,
    source: source ?? sourceOf(record),
    options,
    ...(secrets === undefined ? {} : { secrets }),
    ...(login === undefined || refreshNumber > 0 ? {} : { keepsSession: true }),
    ...(ignore === undefined ? {} : { ignore }),
    ...(turn.isolation === undefined ? {} : { isolation: turn.isolation }),
  };
}

function fileOf(record: CaptureRecord, refreshNumber: number): JobFile {
  const { uuid, fileName, options, lifetimeMs, expiresAt } = record;
  const cache = cacheOf(record, refreshNumber);
  if (refreshNumber === 0) return { object: fileName, lifetimeMs, ...cache };
  // Renderers cannot overwrite objects. The new file replaces the old one when its result is settled.
  return { object: newFileName(uuid, options.format), lifetimeMs, expiresAt, ...cache };
}

/** Returns the caching of a file that may be replaced; empty for other files. */
export function cacheOf({ persistence }: CaptureRecord, refreshNumber: number): { readonly cacheSeconds?: number } {
  return refreshNumber > 0 || persistence !== undefined ? { cacheSeconds: replaceableCacheSeconds } : {};
}

function sourceOf({ url, html, region }: CaptureRecord): CaptureSource {
  return html === undefined ? { kind: 'url', url } : { kind: 'stored-html', fileName: html, region };
}
