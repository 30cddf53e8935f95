import { type ErrorCode, type FailureCause, ServiceError } from '../runtime/errors.ts';
import type { Priority } from '../nats/streams.ts';
import type { CaptureReport, CaptureStatus } from '../api/capture.ts';
import type { MimeType, PartName } from '../api/formats.ts';
import type { Isolation } from '../api/account.ts';
import type { Region } from '../runtime/regions.ts';
import type { RenderOptions } from '../api/capture-request.ts';
import type { Delivery } from '../api/delivery.ts';
import type { RecordEvent, WebhookState } from '../api/webhook.ts';
import type { SealedSecrets } from './sealed-secrets.ts';

/** Times at which a capture is refreshed: a cron expression of five fields, by the clock of an IANA time zone. */
export interface RefreshSchedule {
  readonly cron: string;
  readonly timeZone: string;
}

/** Long-term storage of a capture. */
export interface Persistence {
  /** Interval of automatic refreshes; 0 if there are none at an interval. */
  readonly refreshIntervalMs: number;
  /** Schedule of automatic refreshes, instead of an interval. */
  readonly schedule?: RefreshSchedule;
  /** Number of earlier files that are kept. Absent if none are kept. */
  readonly history?: number;
  /** How the files of refreshes are compared with those that they replace. Absent if they are not compared. */
  readonly compare?: CompareOptions;
}

/** A rectangle of a picture, in CSS pixels from its top left corner. */
export interface PictureArea {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface CompareOptions {
  /** Minimum distance of two colors that count as different, 0 to 1. */
  readonly threshold: number;
  /** Share of different pixels above which a picture has changed, 0 to 1. */
  readonly minShare: number;
  /** Selectors of elements that are not compared. */
  readonly ignore?: readonly string[];
  readonly ignoreAreas?: readonly PictureArea[];
}

/** How the file of a refresh differs from the one that it replaced. */
export interface Comparison {
  /** Number of the refresh that was compared. */
  readonly refresh: number;
  /** Share of different pixels, 0 to 1. */
  readonly changedShare: number;
  /** Whether the share is above the limit of the request. */
  readonly hasChanged: boolean;
  /** A picture of the differences. Absent if there are none, or if the account had no room for it. */
  readonly difference?: { readonly name: string; readonly bytes: number };
}

/** A file of a capture that a refresh has replaced. */
export interface EarlierFile extends Pick<CaptureOutcome, 'fileSizeBytes' | 'width' | 'height' | 'capturedAt'> {
  readonly name: string;
  /** Number of the refresh that replaced the file. */
  readonly replacedBy: number;
}

/** The cache entry of a completed capture, and the number of seconds for which the capture answers equal requests. */
export interface CacheKey {
  readonly name: string;
  readonly ttl: number;
}

/** The stored diagnostics of the latest rendering that has diagnostics. */
export interface DiagnosticsFile {
  readonly name: string;
  readonly bytes: number;
  /** Number of the rendering: 0 for the capture itself, or the number of the refresh. */
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
  /** Number of pages. Only PDFs have it. */
  readonly pages?: number;
  readonly capturedAt: number;
  readonly report: CaptureReport;
  /** The parts that were extracted from the page, and the size of their stored file. */
  readonly extracted?: { readonly parts: readonly PartName[]; readonly bytes: number };
  /** Areas of the picture that a comparison with another one ignores, because `compare.ignore` matches elements in them. */
  readonly ignored?: readonly PictureArea[];
  /** The name that the renderer chose for the file. It identifies a redelivered result. */
  readonly object: string;
}

export interface CaptureFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly cause: FailureCause;
  /** Set if the capture was cancelled because its client disconnected. The page has not caused the failure. */
  readonly cancelled?: true;
}

/** The latest refresh of a capture. A refresh renders the page again into the same file. All times are Unix milliseconds. */
export interface CaptureRefresh {
  /** Number of the refresh, from 1. */
  readonly revision: number;
  readonly state: 'queued' | 'rendering' | 'completed' | 'failed';
  readonly by: 'request' | 'interval';
  readonly region: Region;
  readonly acceptedAt: number;
  /** Rendering must start by `startBy` and end by `deadline`. */
  readonly startBy: number;
  readonly deadline: number;
  /** Isolation of the account when the refresh was requested. If absent, `context` applies. */
  readonly isolation?: Isolation;
  /** See {@link CaptureRecord.attempt}. */
  readonly attempt?: number;
  readonly endedAt?: number;
  /** Name under which the file that this refresh replaces is kept, perhaps only for a comparison. Absent if it is not kept. */
  readonly earlierName?: string;
  /** Name of the picture of the differences between that file and the new one. */
  readonly differenceName?: string;
  /** Present if the refresh failed, or could not start because of the quota or a suspension. The file is then unchanged. */
  readonly failure?: CaptureFailure;
}

/** The delivery of the latest event of a capture, or of a batch. All times are Unix milliseconds. */
export interface WebhookDelivery {
  readonly url: string;
  /** `waiting` means that no event has occurred yet. */
  readonly state: WebhookState;
  readonly event?: RecordEvent;
  /** Revision of the event: 0 for the capture itself, otherwise the number of the refresh. */
  readonly revision?: number;
  readonly occurredAt?: number;
  /** Number of requested redeliveries of this event. Absent if there were none. */
  readonly redelivery?: number;
  readonly attempts: number;
  readonly lastAttemptAt?: number;
  /** HTTP status of the last response. Absent if there was none. */
  readonly lastStatus?: number;
  /** Reason why the last attempt failed. */
  readonly lastError?: string;
  readonly nextAttemptAt?: number;
}

