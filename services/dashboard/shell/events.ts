import { useEffect, useRef, useState } from 'preact/hooks';
import { type Kind, sessions, signOut } from './session.ts';
import { openEvents } from './endpoints.ts';
import { followEvents, type StreamState } from './event-stream.ts';

/** What a stream ends with when its key no longer holds; without a scope one stays signed in. */
const signOutCodes: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'API_KEY_EXPIRED', 'API_KEY_REVOKED']);

/**
 * Follows the events of the account (`key`) or of the fleet (`admin`) for as long as the component is shown.
 *
 * @param handler is told the name of the event and its data, parsed
 */
export function useEvents(kind: Kind, handler: (event: string, data: unknown) => void): StreamState {
  const [state, setState] = useState<StreamState>({ kind: 'connecting' });
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const ending = new AbortController();
    void followEvents({
      connect: (signal) => openEvents(kind, signal),
      onEvent: ({ event, data }) => latest.current(event, JSON.parse(data)),
      onState: (next) => {
        setState(next);
        if (next.kind === 'ended' && signOutCodes.has(next.problem.code)) signOut(kind, next.problem.message);
      },
      signal: ending.signal,
    });
    return () => ending.abort();
  }, [kind, sessions[kind].value?.secret]);
  return state;
}
