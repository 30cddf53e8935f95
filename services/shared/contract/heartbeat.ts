import type { Region } from './regions.ts';

/** What a renderer says of itself every two seconds, under `fleet.<region>.<pod>`. */
export interface RendererHeartbeat {
  readonly pod: string;
  readonly region: Region;
  readonly version: string;
  readonly slots: number;
  readonly busy: number;
  /** `up`: the browser answers; `starting`: one is on its way; `down`: it could not be started. */
  readonly browser: 'up' | 'starting' | 'down';
  /** Pulls no more jobs: it is about to stop. */
  readonly draining: boolean;
  /** Captures that ended in the last five minutes, and those of them that failed for our own reasons. */
  readonly recent: {
    readonly ended: number;
    readonly failedByUs: number;
    readonly queueWaitP95Ms: number;
    /** From the start of rendering to the settled record; absent before the first. */
    readonly meanRenderMs?: number;
  };
  /** Unix milliseconds. */
  readonly at: number;
}

/** How often a renderer says it, and for how long a heartbeat counts as fresh. */
export const heartbeatIntervalMs = 2000;
export const heartbeatFreshMs = 5000;
