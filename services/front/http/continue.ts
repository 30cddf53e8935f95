import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** Requests whose clients wait for `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/** Whether the client has been told nothing yet, so that its body does not come. */
export const awaitsContinue = (request: IncomingMessage): boolean => waiting.has(request);

/**
 * Asks a client that sends `Expect: 100-continue` for its body only when that is about to be read: a request that is
 * refused by its headers is refused before the body is sent.
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
