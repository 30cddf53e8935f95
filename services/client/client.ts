import { Admin } from './admin.ts';
import { blobOrNull, fileOf, hasEnded, orNull, parsed, resultOfEvents, statusOf } from './answers.ts';
import { CaptureFailedError, errorOfResponse } from './errors.ts';
import { dataOfEvents, type EventsOptions, readEvents } from './event-stream.ts';
import {
  createRawClient,
  dataOf,
  given,
  itemsOf,
  type CallOptions,
  type CaptureCallOptions,
  type FollowCaptureOptions,
  type RawAnswer,
  type RawClient,
  type WaitOptions,
} from './requests.ts';
import { pollUntil } from './poll.ts';
import { absoluteUrl, send, type TransportOptions } from './transport.ts';
import type {
  ApiKey,
  Batch,
  BatchChange,
  BatchOptions,
  Capture,
  CapturedFile,
  CaptureEvent,
  CaptureHistory,
  CaptureListQuery,
  CaptureOptions,
  CaptureResult,
  CaptureWebhook,
  ComponentStatus,
  CreateKey,
  CreateSession,
  Delivery,
  Device,
  Diagnostics,
  EndedCapture,
  MergedPdf,
  MergeOptions,
  NewApiKey,
  Page,
  PageQuery,
  PendingCapture,
  RevokedApiKey,
  RotateKey,
  RotateSigningSecret,
  RotateWebhookSecret,
  ServiceStatus,
  Session,
  SigningSecret,
  StatusHistory,
  TestEvent,
  Usage,
  UsageHistory,
  WebhookSecret,
} from './types.ts';

const defaultTimeoutMs = 300_000;
const defaultMaxRetries = 2;

/** Address and options of the client. */
export interface WebcaptureOptions {
  /** Address of the service, such as `https://capture.example.com` or `https://example.com/capture-service`. */
  readonly url: string;
  /** API key, or the admin token for `client.admin`. Not needed for status and devices. */
  readonly apiKey?: string | undefined;
  /** Replaces the global fetch. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Maximum number of retries of a request; 0 disables retries. Default 2. */
  readonly maxRetries?: number | undefined;
  /** Timeout of an attempt in milliseconds. Default 300,000, because a capture may wait in a queue. */
  readonly timeoutMs?: number | undefined;
  /** Value of the header User-Agent; by default that of fetch. */
  readonly userAgent?: string | undefined;
}

/**
 * A client for one webcapture service and one API key.
 *
 * The client retries failed calls up to `maxRetries` times, with exponential backoff and jitter, and not before the time in
 * Retry-After. It retries errors that the service's error table calls retryable, and requests without a response. It retries
 * a POST without an Idempotency-Key only if a limit refused it.
 *
 * All methods reject with a WebcaptureError, or with the reason of their signal.
 */
export class Webcapture {
  /** The openapi-fetch client of all paths. It resolves with `{ data, error, response }` for every status. */
  readonly raw: RawClient;
  /** The operator's methods. */
  readonly admin: Admin;
  readonly #transport: TransportOptions;

