import type { Isolation } from './isolation.ts';
import type { Region } from './regions.ts';
import type { RenderOptions } from './render-options.ts';

/** Version of {@link CaptureJob}. A renderer that reads another one hands the job back with a delay. */
export const captureJobVersion = 1;

/** Queues of a region: a request that a client waits for, and background captures. */
export type Lane = 'interactive' | 'background';

/** Where a completed capture answers for equal requests, and for how many seconds after it was taken. */
export interface CachePlace {
  readonly name: string;
  readonly ttl: number;
}

/** What to show the browser: an address, or html (here, or under a name in the file store when it is too large). */
export type CaptureSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'html'; readonly html: string }
  | { readonly kind: 'stored-html'; readonly fileName: string };

/**
 * One capture on its way from a front to a renderer. All times are Unix milliseconds.
 * Readers ignore fields that they do not know.
 */
export interface CaptureJob {
  readonly version: typeof captureJobVersion;
  readonly uuid: string;
  /** 0 for the capture itself, then the number of the refresh. With the uuid it makes the `Nats-Msg-Id`. */
  readonly revision: number;
  readonly account: string;
  readonly region: Region;
  readonly lane: Lane;
  readonly acceptedAt: number;
  /** Rendering must have begun by then, or the job is dropped and the capture fails. */
  readonly startBy: number;
  /** The capture must have ended by then, deliveries after a renderer's death included. */
  readonly deadline: number;
  /** Where the result is announced (core NATS); a hint, the record is the truth. Absent when nobody waits. */
  readonly resultSubject?: string;
  /** The front wants the bytes along with the announcement when they fit. */
  readonly wantsBytes: boolean;
  readonly fileName: string;
  readonly source: CaptureSource;
  readonly options: RenderOptions;
  /** Absent: nowhere. */
  readonly cache?: CachePlace;
  /** Absent: `context`. */
  readonly isolation?: Isolation;
}
