import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EgressFailureKind } from '@webcapture/shared/egress/egress-failure.ts';

/** Carries the kind of the failure on answers that the proxy gives itself. */
const egressHeader = 'x-webcapture-egress';

const statuses: Readonly<Record<EgressFailureKind, number>> = {
  blocked: 403,
  unresolved: 502,
  unreachable: 502,
  'connect-timeout': 504,
  'response-timeout': 504,
  limit: 503,
  closed: 503,
};

const bodies: Readonly<Partial<Record<EgressFailureKind, string>>> = {
  blocked: 'Refused by the egress policy.\n',
};

/** Answers a CONNECT request that leads nowhere: the browser fails the navigation or the resource at once. */
export function refuseTunnel(client: Duplex, kind: EgressFailureKind): void {
  const status = statuses[kind];
  const body = bodies[kind] ?? '';
  client.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${egressHeader}: ${kind}\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/**
 * Ends a plain request that leads nowhere. A refused one is answered with 403. The others end without an answer, as a
 * network error: an answer of ours would be taken for the site's, by the page's own error handling and, worse, by a
 * capture that then shows it as the page.
 */
export function refuseRequest(response: ServerResponse, kind: EgressFailureKind): void {
  if (response.headersSent || kind !== 'blocked') {
    response.destroy();
    return;
  }
  response.writeHead(statuses[kind], {
    [egressHeader]: kind,
    'content-type': 'text/plain',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(bodies[kind]);
}

/** Answers what no browser sends to its proxy. */
export function refuseMalformed(client: Duplex): void {
  client.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
}
