import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** Requests whose clients wait for `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/** Whether `100 Continue` has not been sent yet, so that the client does not send the body. */
export const awaitsContinue = (request: IncomingMessage): boolean => waiting.has(request);

/**
 * Sends `100 Continue` only when the body is about to be read, so that a request that is refused because of its headers
 * is refused before the body is sent.
 */
export function continueWhenRead(app: FastifyInstance): void {
  app.server.on('checkContinue', (request, response) => {
    waiting.add(request);
    app.server.emit('request', request, response);
  });
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (waiting.delete(request.raw)) reply.raw.writeContinue();
    done();
  });
}
