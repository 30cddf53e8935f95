import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { EgressLog } from './egress-log.ts';
import { Lane, type EgressLane } from './lane.ts';
import { defaultLimits, type EgressLimits, type LaneLimit } from './limits.ts';
import { lookRegularly } from './look-regularly.ts';

export interface EgressProxyOptions {
  readonly policy: EgressPolicy;
  readonly log: EgressLog;
  /** What is left out is as in {@link defaultLimits}. */
  readonly limits?: Partial<EgressLimits>;
  /** Instead of the policy's own. */
  readonly lookup?: Lookup;
  /** Hears of each lane that meets a limit, once. */
  readonly onLimit?: (limit: LaneLimit) => void;
}

/** The browser's only way out. */
export interface EgressProxy {
  /** Opens a lane for one browser context. It costs a millisecond at most and can be done ahead of need. */
  openLane(): Promise<EgressLane>;
  /** Closes every lane that is still open. */
  close(): Promise<void>;
}

/** Starts the proxy. It listens on loopback, at one port for each lane. */
export async function startEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const { policy, log, limits, lookup, onLimit = () => undefined } = options;
  const lanes = new Set<Lane>();
  const all: EgressLimits = { ...defaultLimits, ...limits };
  const isLanePort = (port: number) => [...lanes].some((lane) => lane.port === port);
  const stopLooking = lookRegularly(Math.max(20, Math.min(250, all.responseTimeoutMs / 4)), (now, lateMs) => {
    for (const lane of lanes) lane.cutStalled(now, lateMs);
  });

  return {
    async openLane() {
      const lane = new Lane({
        policy,
        limits: all,
        log,
        lookup,
        onClose: (closed) => lanes.delete(closed),
        onLimit,
        isLanePort,
      });
      await lane.listen();
      lanes.add(lane);
      return lane;
    },
    async close() {
      stopLooking();
      await Promise.all([...lanes].map((lane) => lane.close()));
    },
  };
}
