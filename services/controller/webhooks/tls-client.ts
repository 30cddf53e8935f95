import type { Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { NoticeFailure } from './notice-failure.ts';

/** What is wrong with a certificate, by the code that OpenSSL or Node has for it. */
const faults: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its chain ends in an authority that is not known here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is not known here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its issuer is not known here, or an intermediate certificate is missing',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host name',
};

/**
 * Speaks TLS over a connection, as the client. The certificate must be good for `host` (a name, or an IP address without
 * brackets). Destroying the socket below ends it.
 *
 * @param ca authorities to trust instead of the usual ones, PEM
 * @throws NoticeFailure
 */
export function startTls(socket: Socket, host: string, isName: boolean, ca: string | undefined): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const secure = connect({
    socket,
    host,
    // An address may not be asked for by name (RFC 6066).
    ...(isName ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
    ALPNProtocols: ['http/1.1'],
    // Said outright, so that no variable of the environment turns it off.
    rejectUnauthorized: true,
  });
  secure.once('secureConnect', () => resolve(secure));
  // The listener stays: a late error without one would end the process.
  secure.on('error', (error) => reject(explain(secure, error)));
  secure.once('close', () => reject(new NoticeFailure('the connection was closed during the TLS handshake')));
  return promise;
}

function explain({ authorizationError }: TLSSocket, error: Error): NoticeFailure {
  if (!authorizationError) return new NoticeFailure('the TLS handshake failed', { cause: error });
  const code = 'code' in error ? String(error.code) : error.message;
  return new NoticeFailure(`the certificate is refused: ${faults[code] ?? code}`, { cause: error });
}
