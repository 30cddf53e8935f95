import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { anyOrigin } from './cors-origins.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `false`: pages of the configured origins have no access. */
    readonly cors?: false;
  }
}

/** Time for which a browser may keep the answer to a preflight. Chromium keeps none for longer. */
const preflightSeconds = 7200;

/** Headers of requests that the API reads and that browsers send only with permission. */
const allowedHeaders = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Modified-Since',
  'If-None-Match',
  'Traceparent',
  'Tracestate',
];

/** Headers of responses that the API documents and that browsers hide by default. */
const exposedHeaders = [
  'Allow',
  'Content-Disposition',
  'ETag',
  'Idempotent-Replayed',
  'Retry-After',
  'WWW-Authenticate',
  'X-Capture-UUID',
  'X-Capture-UUIDs',
  'X-Page-Count',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
];

/**
 * Lets pages of the given origins call, with `fetch`, the routes that an API key opens, and read their responses and errors. Their
 * preflights, and those of routes that need no key, are answered before anything else is checked. Routes of the operator and of the
 * dashboard stay closed, and credentials of the browser (cookies, HTTP authentication) are never allowed. Call it before the routes
 * are added. Without origins it changes nothing.
 *
 * @param origins as browsers send them, or only {@link anyOrigin}
 */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  /** Methods that a preflight may ask for, by path. */
  const methods = new Map<string, string[]>();
  app.addHook('onRoute', (route) => {
    if (isForClients(route)) {
      methods.set(route.url, [...(methods.get(route.url) ?? []), ...[route.method].flat()]);
      if (opensWith(route, 'apiKey')) return;
    } else if (methods.has(route.url) && [route.method].flat().includes('OPTIONS')) {
      return;
    }
    route.config = { ...route.config, cors: false };
  });
  const accessOf = ({ headers, routeOptions }: FastifyRequest) => {
    const { origin } = headers;
    if (origin === undefined || !(origins.includes(anyOrigin) || origins.includes(origin))) return { origin: false };
    return {
      origin: origins.includes(anyOrigin) ? anyOrigin : origin,
      credentials: false,
      methods: methods.get(routeOptions.url ?? '') ?? [],
      allowedHeaders,
      exposedHeaders,
      maxAge: preflightSeconds,
      // Any other OPTIONS request is answered as without this.
      preflight: headers['access-control-request-method'] !== undefined,
    };
  };
  await app.register(cors, { delegator: (request, done) => done(null, accessOf(request)) });
}

/** Whether a route is a documented one of the API that needs no token of the operator. */
function isForClients(route: RouteOptions): boolean {
  const { schema, config } = route;
  const isDocumented = schema !== undefined && schema.hide !== true;
  return isDocumented && config?.cors !== false && !opensWith(route, 'adminToken');
}

const opensWith = ({ schema }: RouteOptions, scheme: 'apiKey' | 'adminToken'): boolean =>
  schema?.security?.some((each) => scheme in each) === true;