  /** @throws TypeError if `url` is not an http or https address, or a header cannot contain `apiKey` */
  constructor({ url, apiKey, fetch, maxRetries, timeoutMs, userAgent }: WebcaptureOptions) {
    this.#transport = {
      fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
      maxRetries: maxRetries ?? defaultMaxRetries,
      timeoutMs: timeoutMs ?? defaultTimeoutMs,
    };
    const headers: Record<string, string> = {};
    // The error message of fetch would contain the key.
    if (apiKey !== undefined && !/^[!-~]+$/.test(apiKey)) {
      throw new TypeError(
        'apiKey must contain only visible ASCII characters: check for spaces and line ends around it',
      );
    }
    if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`;
    if (userAgent !== undefined) headers['user-agent'] = userAgent;
    this.raw = createRawClient(absoluteUrl(url), headers, this.#transport);
    this.admin = new Admin(this.raw);
  }

  /**
   * Captures a page and resolves when the capture has completed. With `background`, resolves immediately: with a pending capture for {@link
   * waitFor}, or with a result if the cache contains one.
   */
  capture(
    options: CaptureOptions & { readonly background: true },
    call?: FollowCaptureOptions,
  ): Promise<CaptureResult | PendingCapture>;
  capture(
    options: CaptureOptions & { readonly background?: false },
    call?: FollowCaptureOptions,
  ): Promise<CaptureResult>;
  capture(options: CaptureOptions, call?: FollowCaptureOptions): Promise<CaptureResult | PendingCapture>;
  capture(
    options: CaptureOptions,
    { signal = null, idempotencyKey, onProgress }: FollowCaptureOptions = {},
  ): Promise<CaptureResult | PendingCapture> {
    const params = idempotencyKey === undefined ? {} : { header: { 'idempotency-key': idempotencyKey } };
    const body = { ...options, responseType: 'json' as const };
    if (onProgress !== undefined) {
      const headers = { accept: 'text/event-stream' };
      const open = (stop: AbortSignal) =>
        this.raw.POST('/capture', { params, body, headers, signal: stop, parseAs: 'stream' });
      return resultOfEvents(readEvents(open, { signal, silenceMs: this.#transport.timeoutMs }), onProgress);
    }
    // The type in the OpenAPI document includes files, because the same address can return them.
    const call = this.raw.POST('/capture', { params, body, signal });
    return dataOf(call as Promise<RawAnswer<{ readonly data: CaptureResult | PendingCapture }>>);
  }

  /** Captures a page and resolves with its file as soon as the first bytes have arrived. */
  async captureFile(
    options: CaptureOptions & { readonly background?: false },
    { signal = null, idempotencyKey }: CaptureCallOptions = {},
  ): Promise<CapturedFile & { readonly uuid: string }> {
    const params = idempotencyKey === undefined ? {} : { header: { 'idempotency-key': idempotencyKey } };
    const body = { ...options, responseType: 'file' as const };
    const { error, response } = await this.raw.POST('/capture', { params, body, signal, parseAs: 'stream' });
    const uuid = response.headers.get('x-capture-uuid');
    if (error !== undefined || uuid === null) {
      if (response.ok) await response.body?.cancel();
      throw errorOfResponse(response, error);
    }
    return { uuid, ...fileOf(response) };
  }

  /**
   * Merges captures of the account and new captures into one PDF, and resolves with it as soon as the first bytes have arrived. Not retried
   * without a response, because the captures are charged.
   */
  async mergePdf(options: MergeOptions, { signal = null }: CallOptions = {}): Promise<MergedPdf> {
    const { error, response } = await this.raw.POST('/pdf/merge', { body: options, signal, parseAs: 'stream' });
    const pages = response.headers.get('x-page-count');
    if (error !== undefined || pages === null) {
      if (response.ok) await response.body?.cancel();
      throw errorOfResponse(response, error);
    }
    const uuids = response.headers.get('x-capture-uuids')?.split(', ') ?? [];
    return { pages: Number(pages), uuids, ...fileOf(response) };
  }

  /** Returns the file of a capture by its `fileUrl`. The API key is not sent, because the address may be that of a CDN. */
  async file(fileUrl: string, { signal = null }: CallOptions = {}): Promise<CapturedFile> {
    const response = await send(new Request(fileUrl, { signal }), { ...this.#transport, isStreamed: true });
    if (response.ok) return fileOf(response);
    const text = await response.text();
    throw errorOfResponse(response, parsed(text));
  }

  /**
   * Waits for the end of a capture, and of its refresh if one is in progress. A failed refresh does not change the capture;
   * `refresh.error` contains the reason.
   *
   * @returns the ended capture: completed, expired or deleted
   * @throws CaptureFailedError with the capture's error code if the capture failed
   */
  async waitFor(uuid: string, { onState, ...options }: WaitOptions = {}): Promise<EndedCapture> {
    return pollUntil(options, { what: `The capture ${uuid}`, captureUuid: uuid }, async (signal) => {
      const state = await this.getCapture(uuid, { signal });
      onState?.(state);
      if (state.status === 'failed') {
        const { code, message } = state.error;
        throw new CaptureFailedError(code, message, { captureUuid: uuid });
      }
      return hasEnded(state) ? state : null;
    });
  }

  /**
   * Captures up to 1,000 pages in the background, and resolves with the batch when all captures have been queued. Calls with the same Idempotency-Key
   * and options are one batch for 24 hours; by default each call has a random key, which its retries share.
   */
  createBatch(body: BatchOptions, { signal = null, idempotencyKey }: CaptureCallOptions = {}): Promise<Batch> {
    const params = idempotencyKey === undefined ? {} : { header: { 'idempotency-key': idempotencyKey } };
    return dataOf(this.raw.POST('/captures/batch', { params, body, signal }));
  }

  /** Returns the state of a batch and its captures. */
  getBatch(id: string, { signal = null }: CallOptions = {}): Promise<Batch> {
    return dataOf(this.raw.GET('/batches/{id}', { params: { path: { id } }, signal }));
  }

  /** Returns the files of a batch, and the list of its captures (manifest.json), as a zip archive as soon as the first bytes have arrived. */
  async getBatchZip(id: string, { signal = null }: CallOptions = {}): Promise<CapturedFile> {
    const params = { path: { id } };
    const { error, response } = await this.raw.GET('/batches/{id}/zip', { params, signal, parseAs: 'stream' });
    if (error !== undefined) throw errorOfResponse(response, error);
    return fileOf(response);
  }

  /** Follows a batch: yields one event after each change of one of its captures, until all have ended. Errors are those of {@link events}. */
  batchEvents(id: string, options: EventsOptions = {}): AsyncIterable<BatchChange> {
    const params = { path: { id } };
    const open = (signal: AbortSignal) => this.raw.GET('/batches/{id}/events', { params, signal, parseAs: 'stream' });
    return dataOfEvents('capture', readEvents(open, options));
  }

  /** Waits until all captures of a batch have ended. Some of them may have failed: `captures` has their errors. */
  waitForBatch(id: string, { onState, ...options }: WaitOptions<Batch> = {}): Promise<Batch> {
    return pollUntil(options, { what: `The batch ${id}` }, async (signal) => {
      const state = await this.getBatch(id, { signal });
      onState?.(state);
      return state.status === 'completed' ? state : null;
    });
  }

  /**
   * Logs in with a capture, usually by its steps, and resolves when the session is stored. Its `sessionId` is the value of the option `session`
   * of captures.
   */
  createSession(body: CreateSession, { signal = null, idempotencyKey }: CaptureCallOptions = {}): Promise<Session> {
    const params = idempotencyKey === undefined ? {} : { header: { 'idempotency-key': idempotencyKey } };
    return dataOf(this.raw.POST('/sessions', { params, body, signal }));
  }

  /** Returns the sessions of the account, at most 100, newest first. */
  async listSessions({ signal = null }: CallOptions = {}): Promise<readonly Session[]> {
    const { sessions } = await dataOf(this.raw.GET('/sessions', { signal }));
    return sessions;
  }

  /** Returns a session. */
  getSession(id: string, { signal = null }: CallOptions = {}): Promise<Session> {
    return dataOf(this.raw.GET('/sessions/{id}', { params: { path: { id } }, signal }));
  }

  /** Deletes a session. Later captures and refreshes that name it fail. */
  deleteSession(id: string, { signal = null }: CallOptions = {}): Promise<Session> {
    return dataOf(this.raw.DELETE('/sessions/{id}', { params: { path: { id } }, signal }));
  }

  /** Returns the state of a capture, including that of a failed one. */
  getCapture(uuid: string, { signal = null }: CallOptions = {}): Promise<Capture> {
    return dataOf(this.raw.GET('/captures/{uuid}', { params: { path: { uuid } }, signal }));
  }

  /** Captures the page again with the same fileUrl. Resolves immediately; `refresh` of the capture shows the progress. */
  refreshCapture(uuid: string, { signal = null }: CallOptions = {}): Promise<Capture> {
    return dataOf(this.raw.POST('/captures/{uuid}/refresh', { params: { path: { uuid } }, signal }));
  }

  /** Deletes a capture's file, or cancels a queued capture. The record is kept for 90 days. */
  deleteCapture(uuid: string, { signal = null }: CallOptions = {}): Promise<Capture> {
    return dataOf(this.raw.DELETE('/captures/{uuid}', { params: { path: { uuid } }, signal }));
  }

  /** Returns the options of the request of a capture, and its refreshes and deliveries, newest first, at most 20 of each. */
  getCaptureHistory(uuid: string, { signal = null }: CallOptions = {}): Promise<CaptureHistory> {
    return dataOf(this.raw.GET('/captures/{uuid}/history', { params: { path: { uuid } }, signal }));
  }

  /**
   * Returns the console messages, requests, steps and waits of a capture that failed or requested diagnostics.
   *
   * @returns null if there are no diagnostics
   */
  getDiagnostics(uuid: string, { signal = null }: CallOptions = {}): Promise<Diagnostics | null> {
    return orNull(dataOf(this.raw.GET('/captures/{uuid}/diagnostics', { params: { path: { uuid } }, signal })));
  }

  /** Returns the requests of the diagnostics as a HAR file for a browser's developer tools; null if there are none. */
  async getHar(uuid: string, { signal = null }: CallOptions = {}): Promise<Blob | null> {
    const params = { path: { uuid }, query: { format: 'har' } } as const;
    return blobOrNull(await this.raw.GET('/captures/{uuid}/diagnostics', { params, signal, parseAs: 'blob' }));
  }

  /** Returns the last picture of a failed capture's page as a JPEG file; null if there is no picture. */
  async getLastPicture(uuid: string, { signal = null }: CallOptions = {}): Promise<Blob | null> {
    const params = { path: { uuid } };
    return blobOrNull(await this.raw.GET('/captures/{uuid}/diagnostics/picture', { params, signal, parseAs: 'blob' }));
  }

  /**
   * Returns a small WebP of a capture; for a tall picture, its top.
   *
   * @param options `width`: maximum width in pixels, 32 to 1568; default 320
   * @returns null if the capture has no file, or its file is a PDF
   */
  async getThumbnail(
    uuid: string,
    { width, signal = null }: CallOptions & { readonly width?: number | undefined } = {},
  ): Promise<Blob | null> {
    const params = { path: { uuid }, query: given({ width }) };
    return blobOrNull(await this.raw.GET('/captures/{uuid}/thumbnail', { params, signal, parseAs: 'blob' }));
  }

  /**
   * Follows the captures of the account: yields one event after each change. Returns when the service ends the stream, for example when a
   * front shuts down. Events between two streams are lost, so read the captures again after each call.
   *
   * @throws AuthenticationError or PermissionError, also during the stream, if the key becomes invalid
   * @throws NetworkError if the stream breaks or is silent for 45 seconds
   */
  events(options: EventsOptions = {}): AsyncIterable<CaptureEvent> {
    const open = (signal: AbortSignal) => this.raw.GET('/events', { signal, parseAs: 'stream' });
    return dataOfEvents('capture', readEvents(open, options));
  }

  /** Yields all captures of the account, newest first. Pages are fetched as needed. `limit` is the size of a page. */
  listCaptures({ signal, ...query }: Omit<CaptureListQuery, 'cursor'> & CallOptions = {}): AsyncIterable<Capture> {
    return itemsOf((cursor) => this.listCapturesPage({ ...query, cursor, signal }));
  }

  /** Returns one page of the list of captures. A page that is not the last can have fewer items than `limit`, or no items. */
  listCapturesPage({ signal = null, ...query }: CaptureListQuery & CallOptions = {}): Promise<Page<Capture>> {
    return dataOf(this.raw.GET('/captures', { params: { query: given(query) }, signal }));
  }

  /** Returns the tokens used in this month and the limits of the account. */
  getUsage({ signal = null }: CallOptions = {}): Promise<Usage> {
    return dataOf(this.raw.GET('/usage', { signal }));
  }

  /** Returns the usage of the account by day for the latest days (1 to 90, default 30, including today), and by key. */
  getUsageHistory({
    signal = null,
    ...query
  }: CallOptions & { readonly days?: number | undefined } = {}): Promise<UsageHistory> {
    return dataOf(this.raw.GET('/usage/history', { params: { query: given(query) }, signal }));
  }

  /** Returns the status of the service and its components. An outage is a result, not an error. */
  async getStatus({ signal = null }: CallOptions = {}): Promise<ServiceStatus> {
    const { data, error, response } = await this.raw.GET('/status', { signal });
    return statusOf(data ?? error, response);
  }

  /** Returns the status of the screenshot engine. An outage is a result, not an error. */
  async getEngineStatus({ signal = null }: CallOptions = {}): Promise<ComponentStatus> {
    const { data, error, response } = await this.raw.GET('/status/engine', { signal });
    return statusOf(data ?? error, response);
  }

  /** Returns the daily uptime and the incidents of the last 90 days. */
  async getStatusHistory({ signal = null }: CallOptions = {}): Promise<StatusHistory> {
    const { data, error, response } = await this.raw.GET('/status/history.json', { signal });
    if (data?.components === undefined) throw errorOfResponse(response, error);
    return data;
  }

  /** Returns the devices that are valid values of `device` of a capture. */
  async listDevices({ signal = null }: CallOptions = {}): Promise<readonly Device[]> {
    const { devices } = await dataOf(this.raw.GET('/devices', { signal }));
    return devices;
  }

  /** Yields all API keys of the account, newest first. Pages are fetched as needed. `limit` is the size of a page. */
  listKeys({ limit, signal }: Omit<PageQuery, 'cursor'> & CallOptions = {}): AsyncIterable<ApiKey> {
    return itemsOf((cursor) => this.listKeysPage({ limit, cursor, signal }));
  }

  /** Returns one page of the list of API keys. */
  listKeysPage({ signal = null, ...query }: PageQuery & CallOptions = {}): Promise<Page<ApiKey>> {
    return dataOf(this.raw.GET('/keys', { params: { query: given(query) }, signal }));
  }

  /** Creates an API key. Not retried without a response, because that could create two keys. */
  createKey(body: CreateKey, { signal = null }: CallOptions = {}): Promise<NewApiKey> {
    return dataOf(this.raw.POST('/keys', { body, signal }));
  }

  /** Creates a key that replaces another one, which remains valid for `graceSeconds` (default 3600). */
  rotateKey(id: string, body: RotateKey = {}, { signal = null }: CallOptions = {}): Promise<NewApiKey> {
    return dataOf(this.raw.POST('/keys/{id}/rotate', { params: { path: { id } }, body, signal }));
  }

  /** Revokes a key; with `cascade` also the keys that were created with it, recursively. */
  revokeKey(
    id: string,
    { cascade = false, signal = null }: CallOptions & { cascade?: boolean } = {},
  ): Promise<RevokedApiKey> {
    const query = cascade ? ({ cascade: 'true' } as const) : {};
    return dataOf(this.raw.DELETE('/keys/{id}', { params: { path: { id }, query }, signal }));
  }

  /** Creates the signing secret of a key's links. Earlier links remain valid for `graceSeconds` (default one day). */
  rotateSigningSecret(
    id: string,
    body: RotateSigningSecret = {},
    { signal = null }: CallOptions = {},
  ): Promise<SigningSecret> {
    return dataOf(this.raw.POST('/keys/{id}/signing-secret', { params: { path: { id } }, body, signal }));
  }

  /** Returns the secret that signs the events to webhooks, for {@link verifyWebhook}. */
  getWebhookSecret({ signal = null }: CallOptions = {}): Promise<WebhookSecret> {
    return dataOf(this.raw.GET('/webhooks/secret', { signal }));
  }

  /** Creates another webhook secret. Earlier secrets also sign for `graceSeconds` (default one day). */
  rotateWebhookSecret(body: RotateWebhookSecret = {}, { signal = null }: CallOptions = {}): Promise<WebhookSecret> {
    return dataOf(this.raw.POST('/webhooks/secret/rotate', { body, signal }));
  }

  /** Returns the latest delivery attempts of all webhooks (at most 100, default 50), newest first. */
  async listWebhookDeliveries({
    signal = null,
    ...query
  }: CallOptions & { readonly limit?: number | undefined } = {}): Promise<readonly Delivery[]> {
    const { deliveries } = await dataOf(
      this.raw.GET('/webhooks/deliveries', { params: { query: given(query) }, signal }),
    );
    return deliveries;
  }

  /** Sends the latest event of a capture again. Rejects with a ConflictError if none exists or it is being delivered. */
  redeliverWebhook(uuid: string, { signal = null }: CallOptions = {}): Promise<CaptureWebhook> {
    return dataOf(this.raw.POST('/captures/{uuid}/webhook/redeliver', { params: { path: { uuid } }, signal }));
  }

  /** Sends one signed event `webhook.test`. The list of deliveries contains its result; `id` is the header `webhook-id`. */
  sendTestEvent(body: TestEvent, { signal = null }: CallOptions = {}): Promise<{ readonly id: string }> {
    return dataOf(this.raw.POST('/webhooks/test', { body, signal }));
  }
}
