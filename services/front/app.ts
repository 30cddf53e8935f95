import swagger from '@fastify/swagger';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { FrontDeps } from './deps.ts';
import { answerError, answerNotFound } from './http/error-handler.ts';
import { newFacts, type RequestFacts } from './http/facts.ts';
import { parseJson } from './http/json-parser.ts';
import { recordRequest } from './http/record-request.ts';
import { shedLoad } from './http/shed-load.ts';
import { documentOptions } from './openapi/document.ts';
import { adminRoutes } from './routes/admin.ts';
import { captureListRoute } from './routes/capture-list.ts';
import { captureRoute } from './routes/capture.ts';
import { capturesRoutes } from './routes/captures.ts';
import { deleteCaptureRoute } from './routes/delete-capture.ts';
import { filesRoutes } from './routes/files.ts';
import { keysRoutes } from './routes/keys.ts';
import { metaRoutes } from './routes/meta.ts';
import { refreshCaptureRoute } from './routes/refresh-capture.ts';
import { statusRoutes } from './routes/status.ts';
import { usageRoute } from './routes/usage.ts';
import { webhooksRoutes } from './routes/webhooks.ts';
import { serverOptions } from './server-options.ts';

/** The HTTP application of a front, ready to listen or to be injected into; it opens no port by itself. */
export async function buildApp(deps: FrontDeps): Promise<FastifyInstance> {
  const app: FastifyInstance = fastify(serverOptions(deps));
  app.decorateRequest('facts', null as unknown as RequestFacts);
  app.addHook('onRequest', async (request, reply) => {
    request.facts = newFacts();
    void reply.header('x-request-id', request.id);
    // Not onResponse, which is silent about a client that went away.
    reply.raw.once('close', () => recordRequest(request, reply, deps.metrics));
  });
  closeConnectionsWhenLeaving(app, deps.leaving);
  app.setErrorHandler<Error>(answerError);
  app.setNotFoundHandler(answerNotFound);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, async (request: FastifyRequest, text: string) => {
    // Many clients call every request JSON, also one to an endpoint that takes no body.
    const takesNone = request.routeOptions.schema?.body === undefined;
    return text === '' && takesNone ? undefined : parseJson(text);
  });
  // What a view function makes is what goes out; tests hold it against the schemas.
  app.setSerializerCompiler(() => JSON.stringify);

  await shedLoad(app);
  await app.register(swagger, documentOptions(deps.config.publicUrl));
  captureRoute(app, deps);
  captureListRoute(app, deps);
  capturesRoutes(app, deps);
  refreshCaptureRoute(app, deps);
  deleteCaptureRoute(app, deps);
  filesRoutes(app, deps);
  keysRoutes(app, deps);
  webhooksRoutes(app, deps);
  usageRoute(app, deps);
  await adminRoutes(app, deps);
  statusRoutes(app, deps);
  await metaRoutes(app);
  return app;
}

/**
 * Tells clients with open connections, while this front drains, to make their next request elsewhere: a connection that
 * is closed while it is idle may just be getting the next request, which then fails.
 */
function closeConnectionsWhenLeaving(app: FastifyInstance, leaving: AbortSignal): void {
  app.addHook('onSend', async (_request, reply) => {
    if (leaving.aborted) void reply.header('connection', 'close');
  });
}
