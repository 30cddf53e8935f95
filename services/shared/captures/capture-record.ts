import { type ErrorCode, type FailureCause, ServiceError } from '../runtime/errors.ts';
import type { Priority } from '../nats/streams.ts';
import type { CaptureReport, CaptureStatus } from '../api/capture.ts';
import type { ExtractName, MimeType } from '../api/formats.ts';
import type { Isolation } from '../api/account.ts';
import type { Region } from '../runtime/regions.ts';
import type { RenderOptions } from '../api/capture-request.ts';
import type { Delivery } from '../api/delivery.ts';
import type { WebhookEvent, WebhookState } from '../api/webhook.ts';
import type { SealedSecrets } from './sealed-secrets.ts';

/** Where a completed capture answers for equal requests, and for how many seconds after it was taken. */
export interface CacheKey {
  readonly name: string;
  readonly ttl: number;
}

/** Where the diagnostics of the latest rendering that has any are stored. */
export interface DiagnosticsFile {
  readonly name: string;
  readonly bytes: number;
  /** The rendering: 0 is the capture itself, another number is that of the refresh. */
  readonly revision: number;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /** True once the diagnostics of a failed capture have expired. Those of a completed capture end with its file. */
  readonly isExpired?: true;
}

/** The renderer's facts about a finished capture. */
export interface CaptureOutcome {
  readonly region: Region;
  readonly mimeType: MimeType;
  readonly fileSizeBytes: number;
  readonly width: number;
  readonly height: number;
  /** Of a pdf. */
  readonly pages?: number;
  readonly capturedAt: number;
  readonly report: CaptureReport;
  /** What was extracted from the page, and how large it is where it is stored. */
  readonly extracted?: { readonly parts: readonly ExtractName[]; readonly bytes: number };
  /** The renderer's name of the file, which identifies a redelivered result. */
  readonly object: string;
}

export interface CaptureFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly cause: FailureCause;
  /** Cancelled because its client had gone: it says nothing about the page. */
  readonly cancelled?: true;
}

/** The latest refresh of a capture: rendering it again into the same file. All times are Unix milliseconds. */
export interface CaptureRefresh {
  /** Refreshes of a capture are numbered from 1. */
  readonly revision: number;
  readonly state: 'queued' | 'rendering' | 'completed' | 'failed';
  readonly by: 'request' | 'interval';
  readonly region: Region;
  readonly acceptedAt: number;
  /** Rendering must have begun by `startBy` and ended by `deadline`. */
  readonly startBy: number;
  readonly deadline: number;
  /** That of the account when the refresh was asked for; absent: `context`. */
  readonly isolation?: Isolation;
  /** As in {@link CaptureRecord}. */
  readonly attempt?: number;
  readonly endedAt?: number;
  /** With state `failed`, also for a refresh that could not start (quota, suspension). The file is unchanged. */
  readonly failure?: CaptureFailure;
}

/** The delivery of a capture's latest event. All times are Unix milliseconds. */
export interface WebhookDelivery {
  readonly url: string;
  /** `waiting`: nothing has happened yet that is to be told. */
  readonly state: WebhookState;
  readonly event?: WebhookEvent;
  /** The revision that the event is about: 0 for the capture itself, then the number of the refresh. */
  readonly revision?: number;
  readonly occurredAt?: number;
  /** How often the delivery of this event was asked for again; absent: never. */
  readonly redelivery?: number;
  readonly attempts: number;
  readonly lastAttemptAt?: number;
  /** HTTP status of the last answer; absent when there was none. */
  readonly lastStatus?: number;
  /** Why the last attempt did not succeed. */
  readonly lastError?: string;
  readonly nextAttemptAt?: number;
}

/** A refresh that has ended. Times are Unix milliseconds. */
export interface RefreshEntry extends Pick<CaptureRefresh, 'by' | 'acceptedAt'> {
  readonly number: number;
  readonly endedAt: number;
  /** Of one that failed. */
  readonly failure?: Omit<CaptureFailure, 'cancelled'>;
  /** Of one that completed: what its file was like. */
  readonly file?: Pick<CaptureOutcome, 'fileSizeBytes' | 'width' | 'height'>;
}

