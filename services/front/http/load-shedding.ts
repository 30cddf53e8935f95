import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether requests are refused while the process is overloaded. */
    readonly shedsLoad?: boolean;
  }
}

const sampleIntervalMs = 1000;
const resolutionMs = 10;

/**
 * Refuses new captures with QUEUE_FULL while the process is overloaded; status and files stay available. Requests
 * without a valid API key are refused first. The others are refused if the overload persists.
 */
export function shedLoad(app: FastifyInstance, holdsKey: (request: FastifyRequest) => Promise<boolean>): void {
  const overload = new Overload();
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  const timer = setInterval(() => {
    // Without a measurement, the event loop was blocked for the whole interval.
    overload.sample(delays.count === 0 ? Infinity : delays.mean / 1e6 - resolutionMs);
    delays.reset();
  }, sampleIntervalMs).unref();
  app.addHook('onClose', async () => {
    clearInterval(timer);
    delays.disable();
  });
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

/** Number of consecutive bad samples that mean overload. A single one can be a start, a pause of the machine, or one large body. */
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