/** A refresh that has ended. Times are Unix milliseconds. */
export interface RefreshEntry extends Pick<CaptureRefresh, 'by' | 'acceptedAt'> {
  readonly number: number;
  readonly endedAt: number;
  /** Present if the refresh failed. */
  readonly failure?: Omit<CaptureFailure, 'cancelled'>;
  /** Present if the refresh completed: the properties of its file. */
  readonly file?: Pick<CaptureOutcome, 'fileSizeBytes' | 'width' | 'height'>;
}

/** An attempt to deliver an event to the webhook of the capture. */
export interface DeliveryEntry {
  readonly event: RecordEvent;
  readonly revision: number;
  readonly attempt: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly state: Delivery['state'];
  readonly status?: number;
  readonly error?: string;
  readonly durationMs?: number;
}

/** Bytes in the store that belong to a record, a shard or an account. */
export interface StoredBytes {
  /** HTML of background captures that have not ended. */
  readonly queuedBytes: number;
  /** Files that expire. */
  readonly storedBytes: number;
  /** Files of captures with persistence. */
  readonly persistedBytes: number;
  /** HTML that is kept to refresh a persisted file. NATS stores it, even if a bucket stores the files. */
  readonly keptHtmlBytes: number;
}

/** Tokens and captures that were charged. */
interface Charge {
  readonly tokens: number;
  readonly captures: number;
}

/** The new session of a capture that logs in: its name, and the time for which it is kept. */
export interface Login {
  readonly name?: string;
  readonly lifetimeMs: number;
}

/** The authoritative state of one capture, stored in `KV_db`. All times are Unix milliseconds. */
export interface CaptureRecord {
  readonly uuid: string;
  readonly account: string;
  /** Id of the API key of the request, for statistics. A draft in a ticket does not contain it. */
  readonly key?: string;
  /** UUID of the batch to which the capture belongs. */
  readonly batch?: string;
  readonly status: CaptureStatus;
  readonly priority: Priority;
  /** Address in the request; `about:blank` for supplied HTML. */
  readonly url: string;
  /** Name under which supplied HTML is stored, for rendering and for refreshes. */
  readonly html?: string;
  /** Size of the supplied HTML. */
  readonly htmlBytes?: number;
  /** Bytes that the usage ledger counts for this record. Absent if it counts none. */
  readonly bytes?: Partial<StoredBytes>;
  readonly options: RenderOptions;
  /**
   * The sealed secrets. If they are absent although `options.secrets` is set, they were not stored, and the capture cannot be rendered
   * again.
   */
  readonly secrets?: SealedSecrets;
  /** Present if the capture logs in for a new session. */
  readonly login?: Login;
  /** Tokens that are charged for the completed capture, and for each completed refresh. */
  readonly tokenCost: number;
  readonly fileName: string;
  readonly requestedRegion: Region | 'auto';
  readonly region: Region;
  readonly acceptedAt: number;
  /** Rendering must start by `startBy` and end by `deadline`. */
  readonly startBy: number;
  readonly deadline: number;
  /** Isolation of the account when the capture was requested. If absent, `context` applies. */
  readonly isolation?: Isolation;
  /** Number of times that the job was queued. It is queued again if a renderer returns it. Absent if it was queued once. */
  readonly attempt?: number;
  /** Time for which the file is kept. */
  readonly lifetimeMs: number;
  /** Time at which the file is removed. Until the capture completes, this is the time of acceptance plus the lifetime. */
  readonly expiresAt: number;
  readonly endedAt?: number;
  /** The cache entry of the capture. It is removed with the file. */
  readonly cache?: CacheKey;
  readonly persistence?: Persistence;
  /** Time of the next scheduled refresh. Absent if there is none. */
  readonly nextRefreshAt?: number;
  readonly refresh?: CaptureRefresh;
  /** Duration in milliseconds of the refresh that made the current file. Absent if the capture itself made it. */
  readonly refreshMs?: number;
  /** Charges of the refreshes, by the month (`yyyymm`, UTC) in which each was accepted. */
  readonly refreshCharges?: Readonly<Record<string, Charge>>;
  readonly webhook?: WebhookDelivery;
  /** The latest ended refreshes and the latest delivery attempts, newest first, at most `maxHistory` of each. */
  readonly refreshHistory?: readonly RefreshEntry[];
  readonly deliveryHistory?: readonly DeliveryEntry[];
  /** The files that the latest refreshes have replaced, newest first. The list stays when the files no longer exist. */
  readonly earlierFiles?: readonly EarlierFile[];
  /** Comparisons of the latest refreshes, newest first. There are as many as earlier files, but at least one. */
  readonly comparisons?: readonly Comparison[];
  /** Present if the capture has completed. It stays when the file is removed. */
  readonly outcome?: CaptureOutcome;
  /** Present if the status is `failed`. */
  readonly failure?: CaptureFailure;
  /** The diagnostics of the latest rendering. The field stays when they are removed. Absent if no rendering had diagnostics. */
  readonly diagnostics?: DiagnosticsFile;
}

/** Returns the record with these times of steps in its report. A record without a report is returned unchanged. */
export function withTimings(record: CaptureRecord, timings: Partial<CaptureReport['timings']>): CaptureRecord {
  const { outcome } = record;
  if (outcome === undefined) return record;
  const report = { ...outcome.report, timings: { ...outcome.report.timings, ...timings } };
  return { ...record, outcome: { ...outcome, report } };
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
