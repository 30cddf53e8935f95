import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { BrowserLostError, hasLostProxy } from '../browser/page.ts';
import type { ProxySession } from '../egress/proxy.ts';

/** Chromium's error names, and the sentence that the client reads. `{host}` is replaced. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/NAME_NOT_RESOLVED|NAME_RESOLUTION/, 'The name {host} could not be resolved.'],
  [/CONNECTION_REFUSED/, 'The connection to {host} was refused.'],
  [/CONNECTION_TIMED_OUT|TIMED_OUT/, '{host} did not answer in time.'],
  [/CONNECTION_(RESET|CLOSED|ABORTED)|SOCKET_NOT_CONNECTED/, '{host} closed the connection before it answered.'],
  [/ADDRESS_UNREACHABLE|INTERNET_DISCONNECTED|NETWORK/, '{host} cannot be reached.'],
  [/CERT_DATE_INVALID/, 'The TLS certificate of {host} has expired or is not valid yet.'],
  [/CERT_COMMON_NAME_INVALID/, 'The TLS certificate of {host} is for another name.'],
  [/CERT_AUTHORITY_INVALID/, 'The TLS certificate of {host} comes from an authority that is not trusted.'],
  [/CERT_/, 'The TLS certificate of {host} is not valid.'],
  [/SSL|TLS/, 'No TLS connection to {host} could be set up.'],
  [/TOO_MANY_REDIRECTS/, 'The address redirects too many times.'],
  [
    /UNSAFE_REDIRECT|DISALLOWED_URL_SCHEME|UNKNOWN_URL_SCHEME/,
    'The address redirects to one that is not http or https.',
  ],
  [/EMPTY_RESPONSE/, '{host} closed the connection without an answer.'],
  [/UNSAFE_PORT/, 'Browsers refuse the port of this address.'],
  [/INVALID_URL|INVALID_ARGUMENT/, 'The address is not valid.'],
  [
    /CONTENT_DECODING|CONTENT_LENGTH|CHUNKED|INVALID_(HTTP_)?RESPONSE|HTTP2|QUIC|RESPONSE_HEADERS|HTTP_RESPONSE_CODE/,
    'The response of {host} is not valid HTTP.',
  ],
  [/BLOCKED_BY_(RESPONSE|CSP)/, '{host} does not allow the browser to show this page.'],
  [/PROXY|TUNNEL/, '{host} cannot be reached.'],
];

/**
 * Returns the error for the client whose navigation failed.
 *
 * @param url the URL that was requested last, after redirects
 * @param netError Chromium's error, e.g. `net::ERR_CONNECTION_REFUSED`
 */
export function navigationFailure(
  url: string,
  netError: string,
  proxySession: ProxySession,
  cause?: unknown,
): ServiceError {
  if (hasLostProxy(netError)) {
    const lost = new BrowserLostError('the browser cannot reach its proxy', { cause });
    return new ServiceError('CAPTURE_FAILED', 'The browser lost its connection. Send the request again.', {
      causedBy: 'service',
      cause: lost,
    });
  }
  const host = hostOf(url);
  const options = { cause: cause ?? new Error(netError) };
  const failed = (message: string) =>
    new ServiceError('NAVIGATION_FAILED', message.replaceAll('{host}', host), options);
  switch (proxySession.failureOf(url)) {
    case 'blocked':
      return urlBlocked(url, options);
    case 'unresolved':
      return failed('The name {host} could not be resolved.');
    case 'unreachable':
      return failed('The connection to {host} was refused, or {host} cannot be reached.');
    case 'connect-timeout':
      return failed('{host} did not accept the connection in time.');
    case 'response-timeout':
      return failed('{host} did not answer in time.');
    case 'upstream-unreachable':
      return upstreamFailed('cannot be reached', options);
    case 'upstream-authentication':
      return upstreamFailed('refuses the credentials of this service', options);
    case 'upstream-refused':
      return failed('The upstream proxy of this service refuses to connect to {host}.');
    case 'upstream-timeout':
      return failed('The upstream proxy of this service did not connect to {host} in time.');
    case 'limit':
      return failed('The page exceeded the limit of connections or data of a capture.');
    case 'closed':
    case undefined:
  }
  const sentence = sentences.find(([pattern]) => pattern.test(netError))?.[1];
  return failed(sentence ?? 'The page at {host} could not be opened.');
}

/** Returns the error for a fault of the operator's network, which affects all pages. */
function upstreamFailed(what: string, { cause }: { readonly cause: unknown }): ServiceError {
  const message = `The page could not be opened, because the upstream proxy of this service ${what}.`;
  return new ServiceError('CAPTURE_FAILED', message, { causedBy: 'service', cause });
}

export function urlBlocked(url: string, options?: { cause: unknown }): ServiceError {
  return new ServiceError(
    'URL_BLOCKED',
    `The address leads to ${hostOf(url)}, which the egress policy of this service refuses.`,
    options,
  );
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'the address';
}
