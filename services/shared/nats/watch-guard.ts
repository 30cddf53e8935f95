import type { NatsSession } from './connect.ts';

export interface WatchGuard {
  /** Begins to watch the watch; `stop` ends it, so that it can be set up anew. */
  start(stop: () => void): void;
  /** The watch brought something. */
  heard(): void;
  end(): void;
}

const checkEveryMs = 250;

/**
 * Finds out that a watch has died in silence. Its consumer lives in the memory of one server: when that server restarts,
 * the client notices after two missed heartbeats of 30 s, and on a stream that was made anew never, since it waits for a
 * sequence that is far off. So a watch does not outlive its connection; and where something is written all the time, one
 * that had brought something and then falls silent (another server of the cluster held it) is dead as well.
 */
export function guardWatch(session: NatsSession, maxSilenceMs: number | undefined): WatchGuard {
  const begun = connectionId(session);
  let heardAt: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const isSilent = () =>
    maxSilenceMs !== undefined && heardAt !== null && session.connected() && performance.now() - heardAt > maxSilenceMs;
  return {
    start(stop) {
      timer = setInterval(() => {
        if (connectionId(session) !== begun || isSilent()) stop();
      }, checkEveryMs);
    },
    heard() {
      heardAt = performance.now();
    },
    end() {
      clearInterval(timer);
    },
  };
}

/** Differs from one connection of the session to the next. */
export function connectionId({ nc }: NatsSession): string {
  return `${nc.info?.server_id}:${nc.info?.client_id}`;
}
