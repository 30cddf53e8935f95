import { Admin } from './admin.ts';
import { blobOrNull, fileOf, hasEnded, orNull, parsed, resultOfEvents, statusOf } from './answers.ts';
import { CaptureFailedError, errorOfResponse, RequestTimeoutError } from './errors.ts';
import { dataOfEvents, type EventsOptions, readEvents } from './event-stream.ts';
import {
  createRawClient,
  dataOf,
  given,
  itemsOf,
  type CallOptions,
  type RawAnswer,
  type RawClient,
} from './requests.ts';
import { absoluteUrl, send, sleep, type TransportOptions } from './transport.ts';
import type {
  ApiKey,
  Capture,
  CapturedFile,
  CaptureEvent,
  CaptureHistory,
  CaptureListQuery,
  CaptureOptions,
  CaptureProgress,
  CaptureResult,
  CaptureWebhook,
  ComponentStatus,
  CreateKey,
  Delivery,
  Device,
  Diagnostics,
  EndedCapture,
  NewApiKey,
  Page,
  PageQuery,
  PendingCapture,
  RevokedApiKey,
  RotateKey,
  RotateSigningSecret,
  RotateWebhookSecret,
  ServiceStatus,
  SigningSecret,
  StatusHistory,
  TestEvent,
  Usage,
  UsageHistory,
  WebhookSecret,
} from './types.ts';

const defaultTimeoutMs = 300_000;
const defaultMaxRetries = 2;
const firstPollMs = 500;
const maxPollMs = 5000;

/** Where the service is, and how it is asked. */
export interface WebcaptureOptions {
  /** Address of the service, such as `https://capture.example.com` or `https://example.com/capture-service`. */
  readonly url: string;
  /** API key, or the admin token for `client.admin`. Status and devices need none. */
  readonly apiKey?: string | undefined;
  /** In place of the global fetch. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** How often a request is sent again at most; 0 disables retries. Default 2. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds until an attempt without an answer is given up. Default 300,000: a capture waits in a queue, too. */
  readonly timeoutMs?: number | undefined;
  /** Value of the header User-Agent. By default that of fetch. */
  readonly userAgent?: string | undefined;
}

/** What a capture takes beside its options. */
export interface CaptureCallOptions extends CallOptions {
  /**
   * 1 to 255 visible ASCII characters. Calls with the same key and options are one capture for 24 hours; by default each
   * call has a random one, which its retries share.
   */
  readonly idempotencyKey?: string | undefined;
}

/** What a capture takes beside its options when its steps are followed. */
export interface FollowCaptureOptions extends CaptureCallOptions {
  /**
   * Is called with each step that the service tells of: none for an answer from the cache, or of another call with the same
   * Idempotency-Key. From the first one on, the call is not repeated when the capture fails.
   */
  readonly onProgress?: ((progress: CaptureProgress) => void) | undefined;
}

/** How to wait for a capture. */
export interface WaitOptions extends CallOptions {
  /** Milliseconds until waiting is given up with a RequestTimeoutError; the capture goes on. By default there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** Is called with each state that was read, also when it is the same as before. */
  readonly onState?: ((state: Capture) => void) | undefined;
}

/**
 * A client of one webcapture service, with one API key.
 *
 * Calls that failed are repeated up to `maxRetries` times, with growing random pauses and not before Retry-After: what
 * the service's error table calls retryable, and requests that got no answer. A POST without an Idempotency-Key is
 * repeated only when a limit refused it.
 *
 * All methods reject with a WebcaptureError, or with the reason of their signal.
 */
export class Webcapture {
  /** The openapi-fetch client of all paths. It resolves with `{ data, error, response }`, whatever the status. */
  readonly raw: RawClient;
  /** The operator's calls. */
  readonly admin: Admin;
  readonly #transport: TransportOptions;

