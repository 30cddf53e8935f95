import { createHmac, timingSafeEqual } from 'node:crypto';

/** A decoded parameter of a link. */
export type LinkParameter = readonly [name: string, value: string];

/** Prefix of the signed text, so that a signature of a link is not valid for any other purpose. */
const label = 'GET /capture?';

/** Encodes the parameters and sorts them by name, then by value. */
const inOrder = (parameters: readonly LinkParameter[]) =>
  parameters
    .map((parameter) => ({ parameter, name: encode(parameter[0]), value: encode(parameter[1]) }))
    .toSorted((a, b) => compare(a.name, b.name) || compare(a.value, b.value));

/** Returns the parameters in the order in which they are signed. */
export const inSignedOrder = (parameters: readonly LinkParameter[]): readonly LinkParameter[] =>
  inOrder(parameters).map(({ parameter }) => parameter);

/**
 * Returns the signed text of a link: all parameters except `signature`, with names and values percent-encoded.
 * docs/capture-links.md documents it for clients.
 */
export function canonicalLink(parameters: readonly LinkParameter[]): string {
  const signed = inOrder(parameters.filter(([name]) => name !== 'signature'));
  return label + signed.map(({ name, value }) => `${name}=${value}`).join('&');
}

/** Returns whether the signature (HMAC-SHA256 in lower-case hex) was made with one of the secrets. Compares in constant time. */
export function isSignedWith(
  secrets: readonly string[],
  parameters: readonly LinkParameter[],
  signature: string,
): boolean {
  const text = canonicalLink(parameters);
  const given = Buffer.from(signature);
  return secrets
    .map((secret) => Buffer.from(createHmac('sha256', secret).update(text).digest('hex')))
    .some((expected) => given.length === expected.length && timingSafeEqual(given, expected));
}

/** Percent-encodes all but the unreserved characters of RFC 3986; encodeURIComponent leaves five others unencoded. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Compares by code unit. Encoded text is ASCII, so this is the order of the bytes. */
const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
