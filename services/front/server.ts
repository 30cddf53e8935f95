import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import swagger from '@fastify/swagger';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { Batches } from '@webcapture/shared/captures/batches.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import fastify, { LogController, type FastifyHttpOptions, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { adminRoutes, type AdminDeps } from './api/admin.ts';
import { type CaptureBodyDeps, maxOpenBytes, readCaptureBodies } from './api/capture-body.ts';
import { captureRoute, type CaptureRouteDeps } from './api/capture.ts';
import { capturesRoutes, type CapturesDeps } from './api/captures.ts';
import { devicesRoute } from './api/devices.ts';
import { diagnosticsRoutes } from './api/diagnostics.ts';
import { AccountStreams, eventsRoute, type EventsDeps } from './api/events.ts';
import { filesRoutes, type FilesDeps } from './api/files.ts';
import { keysRoutes, type KeysDeps } from './api/keys.ts';
import { llmsRoute } from './api/llms.ts';
import { documentOptions, metaRoutes } from './api/meta.ts';
import { signingSecretRoute, type SigningSecretDeps } from './api/signing-secret.ts';
import { statusRoutes } from './api/status.ts';
import { webhookDeliveriesRoutes, type WebhookDeliveriesDeps } from './api/webhook-deliveries.ts';
import { webhooksRoutes, type WebhooksDeps } from './api/webhooks.ts';
import { createBatchRoute, type CreateBatchDeps } from './batches/create-route.ts';
import { createBatchMetrics } from './batches/metrics.ts';
import { batchRoutes } from './batches/read-routes.ts';
import { EventStreams } from './events/event-stream.ts';
import { BodyShares } from './http/body-shares.ts';
import { addressKey, Connections } from './http/connections.ts';
import { ClientLimits, type ClientLimitOptions, type ShedReason } from './http/client-limits.ts';
import { continueWhenRead } from './http/continue.ts';
import { allowOrigins } from './http/cors.ts';
import { answerClientError, answerError, answerNotFound, MethodNotAllowedError } from './http/errors.ts';
import { shedLoad } from './http/load-shedding.ts';
import { clientGone, recordRequest, RequestFacts } from './http/request-facts.ts';
import type { FrontMetrics } from './metrics.ts';
import { captureLinkRoute, type CaptureLinkDeps, queryOf } from './plugins/capture-links/route.ts';
import { dashboardRoutes, type DashboardDeps } from './plugins/dashboard/routes.ts';
import { mcpRoute, type McpDeps } from './plugins/mcp/route.ts';
import { mergePlugin, type MergeDeps } from './plugins/merge/route.ts';
import { statusPageRoutes, type StatusPageDeps } from './plugins/status-page/routes.ts';
import { createPictures, thumbnailRoute, type ThumbnailDeps } from './plugins/thumbnails/route.ts';
import { usageRoutes, type UsageDeps } from './plugins/usage/routes.ts';
import { createSessionRoute, type SessionsDeps, sessionsRoutes } from './sessions/routes.ts';
import { compileOnUse } from './validation/compile-on-use.ts';
import { parseJson } from './validation/input.ts';
import { JsonParser } from './validation/json-parser.ts';
import { quickLengths } from './validation/string-lengths.ts';

/** Settings and dependencies of the HTTP server itself. */
interface HttpDeps {
  readonly publicUrl: string;
  /** Whether clients connect through trusted proxies, which append the client's address, and the number of these proxies. */
  readonly trustProxy: boolean;
  readonly proxyHops: number;
  /** Maximum number of connections of one address without a valid API key. */
  readonly maxConnectionsPerAddress: number;
  /** Origins whose pages may call the API; see {@link allowOrigins}. */
  readonly corsOrigins: readonly string[];
  /** Overrides of the limits for clients without a valid key. */
  readonly clientLimits?: Partial<ClientLimitOptions>;
  readonly log: Logger;
  readonly metrics: FrontMetrics;
  /** Registry of the metrics of plugins. */
  readonly registry: Registry;
  /** When it aborts, each response closes its connection. */
  readonly leaving: AbortSignal;
}

