import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Says in a header, and for the log, which capture a request is about. */
export function tellCapture(
  record: Pick<CaptureRecord, 'uuid' | 'region'>,
  { facts }: FastifyRequest<object>,
  reply: FastifyReply,
): void {
  facts.record = record;
  void reply.header('x-capture-uuid', record.uuid);
}
