import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import swagger from '@fastify/swagger';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import fastify, { LogController, type FastifyHttpOptions, type FastifyInstance, type FastifyRequest } from 'fastify';
import { adminRoutes, type AdminDeps } from './api/admin.ts';
import { type CaptureBodyDeps, maxOpenBytes, readCaptureBodies } from './api/capture-body.ts';
import { captureLinkRoute, type CaptureLinkDeps, queryOf } from './api/capture-link.ts';
import { captureRoute, type CaptureRouteDeps } from './api/capture.ts';
import { capturesRoutes, type CapturesDeps } from './api/captures.ts';
import { diagnosticsRoutes } from './api/diagnostics.ts';
import { filesRoutes, type FilesDeps } from './api/files.ts';
import { parseJson } from './validation/input.ts';
import { dashboardRoutes, type DashboardDeps } from './api/dashboard.ts';
import { devicesRoute } from './api/devices.ts';
import { eventsRoute, type EventsDeps } from './api/events.ts';
import { keysRoutes, type KeysDeps } from './api/keys.ts';
import { llmsRoute } from './api/llms.ts';
import { documentOptions, metaRoutes } from './api/meta.ts';
import { signingSecretRoute, type SigningSecretDeps } from './api/signing-secret.ts';
import { statusPageRoutes, type StatusPageDeps } from './api/status-page.ts';
import { statusRoutes } from './api/status.ts';
import { thumbnailRoute, type ThumbnailDeps } from './api/thumbnail.ts';
import { usageRoutes, type UsageDeps } from './api/usage.ts';
import { webhookDeliveriesRoutes, type WebhookDeliveriesDeps } from './api/webhook-deliveries.ts';
import { webhooksRoutes, type WebhooksDeps } from './api/webhooks.ts';
import { BodyShares } from './http/body-shares.ts';
import { addressKey } from './http/client-address.ts';
import { ClientLimits, type ClientLimitOptions, type ShedReason } from './http/client-limits.ts';
import { Connections } from './http/connections.ts';
import { continueWhenRead } from './http/continue.ts';
import { answerClientError, answerError, answerNotFound, MethodNotAllowedError } from './http/errors.ts';
import { shedLoad } from './http/load-shedding.ts';
import { clientGone, recordRequest, RequestFacts } from './http/request-facts.ts';
import { mcpRoute, type McpDeps } from './mcp/route.ts';
import type { FrontMetrics } from './metrics.ts';
import type { StatusView } from './status-board.ts';
import { JsonParser } from './validation/json-parser.ts';
import { quickLengths } from './validation/string-lengths.ts';

/** What the HTTP application is made of: what each resource needs is its own affair. */
interface AppDeps {
  readonly http: {
    readonly publicUrl: string;
    /** Whether clients come through proxies that say who they are, and how many. */
    readonly trustProxy: boolean;
    readonly proxyHops: number;
    /** Connections of one address without an API key that holds. */
    readonly maxConnectionsPerAddress: number;
    /** Overrides of the limits for clients without a valid key. */
    readonly clientLimits?: Partial<ClientLimitOptions>;
    readonly log: Logger;
    readonly metrics: FrontMetrics;
    /** Once it is aborted, each answer closes its connection. */
    readonly leaving: AbortSignal;
  };
  readonly capture: CaptureRouteDeps & Pick<CaptureBodyDeps, 'authenticator'>;
  readonly captureLinks: Pick<CaptureLinkDeps, 'links' | 'now'>;
  readonly captures: CapturesDeps;
  readonly files: FilesDeps;
  readonly keys: KeysDeps;
  readonly signingSecrets: SigningSecretDeps;
  readonly webhooks: WebhooksDeps;
  readonly webhookDeliveries: WebhookDeliveriesDeps;
  readonly usage: UsageDeps;
  readonly events: EventsDeps;
  readonly admin: AdminDeps;
  readonly status: { readonly view: () => StatusView };
  readonly thumbnails: ThumbnailDeps;
  readonly mcp: McpDeps;
  readonly statusPage: Pick<StatusPageDeps, 'history' | 'now'>;
  readonly dashboard: DashboardDeps;
}

