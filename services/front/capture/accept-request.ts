import {
  type CaptureRequest,
  maxViewportPixels,
  type RenderOptions,
  tokenCost,
} from '@webcapture/shared/api/capture-request.ts';
import type { AddedBytes } from '@webcapture/shared/accounts/byte-limits.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import type { Isolation } from '@webcapture/shared/api/account.ts';
import type { CacheKey, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { deadlineOf } from '@webcapture/shared/captures/times.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { Priority } from '@webcapture/shared/nats/streams.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { describeValue } from '../validation/explain-errors.ts';
import { cacheName } from './cache-key.ts';
import { brokenPdfRules } from './pdf-rules.ts';
import { renderOptions } from './render-options.ts';
import { brokenSelectors } from './selectors.ts';
import { brokenSecretRules, hashSecrets, secretsOf } from './secret-rules.ts';
import { brokenVisitorRules } from './visitor-rules.ts';

/** What is to be captured, once every rule has been checked. */
export interface AcceptedRequest {
  readonly source: { readonly kind: 'url'; readonly url: string } | { readonly kind: 'html'; readonly html: string };
  readonly options: RenderOptions;
  /** In the clear: for the job alone, and only where there is nothing to seal them with. */
  readonly secrets?: CaptureSecrets | undefined;
  /** A keyed hash of them: equal requests have equal ones. */
  readonly secretsHash?: string | undefined;
  readonly region: 'auto' | Region;
  readonly priority: Priority;
  readonly tokenCost: number;
  /** How long the file is kept. */
  readonly lifetimeMs: number;
  /** Undefined when long-term storage was not asked for. */
  readonly persistence: { readonly refreshIntervalMs: number } | undefined;
  readonly webhookUrl: string | undefined;
  /** Undefined when the cache was not asked for. */
  readonly cacheKey?: CacheKey | undefined;
}

export interface AcceptDeps {
  readonly limits: RequestLimits;
  /** Without them, secrets cannot be kept. */
  readonly secretsKeys?: SecretsKeys | undefined;
  readonly policy: Pick<EgressPolicy, 'checkLiteral'>;
}

/** What the operator decides about requests. */
interface RequestLimits {
  readonly minRefreshSeconds: number;
  /** How long persisted files are kept. */
  readonly persistenceSeconds: number;
}

/**
 * All of the validation that comes after the schema: the rules between fields, the html, and the egress policy's verdict on the
 * addresses.
 *
 * @throws ServiceError VALIDATION_ERROR or URL_BLOCKED
 */
export function acceptRequest(request: CaptureRequest, deps: AcceptDeps): AcceptedRequest {
  const broken = [...brokenRules(request, deps)];
  if (broken.length > 0) throw new ServiceError('VALIDATION_ERROR', broken.join('; '));
  checkWebhook(request.webhook, deps.policy);
  const options = renderOptions(request);
  const secrets = secretsOf(request);
  assertFits(options, secrets);
  const { url = '', html, responseCache, persistence } = request;
  const source: AcceptedRequest['source'] =
    html === undefined ? { kind: 'url', url } : { kind: 'html', html: decodeHtml(html) };
  const kept = persistence.enabled ? { refreshIntervalMs: persistence.refreshInterval * 1000 } : undefined;
  if (source.kind === 'url') deps.policy.checkLiteral(new URL(source.url));
  const secretsHash = secrets && hashSecrets(secrets, deps.secretsKeys);
  return {
    source,
    options,
    secrets,
    secretsHash,
    region: request.region,
    priority: request.background ? 'background' : 'interactive',
    tokenCost: tokenCost(request),
    lifetimeMs: 1000 * (persistence.enabled ? deps.limits.persistenceSeconds : request.cdnTtl),
    persistence: kept,
    webhookUrl: request.webhook?.url,
    cacheKey: responseCache.enabled
      ? { name: cacheName(source, options, request.region, { persistence: kept, secretsHash }), ttl: responseCache.ttl }
      : undefined,
  };
}

/**
 * The most bytes of options and sealed secrets, as JSON. A job has them twice, the second time in base64, and is one message, of which
 * a server of NATS takes 1 MiB.
 */
const maxOptionBytes = 400 * 1024;

/** @throws ServiceError VALIDATION_ERROR */
function assertFits(options: RenderOptions, secrets: CaptureSecrets | undefined): void {
  const secretBytes = secrets === undefined ? 0 : Buffer.byteLength(JSON.stringify(secrets)) * (4 / 3);
  if (Buffer.byteLength(JSON.stringify(options)) + secretBytes <= maxOptionBytes) return;
  throw new ServiceError(
    'VALIDATION_ERROR',
    'css, script, and the templates and attachments of pdf are too large together: make one of them shorter',
  );
}

/** What an accepted request is rendered under. */
export interface NewCapture {
  /** A UUIDv7 of this moment: the capture is accepted at its time, which names the day that its record lies under. */
  readonly uuid: string;
  readonly account: string;
  /** Id of the API key. */
  readonly key?: string | undefined;
  /** That of the account. */
  readonly isolation?: Isolation | undefined;
  /** Under which it answers for equal requests. */
  readonly cacheKey?: CacheKey | undefined;
  /** Seals its secrets, if it has any. */
  readonly secretsKeys?: SecretsKeys | undefined;
}

/**
 * The record of a capture that is about to be queued; its job is made of it.
 *
 * @param queue where it is queued, and how long it may wait there for a renderer
 */
export function newRecord(
  request: AcceptedRequest,
  { uuid, account, key, isolation, cacheKey, secretsKeys }: NewCapture,
  { region, waitMs }: { readonly region: Region; readonly waitMs: number },
): CaptureRecord {
  const { source, options, secrets, lifetimeMs, persistence, webhookUrl } = request;
  const sealed = secrets && secretsKeys?.seal(secrets, { account, uuid });
  const acceptedAt = timeOfUuid(uuid) ?? 0;
  const startBy = acceptedAt + waitMs;
  return {
    uuid,
    account,
    ...(key === undefined ? {} : { key }),
    status: 'queued',
    lane: request.priority,
    url: source.kind === 'url' ? source.url : 'about:blank',
    ...(keepsHtml(request) ? { html: uuid, htmlBytes: keptHtmlBytes(request) } : {}),
    options,
    ...(sealed === undefined ? {} : { secrets: sealed }),
    tokenCost: request.tokenCost,
    fileName: newFileName(uuid, options.format),
    askedRegion: request.region,
    region,
    acceptedAt,
    startBy,
    deadline: deadlineOf(options, startBy),
    lifetimeMs,
    expiresAt: acceptedAt + lifetimeMs,
    ...(isolation === undefined ? {} : { isolation }),
    ...(cacheKey === undefined ? {} : { cache: cacheKey }),
    ...(persistence === undefined ? {} : { persistence }),
    ...(webhookUrl === undefined ? {} : { webhook: { url: webhookUrl, state: 'waiting', attempts: 0 } }),
  };
}

/** Html that is rendered later, or again, is kept beside the record; else it goes along with the job. */
function keepsHtml({ source, priority, persistence }: AcceptedRequest): boolean {
  return source.kind === 'html' && (priority === 'background' || persistence !== undefined);
}

/** Size of the HTML that is stored until the capture ends, or with its file. */
function keptHtmlBytes(request: AcceptedRequest): number {
  const { source } = request;
  return source.kind === 'html' && keepsHtml(request) ? Buffer.byteLength(source.html) : 0;
}

/** What an accepted request adds to what its account stores; its file has a size once it is rendered. */
export function bytesAddedBy(request: AcceptedRequest): AddedBytes {
  const file = request.persistence === undefined ? { storedBytes: 1 } : { persistedBytes: 1 };
  const html = keptHtmlBytes(request);
  const kept = request.priority === 'background' ? { queuedBytes: html } : { keptHtmlBytes: html };
  return { ...file, ...kept, isFileUnknown: true };
}

/** What is wrong with a request by the rules that no schema can say. */
function* brokenRules(request: CaptureRequest, { limits, secretsKeys }: AcceptDeps): Generator<string> {
  const { url, html, viewport, responseType, background, webhook, format, persistence, waitFor, isFullPage } = request;
  if (url !== undefined && html !== undefined) yield 'url and html exclude each other: send one of them';
  if (url === undefined && html === undefined) yield 'one of url and html is required';
  if (url !== undefined && !isHttpUrl(url)) {
    yield `url must be an absolute http or https address like "https://example.com/", not ${describeValue(url)}`;
  }
  if (url !== undefined && hasUser(url)) {
    // The address is not shown: its password would go to the log with the message.
    yield 'url must have no user name or password: send them as auth: {username, password}';
  }
  if (webhook !== undefined) yield* brokenWebhookRules(webhook.url);
  const pixels = viewport.width * viewport.height * viewport.deviceScaleFactor ** 2;
  if (pixels > maxViewportPixels) {
    yield `viewport must hold at most ${millions(maxViewportPixels)} megapixels (width × height × deviceScaleFactor²), not ${millions(pixels)}`;
  }
  if (responseType === 'file' && background)
    yield 'responseType file needs background false: the file is not there yet';
  if (webhook !== undefined && !background) yield 'webhook needs background true';
  yield* brokenVisitorRules(request);
  yield* brokenPdfRules(request);
  if (waitFor !== undefined && (waitFor.selector === undefined) === (waitFor.text === undefined)) {
    yield 'waitFor needs exactly one of waitFor.selector and waitFor.text';
  }
  yield* brokenSelectors(request);
  if (request.selector !== undefined && request.clip !== undefined) {
    yield 'selector and clip exclude each other: send one of them';
  }
  for (const name of ['selector', 'clip'] as const) {
    if (request[name] === undefined) continue;
    if (isFullPage) yield `${name} needs isFullPage false: it is captured wherever it is on the page`;
    if (format === 'pdf') yield `${name} needs format png, jpeg or webp, not pdf`;
  }
  if (request.omitBackground === true && format !== 'png' && format !== 'webp') {
    yield `omitBackground needs format png or webp, not ${format}`;
  }
  const { resize, failOn } = request;
  if (failOn?.blank === true && format === 'pdf') yield 'failOn.blank needs format png, jpeg or webp, not pdf';
  if (resize !== undefined && resize.width === undefined && resize.height === undefined) {
    yield 'resize needs resize.width or resize.height';
  }
  if (resize !== undefined && format === 'pdf') yield 'resize needs format png, jpeg or webp, not pdf';
  if (request.elementPadding !== undefined && request.selector === undefined) yield 'elementPadding needs selector';
  yield* brokenSecretRules(request, { canSeal: secretsKeys !== undefined });
  const { refreshInterval: seconds } = persistence;
  const { minRefreshSeconds } = limits;
  if (seconds !== 0 && seconds < minRefreshSeconds) {
    yield `persistence.refreshInterval must be 0 (never) or at least ${minRefreshSeconds} seconds, not ${seconds}`;
  }
}

/** What is wrong with the address of a webhook, in the field `name`. */
export function* brokenWebhookRules(url: string, name = 'webhook.url'): Generator<string> {
  if (!isHttpUrl(url)) yield `${name} must be an absolute http or https address, not ${describeValue(url)}`;
  if (hasUser(url)) {
    // It is not shown: its password would go to the log with the message.
    yield `${name} must not carry a user or a password; verify the signature of each event instead (GET /webhooks/secret)`;
  }
}

const millions = (number: number) => Number((number / 1e6).toFixed(1));

function hasUser(address: string): boolean {
  if (!isHttpUrl(address)) return false;
  const { username, password } = new URL(address);
  return username !== '' || password !== '';
}

/** The URL parser is lenient (`http:host`, leading blanks): an address here has its scheme and its two slashes. */
function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/\\]/i.test(text) && URL.canParse(text);
}

