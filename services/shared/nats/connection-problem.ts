import { AuthorizationError } from '@nats-io/nats-core';
import { LoginFileError, type NatsLoginFiles } from './login-files.ts';

/** Reasons why a process cannot connect to NATS; a closed set, for conditions and metrics. */
export const connectionReasons = [
  'FleetUnreachable',
  'AuthenticationFailed',
  'CertificateInvalid',
  'VersionUnsupported',
] as const;

export interface ConnectionProblem {
  readonly reason: (typeof connectionReasons)[number];
  /** The problem and what to check, as a sentence without the final dot. */
  readonly message: string;
}

/** Thrown if the server lacks features that this version needs. */
export class UnfitServerError extends Error {}

/** Error codes of OpenSSL and Node.js about certificates of the server or the client. */
const certificateCode = /CERT|SIGNATURE|ERR_SSL|ERR_TLS|ERR_OSSL|SELF_SIGNED|UNABLE_TO_GET_ISSUER/;

/** Describes in one line why a connection failed. `url` may contain a password, which is not shown. */
export function connectionProblem(
  error: unknown,
  { url, user, loginFiles }: { readonly url: string; readonly user?: string; readonly loginFiles?: NatsLoginFiles },
): ConnectionProblem {
  const server = url.replaceAll(/\/\/[^@/,]*@/g, '//');
  const { code, text } = rootOf(error);
  if (error instanceof UnfitServerError) return { reason: 'VersionUnsupported', message: error.message };
  if (error instanceof LoginFileError) {
    return { reason: 'AuthenticationFailed', message: `the login for NATS is invalid: ${error.message}` };
  }
  if (error instanceof AuthorizationError && loginFiles !== undefined) {
    const { creds, jwt, seed } = loginFiles;
    const reasons =
      creds === undefined && jwt === undefined
        ? 'the server has no user with this NKey'
        : 'its JWT has expired or was revoked, or the servers do not know its account';
    const message = `NATS at ${server} refuses the user of ${creds ?? jwt ?? seed} (${text}): ${reasons}`;
    return { reason: 'AuthenticationFailed', message };
  }
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

/** Returns the code and the message of the root cause. */
function rootOf(error: unknown): { readonly code: string; readonly text: string } {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  const { code = '' } = root as { readonly code?: unknown };
  const text = root instanceof Error ? root.message : String(root);
  // Node.js appends advice about its own command line, which is removed.
  return {
    code: typeof code === 'string' ? code : '',
    text: text.replace(/; if the root CA .*$/, '').replace(/\.$/, ''),
  };
}
