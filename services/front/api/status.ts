import { componentStatusSchema, type OverallStatus, overallStatusSchema } from '@webcapture/shared/api/status.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { engineStatus, overlayStatus, type StatusView } from '../status-cache.ts';
import { example, plainAnswer } from './answers.ts';

const lastCheckedAt = '2025-08-19T09:30:00.000Z';

const statusExamples: Readonly<Record<'operational' | 'outage', OverallStatus>> = {
  operational: {
    status: 'operational',
    components: [
      { name: 'api', status: 'operational', lastCheckedAt },
      { name: 'queue', status: 'operational', lastCheckedAt },
      { name: 'storage', status: 'operational', lastCheckedAt },
      { name: 'engine', status: 'operational', responseTimeMs: 840, lastCheckedAt },
      { name: 'engine.us-east', status: 'operational', responseTimeMs: 840, lastCheckedAt },
    ],
    lastCheckedAt,
  },
  outage: {
    status: 'major_outage',
    components: [
      { name: 'api', status: 'operational', lastCheckedAt },
      { name: 'engine', status: 'major_outage', message: 'No renderer is live.', lastCheckedAt },
    ],
    lastCheckedAt,
  },
};

const [engineUp, engineDown] = [statusExamples.operational, statusExamples.outage].map(({ components }) =>
  components?.find(({ name }) => name === 'engine'),
);

/** GET /status and GET /status/engine. They are served from memory, without an envelope, and need no API key. */
export function statusRoutes(app: FastifyInstance, status: { readonly view: () => StatusView }): void {
  app.get('/status', {
    schema: {
      operationId: 'getStatus',
      tags: ['status'],
      summary: 'Get the status of the service',
      description:
        'For status pages and monitoring: the worst status of all components, and each component. Needs no API key and has no envelope. Responds with 503 unless the service is operational.',
      response: {
        200: plainAnswer('The service is operational.', overallStatusSchema, {
          operational: example('Operational', statusExamples.operational),
        }),
        503: plainAnswer('The service is degraded or has an outage.', overallStatusSchema, {
          outage: example('No renderer is available', statusExamples.outage),
        }),
      },
    },
    handler: async (_request, reply) => send(reply, overlayStatus(status.view())),
  });
  app.get('/status/engine', {
    schema: {
      operationId: 'getEngineStatus',
      tags: ['status'],
      summary: 'Get the status of the screenshot engine',
      description:
        'The component engine of GET /status: the renderers of all regions. Needs no API key and has no envelope. Responds with 503 unless the engine is operational.',
      response: {
        200: plainAnswer('The engine is operational.', componentStatusSchema, {
          operational: example('Operational', engineUp),
        }),
        503: plainAnswer('The engine is degraded or has an outage.', componentStatusSchema, {
          outage: example('No renderer is available', engineDown),
        }),
      },
    },
    handler: async (_request, reply) => send(reply, engineStatus(status.view())),
  });
}

/** Sets no-store, because clients want the current state and the response is cheap. */
function send(reply: FastifyReply, body: { readonly status: string }): FastifyReply {
  return reply
    .code(body.status === 'operational' ? 200 : 503)
    .headers({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' })
    .send(body);
}