/** The HTTP application of a front, ready to listen or to be injected into; it opens no port by itself. */
export async function buildApp({ http, ...deps }: AppDeps): Promise<FastifyInstance> {
  const app: FastifyInstance = fastify(serverOptions(http));
  shareCompiledSchemas(app);
  app.decorateRequest('facts', null as unknown as RequestFacts);
  const shed = (reason: ShedReason) => http.metrics.shed(reason);
  const limits = new ClientLimits(shed, http.clientLimits);
  app.addHook('onRequest', async (request, reply) => {
    request.facts = new RequestFacts(addressKey(request.ip));
    void reply.header('x-request-id', request.id);
    // Not onResponse, which is silent about a client that went away.
    reply.raw.once('close', () => {
      recordRequest(request, reply, http.metrics);
      limits.settle(request.facts, reply.statusCode);
    });
  });
  // Behind a proxy, connections are the proxy's.
  const connections = new Connections(http.trustProxy ? 0 : http.maxConnectionsPerAddress, shed);
  connections.watch(app);
  continueWhenRead(app);
  closeConnectionsWhenLeaving(app, http.leaving);
  app.setErrorHandler<Error>(async (error, request, reply) => {
    // Following a signed link is no guessing of keys, even when the link or the key is no longer valid.
    const isUnknown = error instanceof ServiceError && error.status === 401 && request.facts.isGenuineLink !== true;
    const judged = isUnknown ? await limits.judge(error, request.facts.address, clientGone(reply)) : error;
    await answerError(judged, request, reply);
  });
  app.setNotFoundHandler(answerNotFound);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      // Many clients call every request JSON, also one to an endpoint that takes no body.
      const takesNone = request.routeOptions.schema?.body === undefined;
      return bytes.length === 0 && takesNone ? undefined : parseJson(bytes);
    },
  );
  // What a view function makes is what goes out; tests hold it against the schemas.
  app.setSerializerCompiler(() => JSON.stringify);

  const { authenticator } = deps.capture;
  const { links } = deps.captureLinks;
  await shedLoad(app, ({ headers, method, url }) =>
    // A link holds the key that has signed it.
    (method === 'POST'
      ? authenticator.authenticate(headers.authorization, 'capture')
      : links.verify(queryOf(url))
    ).then(
      () => true,
      () => false,
    ),
  );
  await app.register(swagger, documentOptions(http.publicUrl));
  const routes = methodsByPath(app);
  const parser = new JsonParser(maxOpenBytes);
  app.addHook('onClose', () => parser.close());
  await app.register(async (scope) => {
    readCaptureBodies(scope, { authenticator, limits, connections, shares: new BodyShares(), parser, shed });
    captureRoute(scope, deps.capture);
    mcpRoute(scope, deps.mcp);
  });
  captureLinkRoute(app, { ...deps.capture, ...deps.captureLinks });
  capturesRoutes(app, deps.captures);
  diagnosticsRoutes(app, deps.captures);
  filesRoutes(app, deps.files);
  keysRoutes(app, deps.keys);
  signingSecretRoute(app, deps.signingSecrets);
  webhooksRoutes(app, deps.webhooks);
  webhookDeliveriesRoutes(app, deps.webhookDeliveries);
  usageRoutes(app, deps.usage);
  eventsRoute(app, deps.events);
  await adminRoutes(app, deps.admin);
  statusRoutes(app, deps.status);
  statusPageRoutes(app, { ...deps.statusPage, status: deps.status, publicUrl: http.publicUrl });
  devicesRoute(app);
  thumbnailRoute(app, deps.thumbnails);
  await dashboardRoutes(app, deps.dashboard);
  await metaRoutes(app);
  llmsRoute(app, http.publicUrl);
  // Without an admin token the admin endpoints do not exist, whatever the method.
  const isThere = (path: string) => deps.admin.adminToken !== undefined || !path.startsWith('/admin/');
  for (const [path, methods] of [...routes].filter(([each]) => isThere(each))) refuseOthers(app, path, [...methods]);
  return app;
}

/** The compiler of the first application of this process. */
let compileSchema: FastifyInstance['validatorCompiler'];

/**
 * Gives all applications of this process the same compiler of schemas. Its ajv caches validators by the identity of their schema, so
 * that tests, which build hundreds of applications, compile each schema once.
 */
function shareCompiledSchemas(app: FastifyInstance): void {
  if (compileSchema !== undefined) app.setValidatorCompiler(compileSchema);
  app.addHook('onReady', async () => {
    compileSchema ??= app.validatorCompiler;
  });
}

/**
 * Tells clients to use a new connection for their next request while this front drains: closing an idle connection may
 * hit a request that is just arriving, which then fails.
 */
function closeConnectionsWhenLeaving(app: FastifyInstance, leaving: AbortSignal): void {
  app.addHook('onSend', async (_request, reply) => {
    if (leaving.aborted) void reply.header('connection', 'close');
  });
}

/** The methods of all routes from now on, by their paths. */
function methodsByPath(app: FastifyInstance): ReadonlyMap<string, ReadonlySet<string>> {
  const routes = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set();
    for (const each of [method].flat()) methods.add(each);
    routes.set(url, methods);
  });
  return routes;
}

/** Answers methods that a path does not have with 405, before anything else of the request is looked at. */
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

/** How the server takes requests in. An answer may take minutes; a request may not. */
function serverOptions({ trustProxy, proxyHops, log }: AppDeps['http']): FastifyHttpOptions<Server> {
  return {
    loggerInstance: log,
    // One line for each request comes from our own hook.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdGenerator(trustProxy),
    // By number: entries that a client itself puts into X-Forwarded-For precede those of the proxies.
    trustProxy: trustProxy && ((_address: string, hop: number) => hop < proxyHops),
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
      plugins: [quickLengths],
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: true,
        // Report all errors at once; the number of values is limited before.
        allErrors: true,
        // Errors carry the rule and the value.
        verbose: true,
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

/** The id of a request: a new one, or behind a trusted proxy the one that it has given, if it is harmless. */
function requestIdGenerator(trustProxy: boolean): (request: Pick<IncomingMessage, 'headers'>) => string {
  return ({ headers }) => {
    const given = trustProxy ? headers['x-request-id'] : undefined;
    return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
  };
}
