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
