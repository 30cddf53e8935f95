import type { IncomingMessage } from 'node:http';

/** A client that sends for longer than this is cut off. */
const patienceMs = 10_000;

/**
 * Reads, and forgets, what a client still sends of a body that has been refused: were the connection closed under it, it
 * would see a reset in place of the answer. Resolves when the client is done, has gone, or takes too long.
 */
export function drainBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, patienceMs);
    function done() {
      clearTimeout(timer);
      request.off('end', done).off('close', done);
      resolve();
    }
    if (request.readableEnded || request.destroyed) return done();
    request.once('end', done).once('close', done);
    request.resume();
  });
}
