import { success } from '@webcapture/shared/contract/envelope.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { KeptAnswer } from '@webcapture/shared/state/idempotency.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readState } from '../capture/read-state.ts';
import type { FrontDeps } from '../deps.ts';
import { sendCapture } from '../http/send-capture.ts';
import { tellCapture } from '../http/tell-capture.ts';

/**
 * Answers as an earlier request with the same Idempotency-Key was answered: its data as it was, or the same file.
 *
 * @throws ServiceError STORAGE_FAILED when the file is no longer there
 */
export async function replay(
  { uuid, region, data }: KeptAnswer,
  request: FastifyRequest<object>,
  reply: FastifyReply,
  { captures, followUps, store, now }: Pick<FrontDeps, 'captures' | 'followUps' | 'store' | 'now'>,
): Promise<FastifyReply> {
  tellCapture({ uuid, region }, request, reply);
  if (data !== null) return reply.header('idempotent-replayed', 'true').send(success(data));
  const record = await readState({ captures, followUps, now }, request.facts.account ?? '', uuid).catch(orGone);
  const { outcome } = record;
  if (outcome === undefined || (await store.stat(record.fileName)) === null) throw gone();
  void reply.header('idempotent-replayed', 'true');
  return sendCapture(reply, { record, outcome, bytes: null }, store);
}

function orGone(error: unknown): never {
  throw error instanceof ServiceError && error.code === 'CAPTURE_NOT_FOUND' ? gone() : error;
}

const gone = () =>
  new ServiceError(
    'STORAGE_FAILED',
    'The file that was answered for this Idempotency-Key is no longer there. Send another key to capture the page again.',
  );
