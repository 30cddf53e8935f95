import { expect, test } from 'vitest';
import type { ProxySession } from '../../../services/renderer/egress/proxy.ts';
import { BrowserLostError } from '../../../services/renderer/browser/page.ts';
import { navigationFailure, urlBlocked } from '../../../services/renderer/page/navigation-failure.ts';

type Failure = ReturnType<ProxySession['failureOf']>;

const url = 'https://a.test:8443/path';
const failureOf = (netError: string, failure?: Failure, cause?: unknown) =>
  navigationFailure(
    url,
    netError,
    { failureOf: (asked: string) => (asked === url ? failure : 'limit') } as ProxySession,
    cause,
  );

test.each<[name: string, message: string]>([
  ['NAME_NOT_RESOLVED', 'The name a.test:8443 could not be resolved.'],
  ['NAME_RESOLUTION_FAILED', 'The name a.test:8443 could not be resolved.'],
  ['CONNECTION_REFUSED', 'The connection to a.test:8443 was refused.'],
  ['CONNECTION_TIMED_OUT', 'a.test:8443 did not answer in time.'],
  ['TIMED_OUT', 'a.test:8443 did not answer in time.'],
  ['CONNECTION_RESET', 'a.test:8443 closed the connection before it answered.'],
  ['CONNECTION_CLOSED', 'a.test:8443 closed the connection before it answered.'],
  ['CONNECTION_ABORTED', 'a.test:8443 closed the connection before it answered.'],
  ['SOCKET_NOT_CONNECTED', 'a.test:8443 closed the connection before it answered.'],
  ['ADDRESS_UNREACHABLE', 'a.test:8443 cannot be reached.'],
  ['INTERNET_DISCONNECTED', 'a.test:8443 cannot be reached.'],
  ['NETWORK_CHANGED', 'a.test:8443 cannot be reached.'],
  ['CERT_DATE_INVALID', 'The TLS certificate of a.test:8443 has expired or is not valid yet.'],
  ['CERT_COMMON_NAME_INVALID', 'The TLS certificate of a.test:8443 is for another name.'],
  ['CERT_AUTHORITY_INVALID', 'The TLS certificate of a.test:8443 comes from an authority that is not trusted.'],
  ['CERT_REVOKED', 'The TLS certificate of a.test:8443 is not valid.'],
  ['SSL_PROTOCOL_ERROR', 'No TLS connection to a.test:8443 could be set up.'],
  ['BAD_TLS', 'No TLS connection to a.test:8443 could be set up.'],
  ['TOO_MANY_REDIRECTS', 'The address redirects too many times.'],
  ['UNSAFE_REDIRECT', 'The address redirects to one that is not http or https.'],
  ['DISALLOWED_URL_SCHEME', 'The address redirects to one that is not http or https.'],
  ['UNKNOWN_URL_SCHEME', 'The address redirects to one that is not http or https.'],
  ['EMPTY_RESPONSE', 'a.test:8443 closed the connection without an answer.'],
  ['UNSAFE_PORT', 'Browsers refuse the port of this address.'],
  ['INVALID_URL', 'The address is not valid.'],
  ['INVALID_ARGUMENT', 'The address is not valid.'],
  ...[
    'CONTENT_DECODING_FAILED',
    'CONTENT_LENGTH_MISMATCH',
    'INCOMPLETE_CHUNKED_ENCODING',
    'INVALID_RESPONSE',
    'INVALID_HTTP_RESPONSE',
    'HTTP2_PROTOCOL_ERROR',
    'QUIC_PROTOCOL_ERROR',
    'RESPONSE_HEADERS_TRUNCATED',
    'HTTP_RESPONSE_CODE_FAILURE',
  ].map((name): [string, string] => [name, 'The response of a.test:8443 is not valid HTTP.']),
  ['BLOCKED_BY_RESPONSE', 'a.test:8443 does not allow the browser to show this page.'],
  ['BLOCKED_BY_CSP', 'a.test:8443 does not allow the browser to show this page.'],
  ['PROXY_AUTH_UNSUPPORTED', 'a.test:8443 cannot be reached.'],
  ['TUNNEL_FAILED', 'a.test:8443 cannot be reached.'],
  ['FAILED', 'The page at a.test:8443 could not be opened.'],
])('navigationFailure says for ERR_%s: %s', (name, message) => {
  const failure = failureOf(`net::ERR_${name}`);
  expect(failure).toMatchObject({ code: 'NAVIGATION_FAILED', message });
  expect(failure.cause).toMatchObject({ message: `net::ERR_${name}` });
});

const upstream = 'The page could not be opened, because the upstream proxy of this service';

test.each<[failure: Failure, code: string, message: string]>([
  ['blocked', 'URL_BLOCKED', 'The address leads to a.test:8443, which the egress policy of this service refuses.'],
  ['unresolved', 'NAVIGATION_FAILED', 'The name a.test:8443 could not be resolved.'],
  ['unreachable', 'NAVIGATION_FAILED', 'The connection to a.test:8443 was refused, or a.test:8443 cannot be reached.'],
  ['connect-timeout', 'NAVIGATION_FAILED', 'a.test:8443 did not accept the connection in time.'],
  ['response-timeout', 'NAVIGATION_FAILED', 'a.test:8443 did not answer in time.'],
  ['upstream-unreachable', 'CAPTURE_FAILED', `${upstream} cannot be reached.`],
  ['upstream-authentication', 'CAPTURE_FAILED', `${upstream} refuses the credentials of this service.`],
  ['upstream-refused', 'NAVIGATION_FAILED', 'The upstream proxy of this service refuses to connect to a.test:8443.'],
  [
    'upstream-timeout',
    'NAVIGATION_FAILED',
    'The upstream proxy of this service did not connect to a.test:8443 in time.',
  ],
  ['limit', 'NAVIGATION_FAILED', 'The page exceeded the limit of connections or data of a capture.'],
  ['closed', 'NAVIGATION_FAILED', 'The page at a.test:8443 could not be opened.'],
])('navigationFailure says what the proxy knows: %s', (failure, code, message) => {
  const cause = new Error('the cause');
  const error = failureOf('net::ERR_FAILED', failure, cause);
  expect(error).toMatchObject({ code, message });
  expect(error.cause).toBe(cause);
  if (code === 'CAPTURE_FAILED') expect(error.causedBy).toBe('service');
});

test('navigationFailure reports a browser without its proxy as lost', () => {
  const cause = new Error('the cause');
  const error = failureOf('net::ERR_PROXY_CONNECTION_FAILED', 'blocked', cause);
  expect(error).toMatchObject({
    code: 'CAPTURE_FAILED',
    causedBy: 'service',
    message: 'The browser lost its connection. Send the request again.',
  });
  expect(error.cause).toBeInstanceOf(BrowserLostError);
  expect((error.cause as Error).cause).toBe(cause);
});

test('an invalid address has no host', () => {
  expect(urlBlocked('http://').message).toContain('leads to the address,');
});
