import {
  type CaptureRequest,
  maxViewportPixels,
  type RenderOptions,
  tokenCost,
} from '@webcapture/shared/api/capture-request.ts';
import type { AccountRecord } from '@webcapture/shared/accounts/accounts.ts';
import { refusalToIgnoreTlsErrors } from '@webcapture/shared/accounts/tls-errors.ts';
import type { AddedBytes } from '@webcapture/shared/accounts/byte-limits.ts';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import {
  type Need,
  type OptionName,
  optionNames,
  optionSchemas,
  optionTable,
} from '@webcapture/shared/api/option-table.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import type { Isolation } from '@webcapture/shared/api/account.ts';
import type { CacheKey, CaptureRecord, Login, Persistence } from '@webcapture/shared/captures/capture-record.ts';
import type { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { deadlineOf } from '@webcapture/shared/captures/times.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { Priority } from '@webcapture/shared/nats/streams.ts';
import { maxSealedSessionBytes } from '@webcapture/shared/queue/outcomes.ts';
import { maxOptionBytes } from '@webcapture/shared/queue/tickets.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { describeValue } from '../validation/explain-errors.ts';
import { cacheName } from './cache-key.ts';
import { brokenExtractRules } from './extract-rules.ts';
import { hasUser, isHttpUrl } from './http-url.ts';
import { brokenPdfRules } from './pdf-rules.ts';
import { brokenPersistenceRules, persistenceOf } from './persistence-rules.ts';
import { renderOptions } from './render-options.ts';
import { brokenSelectors } from './selectors.ts';
import { brokenSecretRules, hashSecrets, secretsOf } from './secret-rules.ts';
import { brokenStepRules } from './step-rules.ts';
import { brokenVisitorRules } from './visitor-rules.ts';

/** A validated capture request. */
export interface AcceptedRequest {
  readonly source: { readonly kind: 'url'; readonly url: string } | { readonly kind: 'html'; readonly html: string };
  readonly options: RenderOptions;
  /** Secrets in plain text. Only the job may contain them, and only if no key to seal them is configured. */
  readonly secrets?: CaptureSecrets | undefined;
  /** Keyed hash of the secrets. Equal secrets have equal hashes. */
  readonly secretsHash?: string | undefined;
  readonly region: 'auto' | Region;
  readonly priority: Priority;
  readonly tokenCost: number;
  /** Time for which the file is kept. */
  readonly lifetimeMs: number;
  /** Undefined if long-term storage was not requested. */
  readonly persistence: Persistence | undefined;
  readonly webhookUrl: string | undefined;
  /** The new session. If undefined, the capture does not log in for one. */
  readonly login?: Login | undefined;
  /** Undefined if the cache was not requested. */
  readonly cacheKey?: CacheKey | undefined;
}

export interface AcceptDeps {
  readonly limits: RequestLimits;
  /** Keys that seal secrets. Without them, secrets cannot be stored. */
  readonly secretsKeys?: SecretsKeys | undefined;
  readonly policy: EgressPolicy;
}

/** Limits that the operator configures. */
interface RequestLimits {
  readonly minRefreshSeconds: number;
  /** Time for which persisted files are kept. */
  readonly persistenceSeconds: number;
  /** Whether the captures of accounts with the permission may ignore TLS errors. */
  readonly allowIgnoreTlsErrors: boolean;
}

/**
 * Validates what the schema cannot express: rules between fields, the encoding of the html, and whether the egress policy allows the
 * addresses.
 *
 * @throws ServiceError VALIDATION_ERROR or URL_BLOCKED
 */
export function acceptRequest(request: CaptureRequest, deps: AcceptDeps): AcceptedRequest {
  const broken = [...ruleViolations(request, deps)];
  if (broken.length > 0) throw new ServiceError('VALIDATION_ERROR', broken.join('; '));
  checkWebhook(request.webhook, deps.policy);
  const options = renderOptions(request);
  const secrets = secretsOf(request);
  const { url = '', html, responseCache, persistence } = request;
  const source: AcceptedRequest['source'] =
    html === undefined ? { kind: 'url', url } : { kind: 'html', html: decodeHtml(html) };
  const kept = persistence.enabled ? persistenceOf(persistence) : undefined;
  assertFits(options, secrets, kept);
  if (source.kind === 'url') deps.policy.checkLiteral(new URL(source.url));
  for (const [index, { goto }] of (request.steps ?? []).entries()) {
    if (goto !== undefined) checkAddress(goto, deps.policy, `steps.${index}.goto`);
  }
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
 * Checks that the account may use the options that need a permission of the operator.
 *
 * @throws ServiceError VALIDATION_ERROR, because POST /capture does not use 403
 */
export function assertPermitted(
  options: RenderOptions,
  account: AccountRecord,
  { allowIgnoreTlsErrors }: Pick<RequestLimits, 'allowIgnoreTlsErrors'>,
): void {
  const refusal = refusalToIgnoreTlsErrors(options, account, allowIgnoreTlsErrors);
  if (refusal !== null) throw new ServiceError('VALIDATION_ERROR', refusal);
}

/** Part of `maxOptionBytes` that a sealed session takes at most: a job contains it once. */
const sessionShareBytes = Math.ceil(maxSealedSessionBytes / (1 + 4 / 3));

/** @throws ServiceError VALIDATION_ERROR */
function assertFits(
  options: RenderOptions,
  secrets: CaptureSecrets | undefined,
  persistence: Persistence | undefined,
): void {
  const secretBytes = secrets === undefined ? 0 : Buffer.byteLength(JSON.stringify(secrets)) * (4 / 3);
  const maxBytes = options.session === undefined ? maxOptionBytes : maxOptionBytes - sessionShareBytes;
  if (Buffer.byteLength(JSON.stringify([options, persistence])) + secretBytes <= maxBytes) return;
  throw new ServiceError(
    'VALIDATION_ERROR',
    `css, script, the values of steps, selectors, and the templates and attachments of pdf are too large together: shorten one of them. All options may have ${maxBytes} bytes as JSON, with the secrets in base64`,
  );
}

/** Properties of a new capture besides its request. */
export interface NewCapture {
  /** A UUIDv7 of the current time, which is the time of acceptance and determines the day under which the record is stored. */
  readonly uuid: string;
  readonly account: string;
  /** Id of the API key. */
  readonly key?: string | undefined;
  /** Isolation of the account. */
  readonly isolation?: Isolation | undefined;
  /** Cache key under which the capture is offered to equal requests. */
  readonly cacheKey?: CacheKey | undefined;
  /** UUID of the batch to which the capture belongs. */
  readonly batch?: string | undefined;
  /** Keys that seal the secrets. */
  readonly secretsKeys?: SecretsKeys | undefined;
}

/**
 * Creates the record of a capture that is about to be queued. The job is made from the record.
 *
 * @param queue region of the queue, and the maximum time to wait there for a renderer
 */
export function newRecord(
  request: AcceptedRequest,
  { uuid, account, key, isolation, cacheKey, batch, secretsKeys }: NewCapture,
  { region, waitMs }: { readonly region: Region; readonly waitMs: number },
): CaptureRecord {
  const { source, options, secrets, lifetimeMs, persistence, webhookUrl, login } = request;
  const sealed = secrets && secretsKeys?.seal(secrets, { account, uuid });
  const acceptedAt = timeOfUuid(uuid) ?? 0;
  const startBy = acceptedAt + waitMs;
  return {
    uuid,
    account,
    ...(key === undefined ? {} : { key }),
    ...(batch === undefined ? {} : { batch }),
    status: 'queued',
    priority: request.priority,
    url: source.kind === 'url' ? source.url : 'about:blank',
    ...(keepsHtml(request) ? { html: uuid, htmlBytes: keptHtmlBytes(request) } : {}),
    options,
    ...(sealed === undefined ? {} : { secrets: sealed }),
    ...(login === undefined ? {} : { login }),
    tokenCost: request.tokenCost,
    fileName: newFileName(uuid, options.format),
    requestedRegion: request.region,
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

/** Whether the HTML is stored with the record, because it is rendered later or again. Otherwise the HTML is a part of the job. */
function keepsHtml({ source, priority, persistence }: AcceptedRequest): boolean {
  return source.kind === 'html' && (priority === 'background' || persistence !== undefined);
}

/** Returns the size of the HTML that is stored until the capture ends, or as long as its file. */
function keptHtmlBytes(request: AcceptedRequest): number {
  const { source } = request;
  return source.kind === 'html' && keepsHtml(request) ? Buffer.byteLength(source.html) : 0;
}

/** Returns the bytes that an accepted request adds to its account. The size of the file is known only after rendering. */
export function bytesAddedBy(request: AcceptedRequest): AddedBytes {
  const file = request.persistence === undefined ? { storedBytes: 1 } : { persistedBytes: 1 };
  const html = keptHtmlBytes(request);
  const kept = request.priority === 'background' ? { queuedBytes: html } : { keptHtmlBytes: html };
  return { ...file, ...kept, isFileUnknown: true };
}

/** Yields the violated rules that a schema cannot express. */
function* ruleViolations(request: CaptureRequest, { limits, secretsKeys }: AcceptDeps): Generator<string> {
  const { url, html, viewport, responseType, background, webhook, waitFor, resize, freeze } = request;
  yield* brokenNeeds(request);
  if (url === undefined && html === undefined) yield 'one of url and html is required';
  if (url !== undefined && !isHttpUrl(url)) {
    yield `url must be an absolute http or https address like "https://example.com/", not ${describeValue(url)}`;
  }
  if (url !== undefined && hasUser(url)) {
    // The message omits the address, because messages are logged and the address contains a password.
    yield 'url must have no user name or password: send them as auth: {username, password}';
  }
  if (webhook !== undefined) yield* brokenWebhookRules(webhook.url);
  const pixels = viewport.width * viewport.height * viewport.deviceScaleFactor ** 2;
  if (pixels > maxViewportPixels) {
    yield `viewport must hold at most ${millions(maxViewportPixels)} megapixels (width × height × deviceScaleFactor²), not ${millions(pixels)}`;
  }
  if (responseType === 'file' && background)
    yield 'responseType file needs background false: the file does not exist yet';
  yield* brokenVisitorRules(request);
  yield* brokenPdfRules(request);
  if (waitFor !== undefined && (waitFor.selector === undefined) === (waitFor.text === undefined)) {
    yield 'waitFor needs exactly one of waitFor.selector and waitFor.text';
  }
  yield* brokenStepRules(request);
  yield* brokenSelectors(request);
  yield* brokenExtractRules(request);
  if (freeze !== undefined && Number.isNaN(Date.parse(freeze.time))) {
    yield `freeze.time must be a date and time like "2026-01-01T00:00:00Z", not ${describeValue(freeze.time)}`;
  }
  if (resize !== undefined && resize.width === undefined && resize.height === undefined) {
    yield 'resize needs resize.width or resize.height';
  }
  yield* brokenSecretRules(request, { canSeal: secretsKeys !== undefined });
  yield* brokenPersistenceRules(request, limits);
}

/** Yields the violated rules of the option table. */
function* brokenNeeds(request: CaptureRequest): Generator<string> {
  for (const name of optionNames) {
    if (request[name] === undefined) continue;
    const { needs = [], excludes = [] } = optionTable[name];
    for (const other of excludes) {
      if (request[other as OptionName] !== undefined) yield `${name}: send either ${name} or ${other}, not both`;
    }
    for (const need of needs) yield* brokenNeed(name, need, request[need.option as OptionName]);
  }
}

function* brokenNeed(name: string, { option, values, because }: Need, sent: unknown): Generator<string> {
  const value = sent ?? (optionSchemas[option as OptionName] as JsonSchema).default;
  if (values === undefined ? value !== undefined : values.includes(value as string | boolean)) return;
  const wanted = values === undefined ? '' : ` ${listOf.format(values.map(String))}`;
  const reason = because === undefined ? '' : `: ${because}`;
  yield `${name} needs ${option}${wanted}${reason}${typeof value === 'string' ? `, not ${value}` : ''}`;
}

const listOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** Yields the rules that the address of a webhook violates. `name` is the name of its field in the messages. */
export function* brokenWebhookRules(url: string, name = 'webhook.url'): Generator<string> {
  if (!isHttpUrl(url)) yield `${name} must be an absolute http or https address, not ${describeValue(url)}`;
  if (hasUser(url)) {
    // The message omits the address, because messages are logged and the address contains a password.
    yield `${name} must not contain a user name or password; verify the signature of each event instead (GET /webhooks/secret)`;
  }
}

const millions = (number: number) => Number((number / 1e6).toFixed(1));

/**
 * Refuses webhooks whose address the egress policy blocks. Host names are resolved and checked at each delivery.
 *
 * @throws ServiceError URL_BLOCKED, with a message that names the field
 */
export function checkWebhook(
  webhook: { readonly url: string } | undefined,
  policy: EgressPolicy,
  name = 'webhook.url',
): void {
  if (webhook !== undefined) checkAddress(webhook.url, policy, name);
}

/** @throws ServiceError URL_BLOCKED, with a message that names the field */
function checkAddress(url: string, policy: EgressPolicy, name: string): void {
  try {
    policy.checkLiteral(new URL(url));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(error.code, `${name}: ${error.message}`, { causedBy: error.causedBy, cause: error.cause });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Standard or URL-safe alphabet, but not both; the padding is optional. */
const base64 = /^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/;

/**
 * Returns the html as text. A value with a `<` is returned unchanged; any other value is decoded from base64 (standard
 * or URL-safe, line breaks allowed) of UTF-8.
 *
 * @throws ServiceError VALIDATION_ERROR if the value is neither
 */
export function decodeHtml(html: string): string {
  if (html.includes('<')) return html;
  const packed = html.replaceAll(/[\t\n\f\r ]/g, '');
  // This check precedes the removal of the padding, because a search for any number of `=` at the end takes quadratic time.
  if (!base64.test(packed)) throw notHtml();
  const bare = packed.replace(/={1,2}$/, '');
  // A group of one character encodes no byte. Padding, if present, must complete the last group of four.
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
    'html must be HTML, which contains "<", or base64 (standard or URL-safe) of HTML in UTF-8',
  );
}