/**
 * Refuses a webhook whose address no notice could ever go to. Names are resolved, and checked again, at each delivery.
 *
 * @throws ServiceError URL_BLOCKED, with a message that tells it from the address that is captured
 */
export function checkWebhook(
  webhook: { readonly url: string } | undefined,
  policy: Pick<EgressPolicy, 'checkLiteral'>,
  name = 'webhook.url',
): void {
  if (webhook === undefined) return;
  try {
    policy.checkLiteral(new URL(webhook.url));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(error.code, `${name}: ${error.message}`, { causedBy: error.causedBy, cause: error.cause });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Standard or URL-safe, not both at once; the padding is optional. */
const base64 = /^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/;

/**
 * The html as text: as it is when it holds a `<`, else out of base64 (standard or URL-safe, line breaks allowed) of
 * UTF-8.
 *
 * @throws ServiceError VALIDATION_ERROR when it is neither
 */
export function decodeHtml(html: string): string {
  if (html.includes('<')) return html;
  const packed = html.replaceAll(/[\t\n\f\r ]/g, '');
  // Before anything looks for the padding: a search for any number of `=` at the end takes the square of their number.
  if (!base64.test(packed)) throw notHtml();
  const bare = packed.replace(/={1,2}$/, '');
  // Of four letters, one alone holds no byte; padding, where there is any, fills up to four.
  const wellFormed = bare.length % 4 !== 1 && (bare === packed || packed.length % 4 === 0);
  if (!wellFormed) throw notHtml();
  try {
    return utf8.decode(Buffer.from(packed, 'base64'));
  } catch {
    throw notHtml();
  }
}

function notHtml(): ServiceError {
  return new ServiceError(
    'VALIDATION_ERROR',
    'html must be HTML (it contains "<") or base64 (standard or URL-safe) of HTML in UTF-8',
  );
}
