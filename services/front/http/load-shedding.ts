import underPressure from '@fastify/under-pressure';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Turned away, to be sent again later, while the process cannot keep up. */
    readonly shedsLoad?: boolean;
  }
}

const sampleIntervalMs = 1000;

/**
 * Refuses new captures with QUEUE_FULL while the process is overloaded; status and files stay available. Requests
 * without a valid API key are refused first, the others only when that does not help.
 */
export async function shedLoad(
  app: FastifyInstance,
  holdsKey: (request: FastifyRequest) => Promise<boolean>,
): Promise<void> {
  // It measures only: its own verdict goes by a single sample, and turned requests away just after a start.
  await app.register(underPressure, { sampleInterval: sampleIntervalMs });
  const overload = new Overload();
  const timer = setInterval(() => overload.sample(app.memoryUsage().eventLoopDelay), sampleIntervalMs).unref();
  app.addHook('onClose', async () => clearInterval(timer));
  app.addHook('onRequest', async (request) => {
    if (!overload.present || request.routeOptions.config.shedsLoad !== true) return;
    if (!overload.lasting && (await holdsKey(request))) return;
    throw new ServiceError('QUEUE_FULL', 'The service is overloaded right now. Send the request again later.', {
      causedBy: 'service',
    });
  });
}

/** Milliseconds, on average over a sample, by which the process is late with everything. */
const maxLatenessMs = 1000;

/** A single bad sample is a start, a pause of the machine, or one large body; this many in a row mean overload. */
const samplesInARow = 5;

/** Decides from samples of the event loop's lateness whether the process takes on more than it can do. */
export class Overload {
  #inARow = 0;

  sample(latenessMs: number): void {
    this.#inARow = latenessMs > maxLatenessMs ? this.#inARow + 1 : 0;
  }

  get present(): boolean {
    return this.#inARow >= samplesInARow;
  }

  /** It has been present for as long again. */
  get lasting(): boolean {
    return this.#inARow >= 2 * samplesInARow;
  }
}
