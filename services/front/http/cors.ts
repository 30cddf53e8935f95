import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `false` means that pages of the configured origins have no access. */
    readonly cors?: false;
  }
}

/** Time for which a browser may cache the response to a preflight. This is the maximum of Chromium. */
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
 * Allows pages of the given origins to call with `fetch` the routes that accept an API key, and to read their responses and errors.
 * Preflights of these routes, and of routes that need no key, are answered before any other check. Routes of the operator and of the
 * dashboard stay closed, and credentials of the browser (cookies, HTTP authentication) are never allowed. Call this function before
 * the routes are added. Without origins, it changes nothing.
 *
 * @param origins as browsers send them, or only {@link anyOrigin}
 */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  /** Methods that a preflight may request, by path. */
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
      // CORS does not change the response to any other OPTIONS request.
      preflight: headers['access-control-request-method'] !== undefined,
    };
  };
  await app.register(cors, { delegator: (request, done) => done(null, accessOf(request)) });
}

/** Returns whether the API documents a route and the route needs no token of the operator. */
function isForClients(route: RouteOptions): boolean {
  const { schema, config } = route;
  const isDocumented = schema !== undefined && schema.hide !== true;
  return isDocumented && config?.cors !== false && !opensWith(route, 'adminToken');
}

const opensWith = ({ schema }: RouteOptions, scheme: 'apiKey' | 'adminToken'): boolean =>
  schema?.security?.some((each) => scheme in each) === true;

/** Matches the origin of any page. */
const anyOrigin = '*';

/**
 * Parses a comma-separated list of the origins from which browsers may call the API.
 *
 * @returns the origins as browsers send them, or only {@link anyOrigin}
 * @throws Error that describes the problem of each invalid entry and its correction
 */
export function parseOrigins(list: string): readonly string[] {
  const entries = list.split(',').flatMap((entry) => entry.trim() || []);
  if (entries.includes(anyOrigin)) {
    if (entries.length === 1) return entries;
    throw new Error('"*" allows every origin: write only "*", or only the other origins');
  }
  const problems = entries.flatMap((entry) => problemOf(entry) ?? []);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return entries;
}

const sample = 'https://app.example.com';

function problemOf(entry: string): string | null {
  const is = (what: string, write: string) => `"${entry}" ${what}: write ${write}`;
  if (entry.includes('*')) return is('has a wildcard', `each origin, such as ${sample}, or * alone for every origin`);
  const url = URL.parse(entry);
  if (!/^https?:\/\//i.test(entry) || url === null) {
    const guess = URL.parse(`https://${entry}`);
    const isHost = !entry.includes('://') && guess !== null && entry !== 'null';
    return is('is not an http or https origin', isHost ? guess.origin : `one such as ${sample}`);
  }
  if (url.origin === entry) return null;
  if (url.username !== '' || url.password !== '') return is('has a user name or a password', url.origin);
  if (url.search !== '' || url.hash !== '' || url.pathname !== '/') return is('has more than an origin', url.origin);
  if (entry.endsWith('/')) return is('has a slash at its end', url.origin);
  return is('is not what browsers send', url.origin);
}
