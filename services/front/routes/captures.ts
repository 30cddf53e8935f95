import { captureStateSchema } from '@webcapture/shared/contract/capture-state.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import type { FastifyInstance } from 'fastify';
import { captureView } from '@webcapture/shared/contract/capture-view.ts';
import { readState } from '../capture/read-state.ts';
import type { FrontDeps } from '../deps.ts';
import { captureParams, captureRefusals, example, failureAnswers, successAnswer } from '../openapi/answers.ts';
import { failedExample, pendingExample, resultExample } from '../openapi/examples.ts';

/** GET /captures/{uuid}: the state of one capture of the key's account. */
export function capturesRoutes(app: FastifyInstance, deps: FrontDeps): void {
  const { authenticator, config } = deps;
  app.get<{ Params: { uuid: string } }>('/captures/:uuid', {
    schema: {
      operationId: 'getCapture',
      tags: ['captures'],
      summary: 'State and result of one capture',
      description:
        'queued, then rendering, then completed or failed; expired once the file is gone. A failed capture is answered 200 too: its data says why it failed.',
      security: [{ apiKey: [] }],
      params: captureParams,
      response: {
        200: successAnswer('The capture as it stands.', captureStateSchema, {
          completed: example('Completed', success(resultExample)),
          rendering: example('Under way', success(pendingExample)),
          failed: example('Failed', success(failedExample)),
        }),
        ...failureAnswers(captureRefusals),
      },
    },
    handler: async (request, reply) => {
      const { account } = await authenticator.authenticate(request.headers.authorization, 'read');
      request.facts.account = account.id;
      const record = await readState(deps, account.id, request.params.uuid);
      request.facts.record = record;
      return reply
        .header('cache-control', 'no-store')
        .send(success(captureView(record, { cdnUrl: config.cdnUrl, now: deps.now() })));
    },
  });
}
