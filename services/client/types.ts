import type { components, webhooks } from './openapi.ts';

type Schemas = components['schemas'];

/** The options of a capture: the body of POST /capture without `responseType`, which the method sets. */
export type CaptureOptions = Omit<Schemas['CaptureRequest'], 'responseType'>;

/** A capture in any state; `status` distinguishes the types. */
export type Capture = Schemas['Capture'];
/** A completed capture, which may have expired or been deleted since. */
export type CaptureResult = Schemas['CaptureResult'];
/** A capture that has not ended. */
export type PendingCapture = Schemas['PendingCapture'];
/** A failed capture. */
export type FailedCapture = Schemas['FailedCapture'];
/** A capture that was deleted before it completed. */
export type DeletedCapture = Schemas['DeletedCapture'];
/** A capture that has ended without a failure. It has a `fileUrl` unless it was deleted before it completed. */
export type EndedCapture = CaptureResult | (DeletedCapture & { readonly fileUrl?: never });
/** The states of a capture. */
export type CaptureStatus = Capture['status'];

/** One page of a list, newest first. The list ends when `nextCursor` is null. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}
/** Start of a page of a list, and its maximum number of items. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}
/** Filters of a list of captures. */
export interface CaptureListQuery extends PageQuery {
  readonly status?: CaptureStatus | undefined;
}

/** A file of a capture that is being received. */
export interface CapturedFile {
  /** `image/png`, `image/jpeg`, `image/webp` or `application/pdf`. */
  readonly contentType: string;
  /** Size in bytes; null if the server does not send it. */
  readonly size: number | null;
  /** The content. Read it to its end or cancel it, because it keeps a connection open. */
  readonly stream: ReadableStream<Uint8Array>;
}

/** The options of a capture that a signed link can have. */
export type LinkOptions = Omit<
  CaptureOptions,
  | 'html'
  | 'background'
  | 'webhook'
  | 'persistence'
  | 'extract'
  | 'extractFields'
  | 'headers'
  | 'headersFor'
  | 'cookies'
  | 'auth'
  | 'session'
  | 'css'
  | 'script'
  | 'pdf'
> & { pdf?: Omit<NonNullable<CaptureOptions['pdf']>, 'encryption'> };

/** The body of POST /sessions: the options of the capture that logs in, a name, and the lifetime in seconds. */
export type CreateSession = Schemas['CreateSession'];
/** A session, without its cookies and storage. */
export type Session = Schemas['Session'];

/** The body of POST /captures/batch. */
export type BatchOptions = Schemas['BatchRequest'];
/** A batch of background captures. */
export type Batch = Schemas['Batch'];
/** A change of a capture of a batch, and the counts after it. */
export interface BatchChange {
  /** Index of the request. */
  readonly index: number;
  readonly uuid: string;
  readonly status: CaptureStatus;
  readonly counts: Batch['counts'];
}
/** A capture of a batch. */
export type BatchCapture = Schemas['BatchCapture'];

/** The body of POST /pdf/merge. */
export type MergeOptions = Schemas['MergeRequest'];
/** A merged PDF that is being received. */
export interface MergedPdf extends CapturedFile {
  /** Number of pages. */
  readonly pages: number;
  /** UUIDs of the captures, in the order of the documents. */
  readonly uuids: readonly string[];
}

/** The refreshes of a capture, and the deliveries of its events. */
export type CaptureHistory = Schemas['CaptureHistory'];
/** Diagnostics of a capture: console messages, requests, steps and waits. */
export type Diagnostics = Schemas['Diagnostics'];
/** A change of a capture, with its new state. */
export interface CaptureEvent {
  readonly uuid: string;
  readonly status: CaptureStatus;
  /** State of the latest refresh; null if the capture has not been refreshed. */
  readonly refresh: NonNullable<CaptureResult['refresh']>['state'] | null;
}
/** Progress of a capture whose call is waiting. */
export interface CaptureProgress {
  readonly uuid: string;
  /** Region of the renderer. */
  readonly region: PendingCapture['region'];
  /** The step of the capture: it waits in the queue of the region, it is rendered in the browser, or its file is stored. */
  readonly step: 'queued' | 'rendering' | 'storing';
}

