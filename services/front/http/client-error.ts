import type { Socket } from 'node:net';
import { failure } from '@webcapture/shared/contract/envelope.ts';

/** Answers what is no HTTP at all, or too slow or too large to become a request, with the envelope of failures. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(
    failure('VALIDATION_ERROR', reasons[error.code ?? ''] ?? 'this is not a valid HTTP request'),
  );
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const reasons: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'the request took too long to arrive',
  HPE_HEADER_OVERFLOW: 'the headers of the request are too large',
};
