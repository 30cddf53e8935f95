import { failure } from '@webcapture/shared/contract/envelope.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { drainBody } from './drain-body.ts';
import { publicError } from './public-error.ts';

/** Seconds after which a request that was turned away for want of room may be tried again. */
const retryAfterSeconds = 5;

/** Answers every error in the envelope of failures; its cause goes to the log. */
export async function answerError(
  thrown: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if ('code' in thrown && thrown.code === 'FST_ERR_CTP_BODY_TOO_LARGE') await drainBody(request.raw);
  const error = publicError(thrown, request.id);
  request.facts.code = error.code;
  if (error.cause !== undefined || error.code === 'INTERNAL_ERROR') {
    const { uuid } = request.facts.record ?? {};
    request.log.error({ err: error, uuid, code: error.code }, 'a request failed');
  }
  if (error.status === 401) void reply.header('www-authenticate', 'Bearer realm="webcapture"');
  if (error.status === 429 && !reply.hasHeader('retry-after')) void reply.header('retry-after', retryAfterSeconds);
  await reply.code(error.status).send(failure(error.code, error.message));
}

/** Answers what no route is there for. */
export async function answerNotFound(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const [path = '/'] = request.url.split('?');
  const shown = path.length <= 80 ? path : `${path.slice(0, 77)}…`;
  const message = `There is no ${request.method} ${shown}. GET /docs shows what there is.`;
  await answerError(new ServiceError('NOT_FOUND', message), request, reply);
}