/** Dependencies of the HTTP application. Each function that adds routes declares those that it needs. */
type AppDeps = HttpDeps &
  Pick<CaptureBodyDeps, 'authenticator'> &
  CaptureRouteDeps &
  CaptureLinkDeps &
  Omit<CreateBatchDeps, 'batches' | 'batchMetrics'> &
  SessionsDeps &
  CapturesDeps &
  FilesDeps &
  KeysDeps &
  SigningSecretDeps &
  WebhooksDeps &
  WebhookDeliveriesDeps &
  UsageDeps &
  Omit<EventsDeps & AdminDeps, 'streams'> &
  StatusPageDeps &
  Omit<ThumbnailDeps, 'pictures'> &
  Omit<McpDeps, 'pictures'> &
  MergeDeps &
  DashboardDeps;

/** Creates the HTTP application of a front. It does not listen by itself. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const app: FastifyInstance = fastify(serverOptions(deps));
  shareCompiledSchemas(app);
  const { authenticator, links, metrics } = deps;
  app.decorateRequest('facts', null as unknown as RequestFacts);
  const shed = (reason: ShedReason) => metrics.shed(reason);
  const limits = new ClientLimits(shed, deps.clientLimits);
  app.addHook('onRequest', async (request, reply) => {
    request.facts = new RequestFacts(addressKey(request.ip), request);
    void reply.header('x-request-id', request.id);
    // The hook onResponse is not used here, because it is not called if the client has disconnected.
    reply.raw.once('close', () => {
      recordRequest(request, reply, metrics);
      limits.settle(request.facts, reply.statusCode);
    });
  });
  // Behind a proxy, all connections belong to the proxy.
  const connections = new Connections(deps.trustProxy ? 0 : deps.maxConnectionsPerAddress, shed);
  connections.watch(app);
  continueWhenRead(app);
  closeConnectionsWhenLeaving(app, deps.leaving);
  app.setErrorHandler<Error>(async (error, request, reply) => {
    // A request with a valid signature is not an attempt to guess keys, even if the link or the key is no longer valid.
    const isUnknown =
      error instanceof ServiceError && error.status === 401 && request.facts.hasValidLinkSignature !== true;
    const answered = isUnknown ? await limits.chargeFailure(error, request.facts.address, clientGone(reply)) : error;
    await answerError(answered, request, reply);
  });
  app.setNotFoundHandler(answerNotFound);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      // Many clients send the content type JSON with every request, even without a body.
      const hasNoBody = request.routeOptions.schema?.body === undefined;
      return bytes.length === 0 && hasNoBody ? undefined : parseJson(bytes);
    },
  );
  // Responses are not serialized by schema. Tests validate them against the schemas.
  app.setSerializerCompiler(() => JSON.stringify);

  // This must precede all hooks that can refuse a request.
  await allowOrigins(app, deps.corsOrigins);
  await shedLoad(app, ({ headers, method, url }) =>
    // A signed link proves possession of a key.
    (method === 'POST'
      ? authenticator.authenticate(headers.authorization, 'capture')
      : links.verify(queryOf(url))
    ).then(
      () => true,
      () => false,
    ),
  );
  await app.register(swagger, documentOptions(deps.publicUrl));
  const routes = methodsByPath(app);
  const parser = new JsonParser(maxOpenBytes);
  app.addHook('onClose', () => parser.close());
  const pictures = createPictures(app, deps);
  const batches = new Batches(deps.session);
  const batchMetrics = createBatchMetrics(deps.registry);
  const streams = new EventStreams(deps);
  const accountStreams = new AccountStreams({ ...deps, streams });
  await app.register(async (scope) => {
    readCaptureBodies(scope, { authenticator, limits, connections, shares: new BodyShares(), parser, shed });
    captureRoute(scope, deps);
    createBatchRoute(scope, { ...deps, batches, batchMetrics });
    createSessionRoute(scope, deps);
    mergePlugin(scope, deps);
    mcpRoute(scope, { ...deps, pictures });
  });
  captureLinkRoute(app, deps);
  capturesRoutes(app, deps);
  sessionsRoutes(app, deps);
  batchRoutes(app, { ...deps, batches, batchMetrics, accountStreams });
  diagnosticsRoutes(app, deps);
  filesRoutes(app, deps);
  keysRoutes(app, deps);
  signingSecretRoute(app, deps);
  webhooksRoutes(app, deps);
  webhookDeliveriesRoutes(app, deps);
  usageRoutes(app, deps);
  eventsRoute(app, accountStreams);
  await adminRoutes(app, { ...deps, streams });
  statusRoutes(app, deps.status);
  statusPageRoutes(app, deps);
  devicesRoute(app);
  thumbnailRoute(app, { ...deps, pictures });
  await dashboardRoutes(app, deps);
  await metaRoutes(app);
  llmsRoute(app, deps.publicUrl);
  // Without an admin token, the admin endpoints do not exist, for any method.
  const isThere = (path: string) => deps.adminToken !== undefined || !path.startsWith('/admin/');
  for (const [path, methods] of [...routes].filter(([each]) => isThere(each))) refuseOthers(app, path, [...methods]);
  return app;
}

/** The schema compiler of the first application of this process. */
let compileSchema: FastifyInstance['validatorCompiler'];