  /** @throws TypeError if `url` is no http or https address, or `apiKey` cannot be in a header */
  constructor({ url, apiKey, fetch, maxRetries, timeoutMs, userAgent }: WebcaptureOptions) {
    this.#transport = {
      fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
      maxRetries: maxRetries ?? defaultMaxRetries,
      timeoutMs: timeoutMs ?? defaultTimeoutMs,
    };
    const headers: Record<string, string> = {};
    // fetch would put the key into its own message.
    if (apiKey !== undefined && !/^[!-~]+$/.test(apiKey)) {
      throw new TypeError('apiKey must be visible ASCII characters: look for spaces and line ends around it');
    }
    if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`;
    if (userAgent !== undefined) headers['user-agent'] = userAgent;
    this.raw = createRawClient(absoluteUrl(url), headers, this.#transport);
    this.admin = new Admin(this.raw);
  }

  /**
   * Captures a page and resolves when the capture has completed; with `background` at once, with a pending capture for
   * {@link waitFor}. A background capture that is answered from the cache is a result, too.
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
    // The document knows that the same address answers with files, too.
    const call = this.raw.POST('/capture', { params, body, signal });
    return dataOf(call as Promise<RawAnswer<{ readonly data: CaptureResult | PendingCapture }>>);
  }

  /** Captures a page and resolves with its file, as soon as its first bytes are there. */
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

  /** The file of a capture, by its `fileUrl`. The API key is not sent: files are at the address of a CDN. */
  async file(fileUrl: string, { signal = null }: CallOptions = {}): Promise<CapturedFile> {
    const response = await send(new Request(fileUrl, { signal }), { ...this.#transport, isStreamed: true });
    if (response.ok) return fileOf(response);
    const text = await response.text();
    throw errorOfResponse(response, parsed(text));
  }

  /**
   * Waits for the end of a capture, and of its refresh when one is under way. A refresh that failed leaves the capture
   * as it was; `refresh.error` says why.
   *
   * @returns the capture as it ended: completed, expired or deleted
   * @throws CaptureFailedError when the capture failed, with the code of its error
   */
  async waitFor(uuid: string, { signal, timeoutMs, onState }: WaitOptions = {}): Promise<EndedCapture> {
    const deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const stop = AbortSignal.any([signal, deadline].filter((each) => each !== undefined && each !== null));
    try {
      for (let pollMs = firstPollMs; ; pollMs = Math.min(maxPollMs, 1.5 * pollMs)) {
        const state = await this.getCapture(uuid, { signal: stop });
        onState?.(state);
        if (state.status === 'failed') {
          const { code, message } = state.error;
          throw new CaptureFailedError(code, message, { captureUuid: uuid });
        }
        if (hasEnded(state)) return state;
        await sleep(pollMs, stop);
      }
    } catch (error) {
      if (deadline?.aborted !== true || error !== deadline.reason) throw error;
      const message = `The capture ${uuid} has not ended within ${timeoutMs} ms.`;
      throw new RequestTimeoutError('TIMEOUT', message, { captureUuid: uuid });
    }
  }

  /** The state of a capture; a failed one, too, is a state. */
  getCapture(uuid: string, { signal = null }: CallOptions = {}): Promise<Capture> {
    return dataOf(this.raw.GET('/captures/{uuid}', { params: { path: { uuid } }, signal }));
  }

  /** Captures the page again into the same fileUrl. Resolves at once; `refresh` of the capture shows the progress. */
  refreshCapture(uuid: string, { signal = null }: CallOptions = {}): Promise<Capture> {
    return dataOf(this.raw.POST('/captures/{uuid}/refresh', { params: { path: { uuid } }, signal }));
  }

  /** Deletes a capture's file, or cancels a capture that is queued. The record stays for 90 days. */
  deleteCapture(uuid: string, { signal = null }: CallOptions = {}): Promise<Capture> {
    return dataOf(this.raw.DELETE('/captures/{uuid}', { params: { path: { uuid } }, signal }));
  }

  /** The refreshes of a capture and the deliveries of its events, newest first, at most 20 of each. */
  getCaptureHistory(uuid: string, { signal = null }: CallOptions = {}): Promise<CaptureHistory> {
    return dataOf(this.raw.GET('/captures/{uuid}/history', { params: { path: { uuid } }, signal }));
  }

  /**
   * The console messages, requests, steps and waits of a capture that failed, or that asked for them.
   *
   * @returns null when there are none
   */
  getDiagnostics(uuid: string, { signal = null }: CallOptions = {}): Promise<Diagnostics | null> {
    return orNull(dataOf(this.raw.GET('/captures/{uuid}/diagnostics', { params: { path: { uuid } }, signal })));
  }

  /** The requests of the diagnostics as a HAR file, for the developer tools of a browser; null when there are none. */
  async getHar(uuid: string, { signal = null }: CallOptions = {}): Promise<Blob | null> {
    const params = { path: { uuid }, query: { format: 'har' } } as const;
    return blobOrNull(await this.raw.GET('/captures/{uuid}/diagnostics', { params, signal, parseAs: 'blob' }));
  }

  /** What the page showed when its capture failed, as a JPEG file; null when there is no picture. */
  async getLastPicture(uuid: string, { signal = null }: CallOptions = {}): Promise<Blob | null> {
    const params = { path: { uuid } };
    return blobOrNull(await this.raw.GET('/captures/{uuid}/diagnostics/picture', { params, signal, parseAs: 'blob' }));
  }

  /**
   * A small WebP of a capture; of a tall picture, its top.
   *
   * @param options `width`: at most so many pixels, 32 to 1568; default 320
   * @returns null when there is none: the capture has no file, or a PDF
   */
  async getThumbnail(
    uuid: string,
    { width, signal = null }: CallOptions & { readonly width?: number | undefined } = {},
  ): Promise<Blob | null> {
    const params = { path: { uuid }, query: given({ width }) };
    return blobOrNull(await this.raw.GET('/captures/{uuid}/thumbnail', { params, signal, parseAs: 'blob' }));
  }

  /**
   * Follows the captures of the account: one event after each change, until the service ends the stream, as a front does
   * that shuts down. What happens while nobody follows is not repeated: after another call, read the captures again.
   *
   * @throws AuthenticationError or PermissionError, also in the middle of the stream, when the key no longer holds
   * @throws NetworkError when the stream breaks or is silent for 45 seconds
   */
  events(options: EventsOptions = {}): AsyncIterable<CaptureEvent> {
    const open = (signal: AbortSignal) => this.raw.GET('/events', { signal, parseAs: 'stream' });
    return dataOfEvents('capture', readEvents(open, options));
  }

  /** All captures of the account, newest first; pages are fetched as needed. `limit` is the size of a page. */
  listCaptures({ signal, ...query }: Omit<CaptureListQuery, 'cursor'> & CallOptions = {}): AsyncIterable<Capture> {
    return itemsOf((cursor) => this.listCapturesPage({ ...query, cursor, signal }));
  }

  /** One page of the list of captures. It can have fewer items than `limit`, or none, and still not be the last. */
  listCapturesPage({ signal = null, ...query }: CaptureListQuery & CallOptions = {}): Promise<Page<Capture>> {
    return dataOf(this.raw.GET('/captures', { params: { query: given(query) }, signal }));
  }

  /** Tokens used in this month, and the limits of the account. */
  getUsage({ signal = null }: CallOptions = {}): Promise<Usage> {
    return dataOf(this.raw.GET('/usage', { signal }));
  }

  /** What the account has used on each of the latest days (1 to 90, default 30), today among them, and with each key. */
  getUsageHistory({
    signal = null,
    ...query
  }: CallOptions & { readonly days?: number | undefined } = {}): Promise<UsageHistory> {
    return dataOf(this.raw.GET('/usage/history', { params: { query: given(query) }, signal }));
  }

  /** How the service and its components are. An outage is an answer, not an error. */
  async getStatus({ signal = null }: CallOptions = {}): Promise<ServiceStatus> {
    const { data, error, response } = await this.raw.GET('/status', { signal });
    return statusOf(data ?? error, response);
  }

  /** How the screenshot engine is. An outage is an answer, not an error. */
  async getEngineStatus({ signal = null }: CallOptions = {}): Promise<ComponentStatus> {
    const { data, error, response } = await this.raw.GET('/status/engine', { signal });
    return statusOf(data ?? error, response);
  }

  /** Uptime by days, and incidents, of the last 90 days. */
  async getStatusHistory({ signal = null }: CallOptions = {}): Promise<StatusHistory> {
    const { data, error, response } = await this.raw.GET('/status/history.json', { signal });
    if (data?.components === undefined) throw errorOfResponse(response, error);
    return data;
  }

  /** The devices that a capture can name in `device`. */
  async listDevices({ signal = null }: CallOptions = {}): Promise<readonly Device[]> {
    const { devices } = await dataOf(this.raw.GET('/devices', { signal }));
    return devices;
  }

  /** All API keys of the account, newest first; pages are fetched as needed. `limit` is the size of a page. */
  listKeys({ limit, signal }: Omit<PageQuery, 'cursor'> & CallOptions = {}): AsyncIterable<ApiKey> {
    return itemsOf((cursor) => this.listKeysPage({ limit, cursor, signal }));
  }

  /** One page of the list of API keys. */
  listKeysPage({ signal = null, ...query }: PageQuery & CallOptions = {}): Promise<Page<ApiKey>> {
    return dataOf(this.raw.GET('/keys', { params: { query: given(query) }, signal }));
  }

  /** Creates an API key. Not repeated when no answer comes: it would be two keys. */
  createKey(body: CreateKey, { signal = null }: CallOptions = {}): Promise<NewApiKey> {
    return dataOf(this.raw.POST('/keys', { body, signal }));
  }

  /** Creates a key in place of another one, which keeps working for `graceSeconds` (default 3600). */
  rotateKey(id: string, body: RotateKey = {}, { signal = null }: CallOptions = {}): Promise<NewApiKey> {
    return dataOf(this.raw.POST('/keys/{id}/rotate', { params: { path: { id } }, body, signal }));
  }

  /** Revokes a key; with `cascade` also the keys that were created with it, and with those, and so on. */
  revokeKey(
    id: string,
    { cascade = false, signal = null }: CallOptions & { cascade?: boolean } = {},
  ): Promise<RevokedApiKey> {
    const query = cascade ? ({ cascade: 'true' } as const) : {};
    return dataOf(this.raw.DELETE('/keys/{id}', { params: { path: { id }, query }, signal }));
  }

  /** Creates the signing secret of a key's links; links of earlier ones work for `graceSeconds` (default one day). */
  rotateSigningSecret(
    id: string,
    body: RotateSigningSecret = {},
    { signal = null }: CallOptions = {},
  ): Promise<SigningSecret> {
    return dataOf(this.raw.POST('/keys/{id}/signing-secret', { params: { path: { id } }, body, signal }));
  }

  /** What events to webhooks are signed with, for {@link verifyWebhook}. */
  getWebhookSecret({ signal = null }: CallOptions = {}): Promise<WebhookSecret> {
    return dataOf(this.raw.GET('/webhooks/secret', { signal }));
  }

  /** Creates another webhook secret; the earlier ones sign, too, for `graceSeconds` (default one day). */
  rotateWebhookSecret(body: RotateWebhookSecret = {}, { signal = null }: CallOptions = {}): Promise<WebhookSecret> {
    return dataOf(this.raw.POST('/webhooks/secret/rotate', { body, signal }));
  }

  /** The latest delivery attempts of all webhooks (at most 100, default 50), newest first. */
  async listWebhookDeliveries({
    signal = null,
    ...query
  }: CallOptions & { readonly limit?: number | undefined } = {}): Promise<readonly Delivery[]> {
    const { deliveries } = await dataOf(
      this.raw.GET('/webhooks/deliveries', { params: { query: given(query) }, signal }),
    );
    return deliveries;
  }

  /** Sends the latest event of a capture again. A ConflictError tells that there is none, or that it is under way. */
  redeliverWebhook(uuid: string, { signal = null }: CallOptions = {}): Promise<CaptureWebhook> {
    return dataOf(this.raw.POST('/captures/{uuid}/webhook/redeliver', { params: { path: { uuid } }, signal }));
  }

  /** Sends a signed event `webhook.test` once. Its result is among the deliveries; `id` is the header `webhook-id`. */
  sendTestEvent(body: TestEvent, { signal = null }: CallOptions = {}): Promise<{ readonly id: string }> {
    return dataOf(this.raw.POST('/webhooks/test', { body, signal }));
  }
}
