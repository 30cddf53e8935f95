import type { Socket } from 'node:net';
import { bounded } from '@webcapture/shared/egress/bounded.ts';
import { connect } from '@webcapture/shared/egress/connect.ts';
import { EgressFailure } from '@webcapture/shared/egress/egress-failure.ts';
import { parseHost } from '@webcapture/shared/egress/host.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { Notice } from './build-notice.ts';
import { NoticeFailure } from './notice-failure.ts';
import { post } from './post.ts';
import { startTls } from './tls-client.ts';

/** What came of one try. */
export type SendResult =
  | { readonly delivered: true; readonly status: number }
  | {
      readonly delivered: false;
      /** HTTP status of the answer; absent when there was none. */
      readonly status?: number;
      /** Fit for the account holder. */
      readonly reason: string;
      /** For the log. */
      readonly cause?: unknown;
      /** The receiver asked for no more tries. */
      readonly gone: boolean;
    };

export interface SendOptions {
  readonly policy: Pick<EgressPolicy, 'checkLiteral' | 'resolve'>;
  /** Ends the try without a result: it throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** From the name to the head of the answer. By default 10,000. */
  readonly timeoutMs?: number;
  /** Authorities to trust instead of the usual ones, PEM. */
  readonly ca?: string;
}

/**
 * Posts a notice to an http or https address, once, over a connection of its own. The name is resolved once, every
 * address of it must be open to the egress policy, and the connection goes to one of those by number. Redirects are not
 * followed: nobody has checked where they lead.
 */
export async function sendNotice(address: string, notice: Notice, options: SendOptions): Promise<SendResult> {
  const { signal, timeoutMs = 10_000 } = options;
  let tooLate = false;
  const task = (limit: AbortSignal) => {
    limit.addEventListener('abort', () => (tooLate = true), { once: true });
    return attempt(address, notice, options, { signal: limit, until: performance.now() + timeoutMs });
  };
  try {
    return judge(await bounded(task, timeoutMs, signal));
  } catch (error) {
    signal?.throwIfAborted();
    const reason = (tooLate ? null : reasonOf(error)) ?? `no answer within ${timeoutMs / 1000} s`;
    return { delivered: false, reason, cause: error, gone: false };
  }
}

/** The status of the answer. */
async function attempt(
  address: string,
  notice: Notice,
  { policy, ca }: SendOptions,
  { signal, until }: { signal: AbortSignal; until: number },
): Promise<number> {
  const url = new URL(address);
  policy.checkLiteral(url);
  const isSecure = url.protocol === 'https:';
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  const addresses = await policy.resolve(url.hostname, { signal });
  const socket = await connect(addresses, port, until - performance.now(), signal);
  const cut = () => socket.destroy();
  signal.addEventListener('abort', cut, { once: true });
  try {
    signal.throwIfAborted();
    return await post(isSecure ? await secured(socket, url, ca) : socket, url, notice);
  } finally {
    signal.removeEventListener('abort', cut);
    socket.destroy();
  }
}

function secured(socket: Socket, url: URL, ca: string | undefined) {
  const host = parseHost(url.hostname);
  if (host === undefined) throw new NoticeFailure('the host of the address is not valid');
  return host.kind === 'name' ? startTls(socket, host.name, true, ca) : startTls(socket, host.address, false, ca);
}

function judge(status: number): SendResult {
  if (status >= 200 && status <= 299) return { delivered: true, status };
  const note = status >= 300 && status <= 399 ? ': redirects are not followed' : '';
  return { delivered: false, status, reason: `status ${status}${note}`, gone: status === 410 };
}

/** Null when time was what it lacked. */
function reasonOf(error: unknown): string | null {
  if (error instanceof NoticeFailure) return error.message;
  if (error instanceof ServiceError) {
    return error.code === 'URL_BLOCKED' ? 'refused by the egress policy' : 'the name does not resolve';
  }
  if (!(error instanceof EgressFailure)) return 'the notice could not be sent';
  if (error.kind === 'connect-timeout') return null;
  return codeOf(error.cause) === 'ECONNREFUSED' ? 'connection refused' : 'the host cannot be reached';
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : undefined);
