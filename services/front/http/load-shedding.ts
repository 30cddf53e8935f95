import underPressure from '@fastify/under-pressure';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether requests are refused while the process is overloaded. */
    readonly shedsLoad?: boolean;
  }
}

const sampleIntervalMs = 1000;

/**
 * Refuses new captures with QUEUE_FULL while the process is overloaded; status and files stay available. At first, only requests without a
 * valid API key are refused. If the overload persists, all are refused.
 */
export async function shedLoad(
  app: FastifyInstance,
  holdsKey: (request: FastifyRequest) => Promise<boolean>,
): Promise<void> {
  // The plugin is used only to measure. Its own check relies on a single sample, and would refuse requests right after a start.
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

/** Mean delay of the event loop over a sample, in milliseconds, that counts as overload. */
const maxLatenessMs = 1000;

/**
 * Number of consecutive bad samples that mean overload. A single bad sample can be caused by a start, a pause of the machine, or one large
 * body.
 */
const minBadSamples = 5;

/** Detects overload from samples of the delay of the event loop. */
export class Overload {
  #inARow = 0;

  sample(latenessMs: number): void {
    this.#inARow = latenessMs > maxLatenessMs ? this.#inARow + 1 : 0;
  }

  get present(): boolean {
    return this.#inARow >= minBadSamples;
  }

  /** Whether the overload has persisted for twice the time that is needed to detect it. */
  get lasting(): boolean {
    return this.#inARow >= 2 * minBadSamples;
  }
}
