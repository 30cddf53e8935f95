import underPressure from '@fastify/under-pressure';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Turned away, to be sent again later, when the process cannot keep up. */
    readonly shedsLoad?: boolean;
  }
}

/** Milliseconds, on average over a second, by which the process is late with everything: it takes on too much. */
const maxLatenessMs = 1000;

/** Turns new captures away with QUEUE_FULL while the process is overloaded; status and files go on. */
export async function shedLoad(app: FastifyInstance): Promise<void> {
  await app.register(underPressure, {
    maxEventLoopDelay: maxLatenessMs,
    pressureHandler: async (request) => {
      if (request.routeOptions.config.shedsLoad === true) {
        throw new ServiceError('QUEUE_FULL', 'The service is overloaded right now. Send the request again later.');
      }
    },
  });
}
