import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Caller } from '../accounts/authenticator.ts';
import type { ErrorCode } from '@webcapture/shared/errors/table.ts';

/** What is found out about a request on its way, for the log and the metrics. */
export interface RequestFacts {
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  /** Milliseconds spent waiting for a renderer: no time of the front's own. */
  waitedMs: number;
  account?: string;
  /** Whose key it carries, once that has been checked. */
  caller?: Caller;
  record?: Pick<CaptureRecord, 'uuid' | 'region'>;
  /** The error that was answered. */
  code?: ErrorCode;
}

declare module 'fastify' {
  interface FastifyRequest {
    facts: RequestFacts;
  }
}

export const newFacts = (): RequestFacts => ({ startedAt: performance.now(), waitedMs: 0 });

/** Who sends the request: of a route that has its key checked before anything else. */
export function callerOf({ facts: { caller } }: { readonly facts: RequestFacts }): Caller {
  if (caller === undefined) throw new TypeError('the key of a request was not checked');
  return caller;
}

/** Told when a wait begins and ends, it adds up what is no time of the front's own. */
export function waitClock(facts: RequestFacts): (waiting: boolean) => void {
  let waitingSince = 0;
  return (waiting) => {
    if (waiting) waitingSince = performance.now();
    else facts.waitedMs += performance.now() - waitingSince;
  };
}
