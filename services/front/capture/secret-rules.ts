import { randomBytes } from 'node:crypto';
import type { CaptureRequest, RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { maxCodeBytes } from '@webcapture/shared/api/option-schemas.ts';
import { type SecretOptionName, secretOptionNames } from '@webcapture/shared/api/option-table.ts';
import {
  type CaptureSecrets,
  maxCredentialBytes,
  maxSecretsBytes,
  namesOfSecrets,
  secretLabel,
} from '@webcapture/shared/api/secret-options.ts';
import { valuesOfSteps } from '@webcapture/shared/api/steps.ts';
import { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { canonical } from './cache-key.ts';

type SecretFields = Pick<CaptureRequest, SecretOptionName | 'pdf' | 'steps'>;
type SecretRequest = SecretFields & Pick<CaptureRequest, 'headersFor' | 'background' | 'persistence' | 'url'>;

/** Headers that only the browser can set correctly. Each has the option to use instead, or the reason. */
const refusedHeaders = new Map([
  ['host', 'it is determined by url'],
  ['cookie', 'use cookies'],
  ['user-agent', 'use userAgent'],
  ['accept-language', 'use locale'],
  ['content-length', 'the browser sends it'],
  ['connection', 'it controls the connection'],
  ['keep-alive', 'it controls the connection'],
  ['te', 'it controls the connection'],
  ['trailer', 'it controls the connection'],
  ['transfer-encoding', 'it controls the connection'],
  ['upgrade', 'it controls the connection'],
  ['expect', 'it controls the connection'],
]);

/** RFC 9110, sections 5.6.2 and 5.5, restricted to ASCII, because servers decode other characters differently. */
const headerName = /^[!#$%&'*+.^_`|~\w-]{1,256}$/;
const headerValue = /^(?:[!-~](?:[\t -~]*[!-~])?)?$/;

/** RFC 6265, section 4.1.1. */
const cookieName = /^[!#$%&'*+.^_`|~\w-]+$/;
/** RFC 6265, section 5.2: browsers keep more than servers should send, for example quotes and spaces. */
const cookieValue = /^(?! )[^;\p{Cc}\p{Cs}]*(?<! )$/u;
const cookieDomain = /^\.?[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i;

/** Yields the violated rules of secrets that a schema cannot express. The messages contain no values. */
export function* brokenSecretRules(
  request: SecretRequest,
  { canSeal }: { readonly canSeal: boolean },
): Generator<string> {
  const { headers = {}, headersFor = [], cookies = [], auth, css, script } = request;
  yield* brokenHeaders(headers);
  for (const [index, origin] of headersFor.entries()) {
    if (originOf(origin) === undefined) {
      yield `headersFor.${index} must be an http or https origin like "https://cdn.example.com", without a path`;
    }
  }
  for (const [index, cookie] of cookies.entries()) yield* brokenCookie(cookie, `cookies.${index}`, request);
  if (auth?.username.includes(':')) yield 'auth.username must not contain a colon';
  for (const [name, code] of Object.entries({ css, script })) {
    if (code !== undefined && Buffer.byteLength(code) > maxCodeBytes) {
      yield `${name} must have at most ${maxCodeBytes} bytes in UTF-8`;
    }
  }
  const secrets = secretsOf(request);
  if (secrets === undefined) return;
  const credentials = JSON.stringify([headers, cookies, auth ?? null]);
  if (Buffer.byteLength(credentials) > maxCredentialBytes) {
    yield `headers, cookies and auth must have at most ${maxCredentialBytes} bytes together, as JSON`;
  }
  if (Buffer.byteLength(JSON.stringify(secrets)) > maxSecretsBytes) {
    yield `${secretOptionNames.join(', ')}, pdf.encryption and the values of steps must have at most ${maxSecretsBytes} bytes together, as JSON`;
  }
  const kept = request.background ? 'background' : request.persistence.enabled ? 'persistence' : undefined;
  if (!canSeal && kept !== undefined) {
    const names = (Object.keys(secrets) as (keyof CaptureSecrets)[]).map(secretLabel);
    yield `${names.join(', ')} cannot be combined with ${kept} here: they would have to be stored, but the operator has set no WEBCAPTURE_SECRETS_KEY to seal them`;
  }
}

function* brokenHeaders(headers: Readonly<Record<string, string>>): Generator<string> {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name)) {
      // The message shows only the start, in case the name contains a value by mistake.
      const [start = ''] = /^[\w-]{0,60}/.exec(name) ?? [];
      yield `headers: a name that begins with ${JSON.stringify(start)} is not a valid header name`;
      continue;
    }
    const lower = name.toLowerCase();
    const why = refusedHeaders.get(lower) ?? (lower.startsWith('proxy-') ? 'it controls the connection' : undefined);
    if (why !== undefined) yield `headers.${name} cannot be set: ${why}`;
    if (seen.has(lower)) yield `headers.${name} is given twice`;
    seen.add(lower);
    if (!headerValue.test(value)) {
      yield `headers.${name} must have visible ASCII characters, and spaces and tabs between them`;
    }
  }
}

type Cookie = NonNullable<CaptureSecrets['cookies']>[number];

function* brokenCookie(cookie: Cookie, path: string, { url }: SecretRequest): Generator<string> {
  const { name, value, domain, secure, sameSite } = cookie;
  if (!cookieName.test(name)) yield `${path}.name must be a valid cookie name (RFC 6265)`;
  if (!cookieValue.test(value)) {
    yield `${path}.value must not contain semicolons or control characters, or begin or end with a space, because no browser keeps such a cookie`;
  }
  if (cookie.path !== undefined && !/^\/[ -:<-~]*$/.test(cookie.path)) {
    yield `${path}.path must begin with a slash and contain only ASCII characters except semicolons`;
  }
  if (cookie.url !== undefined) {
    if (domain !== undefined || cookie.path !== undefined) yield `${path}: url excludes domain and path`;
    if (originOf(cookie.url, { path: true }) === undefined)
      yield `${path}.url must be an absolute http or https address`;
  } else if (domain === undefined && url === undefined) {
    yield `${path} needs url or domain: supplied html has no host`;
  }
  if (domain !== undefined && !(cookieDomain.test(domain) && URL.parse(`http://${domain.replace(/^\./, '')}`) !== null))
    yield `${path}.domain must be a host name`;
  if (sameSite === 'None' && secure !== true) yield `${path}: sameSite None needs secure true`;
  // RFC 6265bis, section 4.1.3.
  if (/^__Secure-/i.test(name) && secure !== true) yield `${path}: a name that begins with __Secure- needs secure true`;
  if (/^__Host-/i.test(name) && (secure !== true || domain !== undefined || (cookie.path ?? '/') !== '/')) {
    yield `${path}: a name that begins with __Host- needs secure true, no domain, and the path /`;
  }
}

/** Returns the origin of a URL; undefined if it is invalid, or, without `path`, if it has a path. */
function originOf(text: string, { path = false } = {}): string | undefined {
  if (!/^https?:\/\/[^/\\]/i.test(text)) return undefined;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  if (url.hostname.includes('*')) return undefined;
  return path || (url.pathname === '/' && url.search === '' && url.hash === '') ? url.origin : undefined;
}

/** Returns the secrets of a request; undefined if it has none. */
export function secretsOf(request: SecretFields): CaptureSecrets | undefined {
  const names = secretOptionNames.filter((name) => request[name] !== undefined);
  const pdfEncryption = request.pdf?.encryption;
  const stepValues = valuesOfSteps(request.steps ?? []);
  if (names.length === 0 && pdfEncryption === undefined && stepValues.length === 0) return undefined;
  return {
    ...Object.fromEntries(names.map((name) => [name, request[name]])),
    ...(pdfEncryption === undefined ? {} : { pdfEncryption }),
    ...(stepValues.length === 0 ? {} : { stepValues }),
  };
}

/** Returns the public part of the secrets: their names, and the origins that receive headers, in canonical form. */
export function redactedSecrets(
  request: SecretFields & Pick<CaptureRequest, 'headersFor'>,
): Pick<RenderOptions, 'secrets' | 'headersFor'> {
  const secrets = secretsOf(request);
  const { headersFor } = request;
  return {
    ...(headersFor === undefined
      ? {}
      : { headersFor: headersFor.map((origin) => originOf(origin) ?? origin).toSorted() }),
    ...(secrets === undefined ? {} : { secrets: namesOfSecrets(secrets) }),
  };
}

/** Key of a front that has no configured key. Only the same process can find its cached captures with secrets. */
const randomKeys = new SecretsKeys([randomBytes(32).toString('hex')]);

/** Returns a keyed hash that distinguishes secrets without revealing them. */
export function hashSecrets(secrets: CaptureSecrets, keys: SecretsKeys = randomKeys): string {
  return keys.hash(canonical(secrets));
}