/** An attempt to deliver an event to the webhook of the capture. */
export interface DeliveryEntry {
  readonly event: WebhookEvent;
  readonly revision: number;
  readonly attempt: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly state: Delivery['state'];
  readonly status?: number;
  readonly error?: string;
  readonly durationMs?: number;
}

/** Bytes that a record, a shard or an account takes in the store. */
export interface StoredBytes {
  /** HTML of background captures that have not ended. */
  readonly queuedBytes: number;
  /** Files that expire. */
  readonly storedBytes: number;
  /** Files of captures with persistence. */
  readonly persistedBytes: number;
  /** HTML that is kept with a persisted file, to render it again. It lies in NATS even where files lie in a bucket. */
  readonly keptHtmlBytes: number;
}

/** Tokens and captures that were charged. */
interface Charge {
  readonly tokens: number;
  readonly captures: number;
}

/** The state of one capture: the truth about it, kept in `KV_db`. All times are Unix milliseconds. */
export interface CaptureRecord {
  readonly uuid: string;
  readonly account: string;
  /** Id of the API key that asked for it, for statistics. A draft in a ticket lacks it. */
  readonly key?: string;
  readonly status: CaptureStatus;
  readonly priority: Priority;
  /** As asked for; `about:blank` for html. */
  readonly url: string;
  /** Name under which supplied HTML is stored, for rendering and for refreshes. */
  readonly html?: string;
  /** Size of that html. */
  readonly htmlBytes?: number;
  /** Bytes that the usage ledger counts for this record. Absent: none. */
  readonly bytes?: Partial<StoredBytes>;
  readonly options: RenderOptions;
  /** Absent, with `options.secrets`: they were not kept, so that it cannot be rendered again. */
  readonly secrets?: SealedSecrets;
  /** What completing it charges, and each refresh of it. */
  readonly tokenCost: number;
  readonly fileName: string;
  readonly requestedRegion: Region | 'auto';
  readonly region: Region;
  readonly acceptedAt: number;
  /** Rendering must have begun by `startBy` and ended by `deadline`. */
  readonly startBy: number;
  readonly deadline: number;
  /** That of the account when the capture was asked for; absent: `context`. */
  readonly isolation?: Isolation;
  /** Number of times that its job was queued, where renderers returned it; absent: once. */
  readonly attempt?: number;
  /** How long its file is kept. */
  readonly lifetimeMs: number;
  /** When the file is removed. Until the capture completes: acceptance plus the lifetime. */
  readonly expiresAt: number;
  readonly endedAt?: number;
  /** The cache entry that it answers from: gone when its file goes. */
  readonly cache?: CacheKey;
  /** Long-term storage: 0 is never refreshed by itself. */
  readonly persistence?: { readonly refreshIntervalMs: number };
  /** When it is refreshed by itself next; absent: never. */
  readonly nextRefreshAt?: number;
  readonly refresh?: CaptureRefresh;
  /** Duration of the refresh that the file shows, in milliseconds. Absent: the file shows the capture itself. */
  readonly refreshMs?: number;
  /** What its refreshes were charged, by the month (`yyyymm`, UTC) in which each was accepted. */
  readonly refreshCharges?: Readonly<Record<string, Charge>>;
  readonly webhook?: WebhookDelivery;
  /** The latest refreshes that have ended, and the latest delivery attempts; newest first, few. */
  readonly refreshHistory?: readonly RefreshEntry[];
  readonly deliveryHistory?: readonly DeliveryEntry[];
  /** What the file shows, once there is one; kept when it is gone. */
  readonly outcome?: CaptureOutcome;
  /** With status `failed`. */
  readonly failure?: CaptureFailure;
  /** Stays after the diagnostics were removed. Absent: there never were any. */
  readonly diagnostics?: DiagnosticsFile;
}

/** Converts an error to the failure that a record stores. */
export const toFailure = <Code extends ErrorCode>({
  code,
  message,
  causedBy: cause,
}: ServiceError<Code>): CaptureFailure & { readonly code: Code } => ({ code, message, cause });

/** Converts the failure of a record to the error for clients. */
export const toError = ({ code, message, cause }: CaptureFailure): ServiceError =>
  new ServiceError(code, message, { causedBy: cause });