/** Used tokens and limits of an account. */
export type Usage = Schemas['Usage'];
/** The usage of an account by day and by key. */
export type UsageHistory = Schemas['UsageHistory'];
/** Status of the service and its components. */
export type ServiceStatus = Schemas['ServiceStatus'];
/** Status of one component. */
export type ComponentStatus = Schemas['ComponentStatus'];
/** Uptime and incidents of the components. */
export type StatusHistory = Schemas['StatusHistory'];
/** A valid value of `device` of a capture. */
export type Device = Schemas['Device'];

/** An API key without the key itself. */
export type ApiKey = Schemas['ApiKey'];
/** A new API key; the service returns `key` only once. */
export type NewApiKey = Schemas['NewApiKey'];
/** A key that has been revoked. */
export type RevokedApiKey = Schemas['RevokedApiKey'];
export type CreateKey = Schemas['CreateKey'];
export type RotateKey = Schemas['RotateKey'];
/** A new signing secret of links; the service returns `secret` only once. */
export type SigningSecret = Schemas['SigningSecret'];
export type RotateSigningSecret = Schemas['RotateSigningSecret'];

/** The secret that signs events to webhooks. */
export type WebhookSecret = Schemas['WebhookSecret'];
export type RotateWebhookSecret = Schemas['RotateWebhookSecret'];

/** One attempt to deliver an event to a webhook. */
export type Delivery = Schemas['Delivery'];
/** Delivery state of the latest event of a capture. */
export type CaptureWebhook = Schemas['CaptureWebhook'];
export type TestEvent = Schemas['TestEventRequest'];

type WebhookBody = NonNullable<webhooks['capture']['post']['requestBody']>['content']['application/json'];
type EventOf<Type extends WebhookBody['type'], Data extends WebhookBody['data']> = Omit<
  WebhookBody,
  'type' | 'data'
> & {
  type: Type;
  data: Data;
};

/**
 * The body of a request to a webhook: an event of a capture or batch, and its state when it was sent. `type` distinguishes
 * the types of `data`; a capture may have expired or been deleted since its event.
 */
export type WebhookEvent =
  | EventOf<'capture.completed' | 'capture.refreshed' | 'capture.changed', CaptureResult>
  | EventOf<'capture.failed', FailedCapture | DeletedCapture>
  | BatchEvent;

/** The event of a batch whose captures have all ended. `getBatch` returns the captures. */
export type BatchEvent = NonNullable<webhooks['batch']['post']['requestBody']>['content']['application/json'];

/** An account in the operator's view. */
export type Account = Schemas['Account'];
export type CreateAccount = Schemas['CreateAccount'];
export type ChangeAccount = Schemas['ChangeAccount'];
export type CreateAccountKey = Schemas['CreateAccountKey'];

/** The state of the fleet at a point in time. */
export type Overview = Schemas['Overview'];
/** A failed or slow capture in the operator's view. */
export type AdminCapture = Schemas['AdminCapture'];
/** Selection of the operator's list of captures, and its maximum length (default 20). */
export interface AdminCapturesQuery {
  readonly sort?: 'slowest' | 'failed' | undefined;
  readonly limit?: number | undefined;
}
/** The accounts that used most tokens, with their most frequent errors. */
export type AdminUsage = Schemas['AdminUsage'];
/** Period of the operator's usage, and maximum number of accounts (default 10). */
export interface AdminUsageQuery {
  readonly days?: number | undefined;
  readonly limit?: number | undefined;
}
/** A job that failed permanently. */
export type DeadLetter = Schemas['DeadLetter'];
