import { overviewSchema } from '@webcapture/shared/api/admin.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import type { FastifyInstance } from 'fastify';
import type { EventStreams } from '../events/event-stream.ts';
import { OverviewCache, type OverviewSource } from '../events/overview.ts';
import {
  adminOperation,
  adminRefusals,
  eventStreamAnswer,
  example,
  failureAnswers,
  sendData,
  successAnswer,
} from './answers.ts';
import { overviewExample } from './account-examples.ts';

export interface AdminFleetDeps {
  readonly fleet: OverviewSource['fleet'];
  readonly status: OverviewSource['status'];
  readonly streams: EventStreams;
}

/** Maximum number of concurrent streams of all operators on one front. */
const maxStreams = 20;

/** GET /admin/overview and GET /admin/events: the state of the fleet. */
export function adminFleetRoutes(app: FastifyInstance, { fleet, status, streams }: AdminFleetDeps): void {
  const overview = new OverviewCache({ fleet, status });
  app.get('/admin/overview', {
    schema: {
      operationId: 'getOverview',
      ...adminOperation,
      summary: 'Get the renderers, slots and queues of all regions',
      description: 'From the heartbeats of renderers, which are sent every two seconds.',
      response: {
        200: successAnswer('The fleet as this front sees it.', overviewSchema, {
          overview: example('One region', success(overviewExample)),
        }),
        ...failureAnswers(adminRefusals),
      },
    },
    handler: async (_request, reply) => sendData(reply, overview.view()),
  });

  app.get('/admin/events', {
    exposeHeadRoute: false,
    schema: {
      operationId: 'streamOverview',
      ...adminOperation,
      summary: 'Follow the renderers, slots and queues of all regions',
      description: `Server-sent events. An event overview every two seconds, the first one immediately; its data is that of GET /admin/overview. At most ${maxStreams} concurrent streams on each front. A stream ends when its front shuts down.`,
      response: {
        200: eventStreamAnswer(
          'Events of the type overview.',
          `event: overview\ndata: ${JSON.stringify(overviewExample)}\n\n`,
        ),
        ...failureAnswers(adminRefusals),
      },
    },
    handler: async (request, reply) => {
      const stream = streams.reserve(request, reply, {
        kind: 'overview',
        holders: [{ kind: 'admin token', id: '', max: maxStreams }],
      });
      stream.start();
      overview.follow((data) => stream.send('overview', data), stream.ended);
      return reply;
    },
  });
}
