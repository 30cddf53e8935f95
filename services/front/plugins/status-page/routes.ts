import { createHash } from 'node:crypto';
import { type StatusHistory, statusHistorySchema } from '@webcapture/shared/api/status-history.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HistoryCache, historyView } from './history-cache.ts';
import { overlayStatus, type StatusView } from '../../status-cache.ts';
import { atomFeed } from './feed.ts';
import { pagePolicy, pageScript, renderPage } from './page.ts';
import { type AnswerDocument, example, plainAnswer } from '../../api/answers.ts';

export interface StatusPageDeps {
  readonly publicUrl: string;
  readonly status: { readonly view: () => StatusView };
  /** By default that which the leader writes. */
  readonly statusHistory?: HistoryCache;
  readonly session: NatsSession;
  readonly log: Logger;
  /** Ends the background work of the front. */
  readonly signal: AbortSignal;
  /** Unix milliseconds, by the server's clock. */
  readonly now: () => number;
}

/** Maximum age of content that changes only because time passes. Other changes are shown immediately. */
const historyMaxAgeMs = 30_000;
const pageMaxAgeMs = 1000;

/** Behind a CDN, one request in 30 s reaches the front. If no front responds, the CDN may serve its copy for a day. */
const cacheControl = 'public, max-age=30, stale-if-error=86400';

/** GET /status.html, its script, and the history as JSON and as a feed. They are served from memory and need no API key. */
export function statusPageRoutes(app: FastifyInstance, deps: StatusPageDeps): void {
  const { publicUrl, status, statusHistory = followHistory(deps), now } = deps;
  const versionOf = () => String(statusHistory.version);
  const view = keep(historyMaxAgeMs, versionOf, () => historyView(statusHistory.histories, status.view(), now()));
  const json = keep(historyMaxAgeMs, versionOf, () => tagged(JSON.stringify(view())));
  const feed = keep(historyMaxAgeMs, versionOf, () => tagged(atomFeed(view(), publicUrl)));
  const page = keep(pageMaxAgeMs, versionOf, () => renderPage(overlayStatus(status.view()), view(), publicUrl));
  const policy = `${pagePolicy(publicUrl)}; frame-ancestors 'self'`;
  const script = tagged(pageScript);

  app.get('/status/history.json', {
    schema: {
      operationId: 'getStatusHistory',
      tags: ['status'],
      summary: 'Get the history of the status',
      description:
        'Returns the states and incidents of the last 90 days. Days and times are in UTC. Needs no API key; caches may keep the response for half a minute.',
      headers: conditional,
      response: {
        200: plainAnswer('The history.', statusHistorySchema, {
          history: example('A region that had an outage', statusHistoryExample),
        }),
        304: notModified,
      },
    },
    handler: async (request, reply) =>
      send(request, reply.header('content-type', 'application/json; charset=utf-8'), json(), cacheControl),
  });

  app.get('/status/feed.xml', {
    schema: {
      operationId: 'getStatusFeed',
      tags: ['status'],
      summary: 'Get the incidents as an Atom feed',
      description: 'Returns the last 50 incidents. An entry keeps its id while it is updated. Needs no API key.',
      headers: conditional,
      response: {
        200: {
          description: 'An Atom feed (RFC 4287).',
          content: { 'application/atom+xml': { schema: { type: 'string' } } },
        },
        304: notModified,
      },
    },
    handler: async (request, reply) =>
      send(request, reply.header('content-type', 'application/atom+xml; charset=utf-8'), feed(), cacheControl),
  });

  app.get('/status.html', {
    schema: { hide: true },
    handler: async (_request, reply) =>
      reply
        .headers({
          'content-type': 'text/html; charset=utf-8',
          'cache-control': cacheControl,
          'content-security-policy': policy,
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
        })
        .send(page()),
  });

  app.get('/status/page.js', {
    schema: { hide: true },
    handler: async (request, reply) =>
      send(
        request,
        reply.headers({ 'content-type': 'text/javascript; charset=utf-8', 'x-content-type-options': 'nosniff' }),
        script,
        'public, max-age=3600, stale-if-error=86400',
      ),
  });
}

function followHistory({ session, log, signal }: StatusPageDeps): HistoryCache {
  const history = new HistoryCache();
  void history.follow(session, { log, signal });
  return history;
}

interface Tagged {
  readonly body: string;
  readonly etag: string;
}

function tagged(body: string): Tagged {
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}

/** Caches the value of `make` for `maxAgeMs`, or until the version changes. */
function keep<T>(maxAgeMs: number, version: () => string, make: () => T): () => T {
  let kept: { readonly value: T; readonly version: string; readonly at: number } | null = null;
  return () => {
    const current = version();
    if (kept === null || kept.version !== current || performance.now() - kept.at > maxAgeMs) {
      kept = { value: make(), version: current, at: performance.now() };
    }
    return kept.value;
  };
}

function send(request: FastifyRequest, reply: FastifyReply, { body, etag }: Tagged, caching: string): FastifyReply {
  void reply.headers({ etag, 'cache-control': caching, 'access-control-allow-origin': '*' });
  const tags = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*') ? reply.code(304).send() : reply.send(body);
}

const conditional = {
  type: 'object',
  properties: { 'if-none-match': { type: 'string', description: 'ETag of the copy that the client has.' } },
};

const notModified: AnswerDocument & { readonly type: 'null' } = {
  description: 'The client already has the current version.',
  type: 'null',
};

const statusHistoryExample: StatusHistory = {
  generatedAt: '2025-08-19T09:30:00.000Z',
  components: [
    {
      name: 'engine.us-east',
      observedUntil: '2025-08-19T09:29:57.000Z',
      uptimePercent: 99.29,
      days: [
        { date: '2025-08-18', operational: 86_400 },
        { date: '2025-08-19', operational: 33_351, major_outage: 846 },
      ],
    },
  ],
  incidents: [
    {
      id: 'engine.us-east.20250819T061500000Z',
      component: 'engine.us-east',
      status: 'major_outage',
      startedAt: '2025-08-19T06:15:00.000Z',
      endedAt: '2025-08-19T06:29:06.000Z',
      message: '0 of 2 renderers healthy: 2 missing',
      updates: [
        {
          at: '2025-08-19T06:15:00.000Z',
          status: 'major_outage',
          message: '0 of 2 renderers healthy: 2 missing',
        },
      ],
      interruptions: 0,
    },
  ],
};
