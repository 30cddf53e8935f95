import type { Isolation } from './isolation.ts';
import type { Region } from './regions.ts';
import type { RenderOptions } from './render-options.ts';

/**
 * Version of {@link CaptureJob}. Whatever the version, a job has the fields of {@link JobEnvelope}: a renderer that does not
 * know the version returns the job with the help of these.
 */
export const captureJobVersion = 2;

/** Queues of a region: a request that a client waits for, and background captures. */
export type Lane = 'interactive' | 'background';

/** Where a completed capture answers for equal requests, and for how many seconds after it was taken. */
export interface CachePlace {
  readonly name: string;
  readonly ttl: number;
}

/** What to show the browser: an address, or html (here, or as a parcel that was put for a region when it is too large). */
export type CaptureSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'html'; readonly html: string }
  | { readonly kind: 'stored-html'; readonly fileName: string; readonly region: Region };

/** Where a front listens for what becomes of a job (core NATS, so a message may get lost), and for what. */
export interface JobReply {
  readonly subject: string;
  /** `start`: that rendering has begun. `result`, `bytes`: the result; `bytes`: with the file where it fits into a message. */
  readonly wants: 'start' | 'result' | 'bytes';
}

/** The part of a job that is the same in every version. */
export interface JobEnvelope {
  readonly version: number;
  readonly uuid: string;
  /** 0 for the capture itself, then the number of the refresh. With the uuid it makes the `Nats-Msg-Id`. */
  readonly revision: number;
  readonly region: Region;
  /** What the result must carry: see `Tickets`. */
  readonly ticket: string;
  readonly reply?: JobReply;
  /** The queue of results forgets the result after so long: whoever needs it has the reply by then. Absent: never. */
  readonly resultTtlSeconds?: number;
}

/**
 * One capture on its way to a renderer, with all that the renderer must know: it reads nothing else. All times are Unix
 * milliseconds by the clock of the NATS server. Readers ignore fields that they do not know.
 */
export interface CaptureJob extends JobEnvelope {
  readonly version: typeof captureJobVersion;
  readonly account: string;
  readonly lane: Lane;
  readonly acceptedAt: number;
  /** Rendering must have begun by then, or the job is dropped and the capture fails. */
  readonly startBy: number;
  /** The capture must have ended by then, deliveries after a renderer's death included. */
  readonly deadline: number;
  /** The file to create. */
  readonly file: JobFile;
  readonly source: CaptureSource;
  readonly options: RenderOptions;
  /** Absent: `context`. */
  readonly isolation?: Isolation;
}

export interface JobFile {
  /** Name of the object. The file of a refresh has one of its own: a trusted service puts it in place. */
  readonly object: string;
  /** How long it is kept, from its rendering on. */
  readonly lifetimeMs: number;
  /** Of a refresh: when it is removed, in place of `lifetimeMs`. */
  readonly expiresAt?: number;
  /** As in `StoredFile`. */
  readonly cacheSeconds?: number;
}
