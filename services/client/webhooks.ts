import type { WebhookEvent } from './types.ts';

/** A webhook request that failed the verification. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/** The headers of a request: those of fetch, or those of Node with names in lower case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyWebhookOptions {
  /**
   * Maximum difference in seconds between the time of the delivery attempt and now. The time may be earlier or later than now. Default:
   * 300.
   */
  readonly toleranceSeconds?: number;
}

/**
 * Verifies that a webhook request comes from the service, according to Standard Webhooks.
 *
 * An event can be delivered more than once, each time with the same header `webhook-id`.
 *
 * @param body the body as received: an object that was parsed and serialized again has another signature
 * @param secrets the account's webhook secret (GET /webhooks/secret), or several, one of which must have signed the event
 * @returns the event
 * @throws WebhookVerificationError if the signature is invalid, or the time of the delivery attempt is outside the
 * tolerance
 */
export async function verifyWebhook(
  body: string | Uint8Array<ArrayBuffer>,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyWebhookOptions = {},
): Promise<WebhookEvent> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  if (!/^\d{1,12}$/.test(timestamp)) refuse('The header webhook-timestamp is not a time in Unix seconds.');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) {
    refuse(`The time of the delivery attempt is more than ${toleranceSeconds} seconds from now.`);
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const candidates = signatures
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => fromBase64(signature.slice('v1,'.length)))
    .filter((signature) => signature !== null);
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets) {
    const key = await importKey(secret);
    for (const signature of candidates) {
      // Compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return eventOf(bytes);
    }
  }
  return refuse('No signature of the event was made with a given secret.');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value !== 'string' || value === '') refuse(`The header ${name} is missing.`);
  return value;
}

/** @throws TypeError if the secret is invalid, which is an error of the receiver and not of the event */
async function importKey(secret: string): Promise<CryptoKey> {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''));
  if (bytes === null || bytes.length === 0) {
    throw new TypeError('A webhook secret is "whsec_" followed by base64, as GET /webhooks/secret returns it.');
  }
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function eventOf(bytes: Uint8Array): WebhookEvent {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as WebhookEvent;
  } catch (error) {
    throw new WebhookVerificationError('The event is not JSON.', { cause: error });
  }
}

function refuse(message: string): never {
  throw new WebhookVerificationError(message);
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** Returns null if the text is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
