import { captureStateSchema } from '@webcapture/shared/contract/capture-state.ts';
import { captureView } from '@webcapture/shared/contract/capture-view.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { dispatchAfterMs } from '@webcapture/shared/state/capture-times.ts';
import { remove } from '@webcapture/shared/state/transitions.ts';
import type { FastifyInstance } from 'fastify';
import { changeCapture } from '../capture/change-capture.ts';
import { readState } from '../capture/read-state.ts';
import type { FrontDeps } from '../deps.ts';
import { reach } from '../http/reach.ts';
import { captureParams, captureRefusals, example, failureAnswers, successAnswer } from '../openapi/answers.ts';
import { resultExample } from '../openapi/examples.ts';

const guardMs = 3000;

/** DELETE /captures/{uuid}: cancels a capture that waits, removes the file of one that has ended. */
export function deleteCaptureRoute(app: FastifyInstance, deps: FrontDeps): void {
  const { authenticator, tasks, followUps, clearAway, config, log } = deps;
  app.delete<{ Params: { uuid: string } }>('/captures/:uuid', {
    schema: {
      operationId: 'deleteCapture',
      tags: ['captures'],
      summary: 'Delete a capture, or cancel one that waits',
      description:
        'Needs the scope capture. File and cache entry go at once and refreshes end; the record stays as deleted for 90 days, for the books: what was charged stays charged. A capture that is being rendered cannot be deleted before it has ended.',
      security: [{ apiKey: [] }],
      params: captureParams,
      response: {
        200: successAnswer('The capture as it stands.', captureStateSchema, {
          deleted: example('Deleted', success({ ...resultExample, status: 'deleted' })),
        }),
        ...failureAnswers([...captureRefusals, 'CONFLICT']),
      },
    },
    handler: async (request, reply) => {
      const { account } = await authenticator.authenticate(request.headers.authorization, 'capture');
      request.facts.account = account.id;
      const { uuid } = request.params;
      request.facts.record = await readState(deps, account.id, uuid);
      // Should this front die, or the change come after it was given up: the leader looks what has become of it.
      const look = () => tasks.schedule({ kind: 'expiry', account: account.id, uuid }, deps.now() + dispatchAfterMs);
      await reach(look, guardMs, 'The capture cannot be deleted right now.');
      const record = await changeCapture(deps, account.id, uuid, remove);
      request.facts.record = record;
      if (record.status !== 'deleted') {
        throw new ServiceError('CONFLICT', 'The capture is being rendered. Delete it when it has ended.');
      }
      await followUps.arrange(record);
      // The leader does the same again, so what fails here is only late.
      await clearAway(record).catch((error: unknown) => log.warn({ err: error }, 'a file was not removed at once'));
      const view = captureView(record, { cdnUrl: config.cdnUrl, now: deps.now() });
      return reply.header('cache-control', 'no-store').send(success(view));
    },
  });
}
