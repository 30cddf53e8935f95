import { request, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Notice } from './build-notice.ts';
import { NoticeFailure } from './notice-failure.ts';

/** So much of an answer's body is waited for, and for so long. Nobody reads it. */
const mostBodyBytes = 16 * 1024;
const mostBodyMs = 250;

/**
 * Posts a notice over a connection that stands, and returns the status of the answer once its body has ended, or has
 * gone on for too long: a receiver is not cut off in the middle of a short answer. Ends when the connection does, which
 * is the caller's to destroy.
 *
 * @throws NoticeFailure
 */
export async function post(connection: Duplex, url: URL, { headers, body }: Notice): Promise<number> {
  const answer = await exchange(connection, url, { headers, body });
  await takeIn(answer);
  return answer.statusCode ?? 0;
}

function exchange(connection: Duplex, url: URL, { headers, body }: Notice): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request({
    createConnection: () => connection,
    method: 'POST',
    path: url.pathname + url.search,
    headers: { host: url.host, ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
  });
  outgoing.once('response', resolve);
  // Late errors, of a connection that is being cut, must find a listener too.
  outgoing.on('error', (cause) => reject(new NoticeFailure(describe(cause), { cause })));
  outgoing.once('close', () => reject(new NoticeFailure('the connection was closed without an answer')));
  outgoing.end(body);
  return promise;
}

function describe(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  return code.startsWith('HPE_') ? 'the answer is not valid HTTP' : 'the connection was closed without an answer';
}

/** Reads the body of an answer to its end or its bounds. Never throws. */
async function takeIn(answer: IncomingMessage): Promise<void> {
  const done = new AbortController();
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostBodyBytes) done.abort();
  });
  answer.on('error', () => undefined).once('close', () => done.abort());
  await delay(mostBodyMs, done.signal);
}
