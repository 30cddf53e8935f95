import { LogController, type FastifyHttpOptions } from 'fastify';
import type { Server } from 'node:http';
import type { FrontDeps } from './deps.ts';
import { answerClientError } from './http/client-error.ts';
import { answerError } from './http/error-handler.ts';
import { newFacts } from './http/facts.ts';
import { requestIdGenerator } from './http/request-id.ts';

/** How the server takes requests in. An answer may take minutes; a request may not. */
export function serverOptions({ config, log }: FrontDeps): FastifyHttpOptions<Server> {
  return {
    loggerInstance: log,
    // One line for each request comes from our own hook.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdGenerator(config.trustProxy),
    trustProxy: config.trustProxy,
    http: {
      // A client that sends its headers byte by byte is cut off, and so is one that does so with its body.
      headersTimeout: 15_000,
      connectionsCheckingInterval: 5000,
    },
    requestTimeout: 60_000,
    // No limit on idle sockets in mid-request: a capture may take minutes.
    connectionTimeout: 0,
    // Longer than the 600 s of Google's load balancers, which else reuse a connection that is just being closed.
    keepAliveTimeout: 620_000,
    // While draining, what still comes in over open connections is served: POST /capture never answers 503.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // What is too long for a uuid is to be looked at all the same, and not found by its route.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 1000 },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: true,
        // All that is wrong is told at once; the number of fields is limited before.
        allErrors: true,
        // Errors carry the rule and the value.
        verbose: true,
      },
    },
    frameworkErrors: (error, request, reply) => {
      request.facts = newFacts();
      void reply.header('x-request-id', request.id);
      void answerError(error, request, reply);
    },
    clientErrorHandler: answerClientError,
  };
}
