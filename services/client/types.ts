import type { components, webhooks } from './openapi.ts';

type Schemas = components['schemas'];

/** The options of a capture: the body of POST /capture without `responseType`, which the method decides. */
export type CaptureOptions = Omit<Schemas['CaptureRequest'], 'responseType'>;

/** Any state of a capture. `status` tells which it is. */
export type Capture = Schemas['Capture'];
/** A capture that has completed, and may since have expired or been deleted. */
export type CaptureResult = Schemas['CaptureResult'];
/** A capture that has still to end. */
export type PendingCapture = Schemas['PendingCapture'];
/** A capture that failed. */
export type FailedCapture = Schemas['FailedCapture'];
/** A capture that was deleted before it completed. */
export type DeletedCapture = Schemas['DeletedCapture'];
/** A capture that has ended, other than by a failure. */
export type EndedCapture = CaptureResult | DeletedCapture;
/** The states of a capture. */
export type CaptureStatus = Capture['status'];

/** One page of a list, newest first. The list ends when `nextCursor` is null. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}
/** Where a page of a list begins, and how many items it has at most. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}
/** What a list of captures can select by. */
export interface CaptureListQuery extends PageQuery {
  readonly status?: CaptureStatus | undefined;
}

/** A file of a capture, as it is being received. */
export interface CapturedFile {
  /** `image/png`, `image/jpeg`, `image/webp` or `application/pdf`. */
  readonly contentType: string;
  /** Bytes; null when the server does not say. */
  readonly size: number | null;
  /** The bytes. Read it to its end or cancel it: until then it holds a connection. */
  readonly stream: ReadableStream<Uint8Array>;
}

/** The refreshes of a capture, and the deliveries of its events. */
export type CaptureHistory = Schemas['CaptureHistory'];
/** What explains a capture: console messages, requests, steps and waits. */
export type Diagnostics = Schemas['Diagnostics'];
/** A change of a capture: what it is now. */
export interface CaptureEvent {
  readonly uuid: string;
  readonly status: CaptureStatus;
  /** State of its latest refresh; null when there was none. */
  readonly refresh: NonNullable<CaptureResult['refresh']>['state'] | null;
}
/** A step of a capture that its call waits for. */
export interface CaptureProgress {
  readonly uuid: string;
  /** Where it is rendered. */
  readonly region: PendingCapture['region'];
  /** In the queue of the region, in the browser, or on its way into the file store. */
  readonly step: 'queued' | 'rendering' | 'storing';
}

/** Tokens used and limits of an account. */
export type Usage = Schemas['Usage'];
/** What an account has used, by days and by keys. */
export type UsageHistory = Schemas['UsageHistory'];
/** Status of the service and its components. */
export type ServiceStatus = Schemas['ServiceStatus'];
/** Status of one component. */
export type ComponentStatus = Schemas['ComponentStatus'];
/** Uptime and incidents of the components. */
export type StatusHistory = Schemas['StatusHistory'];
/** A device that `device` of a capture can name. */
export type Device = Schemas['Device'];

/** An API key without the key itself. */
export type ApiKey = Schemas['ApiKey'];
/** A new API key; `key` is shown only this once. */
export type NewApiKey = Schemas['NewApiKey'];
/** A key that has been revoked. */
export type RevokedApiKey = Schemas['RevokedApiKey'];
export type CreateKey = Schemas['CreateKey'];
export type RotateKey = Schemas['RotateKey'];
/** A new signing secret of links; `secret` is shown only this once. */
export type SigningSecret = Schemas['SigningSecret'];
export type RotateSigningSecret = Schemas['RotateSigningSecret'];

/** What events to webhooks are signed with. */
export type WebhookSecret = Schemas['WebhookSecret'];
export type RotateWebhookSecret = Schemas['RotateWebhookSecret'];

/** One attempt to deliver an event to a webhook. */
export type Delivery = Schemas['Delivery'];
/** How the latest event of a capture stands. */
export type CaptureWebhook = Schemas['CaptureWebhook'];
export type TestEvent = Schemas['TestEventRequest'];

/** What a webhook receives: what happened to a capture, and how the capture stands. */
export type WebhookEvent = NonNullable<webhooks['capture']['post']['requestBody']>['content']['application/json'];

/** An account, as the operator sees it. */
export type Account = Schemas['Account'];
export type CreateAccount = Schemas['CreateAccount'];
export type ChangeAccount = Schemas['ChangeAccount'];
export type CreateAccountKey = Schemas['CreateAccountKey'];

/** The fleet at a moment. */
export type Overview = Schemas['Overview'];
/** A capture that failed or was slow, as the operator sees it. */
export type AdminCapture = Schemas['AdminCapture'];
/** Which captures the operator's list has, and how many at most (default 20). */
export interface AdminCapturesQuery {
  readonly sort?: 'slowest' | 'failed' | undefined;
  readonly limit?: number | undefined;
}
/** A job that was given up. */
export type DeadLetter = Schemas['DeadLetter'];
