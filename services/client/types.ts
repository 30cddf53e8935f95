import type { paths, webhooks } from './openapi.ts';

type Json<T> = T extends { content: { 'application/json': infer B } } ? B : never;
type Body<P extends keyof paths, M extends keyof paths[P]> = paths[P][M] extends { requestBody?: infer B }
  ? Json<NonNullable<B>>
  : never;
type Answer<P extends keyof paths, M extends keyof paths[P]> = paths[P][M] extends { responses: { 200: infer R } }
  ? Json<R>
  : never;
type Data<P extends keyof paths, M extends keyof paths[P]> = Answer<P, M> extends { data: infer D } ? D : never;

/** The options of a capture: the body of POST /capture without `responseType`, which the method decides. */
export type CaptureOptions = Omit<Body<'/capture', 'post'>, 'responseType'>;

/** Any state of a capture. `status` tells which it is. */
export type Capture = Data<'/captures/{uuid}', 'get'>;
/** A capture that has completed, and may since have expired or been deleted. */
export type CaptureResult = Extract<Capture, { report: unknown }>;
/** A capture that has still to end. */
export type PendingCapture = Extract<Capture, { status: 'queued' | 'rendering' }>;
/** A capture that failed. */
export type FailedCapture = Extract<Capture, { error: unknown }>;
/** A capture that was deleted before it completed. */
export type DeletedCapture = Exclude<Capture, CaptureResult | PendingCapture | FailedCapture>;
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
export type CaptureHistory = Data<'/captures/{uuid}/history', 'get'>;
/** A change of a capture: what it is now. */
export interface CaptureEvent {
  readonly uuid: string;
  readonly status: CaptureStatus;
  /** State of its latest refresh; null when there was none. */
  readonly refresh: NonNullable<CaptureResult['refresh']>['state'] | null;
}

/** Tokens used and limits of an account. */
export type Usage = Data<'/usage', 'get'>;
/** What an account has used, by days and by keys. */
export type UsageHistory = Data<'/usage/history', 'get'>;
/** Status of the service and its components. */
export type ServiceStatus = Answer<'/status', 'get'>;
/** Status of one component. */
export type ComponentStatus = Answer<'/status/engine', 'get'>;
/** Uptime and incidents of the components. */
export type StatusHistory = Answer<'/status/history.json', 'get'>;
/** A device that `device` of a capture can name. */
export type Device = Data<'/devices', 'get'>['devices'][number];

/** An API key without the key itself. */
export type ApiKey = Data<'/keys', 'get'>['items'][number];
/** A new API key; `key` is shown only this once. */
export type NewApiKey = Data<'/keys', 'post'>;
/** A key that has been revoked. */
export type RevokedApiKey = Data<'/keys/{id}', 'delete'>;
export type CreateKey = Body<'/keys', 'post'>;
export type RotateKey = Body<'/keys/{id}/rotate', 'post'>;
/** A new signing secret of links; `secret` is shown only this once. */
export type SigningSecret = Data<'/keys/{id}/signing-secret', 'post'>;
export type RotateSigningSecret = Body<'/keys/{id}/signing-secret', 'post'>;

/** What events to webhooks are signed with. */
export type WebhookSecret = Data<'/webhooks/secret', 'get'>;
export type RotateWebhookSecret = Body<'/webhooks/secret/rotate', 'post'>;

/** One attempt to deliver an event to a webhook. */
export type Delivery = Data<'/webhooks/deliveries', 'get'>['deliveries'][number];
/** How the latest event of a capture stands. */
export type CaptureWebhook = Data<'/captures/{uuid}/webhook/redeliver', 'post'>;
export type TestEvent = Body<'/webhooks/test', 'post'>;

/** What a webhook receives: what happened to a capture, and how the capture stands. */
export type WebhookEvent = Json<webhooks['capture']['post']['requestBody']>;

/** An account, as the operator sees it. */
export type Account = Data<'/admin/accounts', 'get'>['items'][number];
export type CreateAccount = Body<'/admin/accounts', 'post'>;
export type ChangeAccount = Body<'/admin/accounts/{id}', 'patch'>;
export type CreateAccountKey = Body<'/admin/keys', 'post'>;

/** The fleet at a moment. */
export type Overview = Data<'/admin/overview', 'get'>;
/** A capture that failed or was slow, as the operator sees it. */
export type AdminCapture = Data<'/admin/captures', 'get'>['captures'][number];
/** Which captures the operator's list has, and how many at most (default 20). */
export interface AdminCapturesQuery {
  readonly sort?: 'slowest' | 'failed' | undefined;
  readonly limit?: number | undefined;
}
/** A job that was given up. */
export type DeadLetter = Data<'/admin/dead-letters', 'get'>['deadLetters'][number];