/**
 * Shares one schema compiler between all applications of this process. The ajv instance of the compiler caches validators by the identity
 * of their schema. Tests build hundreds of applications and thus compile each schema only once.
 */
function shareCompiledSchemas(app: FastifyInstance): void {
  if (compileSchema !== undefined) app.setValidatorCompiler(compileSchema);
  app.addHook('onReady', async () => {
    compileSchema ??= app.validatorCompiler;
  });
}

/**
 * Closes each connection after its response while this front drains, so that clients use a new connection for their next request. If an
 * idle connection were closed instead, a request that is just arriving would fail.
 */
function closeConnectionsWhenLeaving(app: FastifyInstance, leaving: AbortSignal): void {
  app.addHook('onSend', async (_request, reply) => {
    if (leaving.aborted) void reply.header('connection', 'close');
  });
}

/** Collects the methods of all routes that are registered from now on, by path. */
function methodsByPath(app: FastifyInstance): ReadonlyMap<string, ReadonlySet<string>> {
  const routes = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set();
    for (const each of [method].flat()) methods.add(each);
    routes.set(url, methods);
  });
  return routes;
}

/** Answers methods that a path does not have with 405, before the rest of the request is processed. */
function refuseOthers(app: FastifyInstance, path: string, allowed: readonly string[]): void {
  const refuse = async (request: FastifyRequest) => {
    throw new MethodNotAllowedError(request, allowed);
  };
  app.route({
    method: app.supportedMethods.filter((method) => !allowed.includes(method)),
    url: path,
    exposeHeadRoute: false,
    schema: { hide: true },
    onRequest: refuse,
    handler: refuse,
  });
}

/** Returns the options of the server. Requests must arrive quickly, but responses may take minutes. */
function serverOptions({ trustProxy, proxyHops, log }: HttpDeps): FastifyHttpOptions<Server> {
  return {
    loggerInstance: log,
    // Our own hook logs one line for each request.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdGenerator(trustProxy),
    // Proxies are trusted by their number: a client can add entries to X-Forwarded-For, but they precede those of the proxies.
    trustProxy: trustProxy && ((_address: string, hop: number) => hop < proxyHops),
    http: {
      // Disconnects clients that send their headers too slowly. requestTimeout does the same for bodies.
      headersTimeout: 15_000,
      connectionsCheckingInterval: 5000,
    },
    requestTimeout: 60_000,
    // Idle sockets have no limit during a request, because a capture may take minutes.
    connectionTimeout: 0,
    // Longer than the 600 s of Google's load balancers, which otherwise reuse a connection while it is being closed.
    keepAliveTimeout: 620_000,
    // While the front drains, requests on open connections are served: POST /capture never returns 503.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Even an id that is too long for a uuid must reach its route, which then returns 404.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 1000 },
    ajv: {
      plugins: [quickLengths, compileOnUse],
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: true,
        // All errors are reported. The number of values is limited before that.
        allErrors: true,
        // Errors include the rule and the value.
        verbose: true,
        // Simplifying the code of a validator takes longer than compiling it, and does not make it faster.
        code: { optimize: false },
      },
    },
    frameworkErrors: (error, request, reply) => {
      request.facts = new RequestFacts(addressKey(request.ip));
      void reply.header('x-request-id', request.id);
      void answerError(error, request, reply);
    },
    clientErrorHandler: answerClientError,
  };
}

/** Returns a generator of request ids: random ones, or valid ones that a trusted proxy has set. */
function requestIdGenerator(trustProxy: boolean): (request: Pick<IncomingMessage, 'headers'>) => string {
  return ({ headers }) => {
    const given = trustProxy ? headers['x-request-id'] : undefined;
    return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
  };
}
