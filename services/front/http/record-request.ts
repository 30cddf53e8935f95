import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FrontMetrics } from '../metrics.ts';

/** What is counted in place of a status when the client did not wait for the answer. */
const clientClosedRequest = 499;

/**
 * One log line and the metrics of a request, once its connection is done with it, also when the client went away.
 * Neither bodies nor addresses: the route, not the path.
 */
export function recordRequest(request: FastifyRequest, reply: FastifyReply, metrics: FrontMetrics): void {
  const { facts, method } = request;
  const { code } = facts;
  const totalMs = performance.now() - facts.startedAt;
  const status = reply.raw.writableFinished ? reply.raw.statusCode : clientClosedRequest;
  const route = request.routeOptions.url ?? 'none';
  const ownMs = totalMs - facts.waitedMs;
  metrics.request({ method, route, status, code, totalMs, ownMs });
  request.log.info(
    {
      method,
      route,
      status,
      ms: Math.round(totalMs),
      // Without the wait for a renderer, which is not for the front to answer for.
      ownMs: Math.round(ownMs * 10) / 10,
      uuid: facts.record?.uuid,
      account: facts.account,
      code,
    },
    'request',
  );
}
