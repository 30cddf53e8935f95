import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { PriorityDepths, QueueFacts, RegionFacts } from '../../../../services/controller/health/facts.ts';

const quiet = { ended: 0, internalFailures: 0, queueWaitP95Ms: 0 };

export function heartbeat(pod: string, fields: Partial<RendererHeartbeat> = {}): RendererHeartbeat {
  return {
    pod,
    instance: 'one',
    region: 'us-east',
    version: '0.0.0',
    slots: 2,
    busy: 0,
    browser: 'up',
    draining: false,
    recent: quiet,
    jobs: [],
    at: 0,
    ...fields,
  };
}

/** Returns `count` healthy renderers. */
export function healthy(count: number, fields: Partial<RendererHeartbeat> = {}): RendererHeartbeat[] {
  return Array.from({ length: count }, (_, index) => heartbeat(`us-east-${index}`, fields));
}

export const idle: PriorityDepths = {
  interactive: 0,
  background: 0,
  backgroundHeld: 0,
  oldestInteractiveMs: null,
  oldestBackgroundMs: null,
};

/** A region without problems. */
export function region(fields: Partial<RegionFacts> = {}): RegionFacts {
  return {
    region: 'us-east',
    wanted: 1,
    isPending: false,
    fleetKnown: true,
    pods: healthy(1),
    silent: [],
    waiting: idle,
    canary: null,
    clusters: null,
    unreportedForMs: null,
    ...fields,
  };
}

export function answered(fields: Partial<QueueFacts & { kind: 'answered' }> = {}): QueueFacts {
  return {
    kind: 'answered',
    roundTripMs: 2,
    missing: [],
    waiting: {},
    shards: {},
    retired: {},
    results: null,
    ...fields,
  };
}
