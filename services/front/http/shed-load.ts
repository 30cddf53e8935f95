import underPressure from '@fastify/under-pressure';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { FastifyInstance } from 'fastify';
import { Overload } from './overload.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Turned away, to be sent again later, while the process cannot keep up. */
    readonly shedsLoad?: boolean;
  }
}

const sampleMs = 1000;

/** Turns new captures away with QUEUE_FULL while the process is overloaded; status and files go on. */
export async function shedLoad(app: FastifyInstance): Promise<void> {
  // It measures only: its own verdict goes by a single sample, and turned requests away just after a start.
  await app.register(underPressure, { sampleInterval: sampleMs });
  const overload = new Overload();
  const timer = setInterval(() => overload.sample(app.memoryUsage().eventLoopDelay), sampleMs).unref();
  app.addHook('onClose', async () => clearInterval(timer));
  app.addHook('onRequest', async (request) => {
    if (overload.present && request.routeOptions.config.shedsLoad === true) {
      throw new ServiceError('QUEUE_FULL', 'The service is overloaded right now. Send the request again later.');
    }
  });
}
