import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { defaultLimits, type EgressLimits, type SessionLimit } from './counters.ts';
import { ListeningSession, type EgressLog, type ProxySession } from './session.ts';
import { startTicker } from './stalls.ts';

export interface EgressProxyOptions {
  readonly policy: EgressPolicy;
  readonly log: EgressLog;
  /** What is left out is as in {@link defaultLimits}. */
  readonly limits?: Partial<EgressLimits>;
  /** Instead of the policy's own. */
  readonly lookup?: Lookup;
  /** Hears of each session that meets a limit, once. */
  readonly onLimit?: (limit: SessionLimit) => void;
}

/** The browser's only way out. */
export interface EgressProxy {
  /** Opens a session for one browser context. It costs a millisecond at most and can be done ahead of need. */
  openSession(): Promise<ProxySession>;
  /** Closes every session that is still open. */
  close(): Promise<void>;
}

/** Starts the proxy. It listens on loopback, at one port for each session. */
export async function startEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const { policy, log, limits, lookup, onLimit = () => undefined } = options;
  const sessions = new Set<ListeningSession>();
  const all: EgressLimits = { ...defaultLimits, ...limits };
  const isSessionPort = (port: number) => [...sessions].some((session) => session.port === port);
  const stopTicker = startTicker(Math.max(20, Math.min(250, all.responseTimeoutMs / 4)), (now, lateMs) => {
    for (const session of sessions) session.cutStalled(now, lateMs);
  });

  return {
    async openSession() {
      const session = new ListeningSession({
        policy,
        limits: all,
        log,
        lookup,
        onClose: (closed) => sessions.delete(closed),
        onLimit,
        isSessionPort,
      });
      await session.listen();
      sessions.add(session);
      return session;
    },
    async close() {
      stopTicker();
      await Promise.all([...sessions].map((session) => session.close()));
    },
  };
}
