import { AuthorizationError } from '@nats-io/nats-core';

/** What can stand between a process and NATS; a closed set, for conditions and metrics. */
export const connectionReasons = [
  'FleetUnreachable',
  'AuthenticationFailed',
  'CertificateInvalid',
  'VersionUnsupported',
] as const;

export interface ConnectionProblem {
  readonly reason: (typeof connectionReasons)[number];
  /** A sentence that says what is wrong and what to look at, without the final dot. */
  readonly message: string;
}

/** The server cannot do what this version relies on. */
export class UnfitServerError extends Error {}

/** Codes of OpenSSL and Node.js that are about a certificate, of either side. */
const certificateCode = /CERT|SIGNATURE|ERR_SSL|ERR_TLS|ERR_OSSL|SELF_SIGNED|UNABLE_TO_GET_ISSUER/;

/** Says in one line why a connection failed. `url` may hold a password, which is not told. */
export function connectionProblem(
  error: unknown,
  { url, user }: { readonly url: string; readonly user?: string },
): ConnectionProblem {
  const server = url.replaceAll(/\/\/[^@/,]*@/g, '//');
  const { code, text } = rootOf(error);
  if (error instanceof UnfitServerError) return { reason: 'VersionUnsupported', message: error.message };
  if (error instanceof AuthorizationError) {
    const who = user ?? 'this client';
    const message = `NATS at ${server} refuses ${who} (${text}): the server has no such user, or another password or client certificate for it`;
    return { reason: 'AuthenticationFailed', message };
  }
  if (certificateCode.test(code) || /\btls\b|certificate|doesn't exist$/i.test(text)) {
    const message = `the TLS connection to NATS at ${server} failed (${text}); check the certificate of the server, WEBCAPTURE_NATS_CA_FILE and WEBCAPTURE_NATS_TLS_SERVER_NAME (in the chart: nats.tls.caSecret and nats.tls.serverName)`;
    return { reason: 'CertificateInvalid', message };
  }
  return { reason: 'FleetUnreachable', message: `there is no connection to NATS at ${server} (${text})` };
}

/** Code and words of the error that was first. */
function rootOf(error: unknown): { readonly code: string; readonly text: string } {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  const { code = '' } = root as { readonly code?: unknown };
  const text = root instanceof Error ? root.message : String(root);
  // Node.js appends advice about its own command line.
  return {
    code: typeof code === 'string' ? code : '',
    text: text.replace(/; if the root CA .*$/, '').replace(/\.$/, ''),
  };
}
