import type { CaptureEvent, EventsOptions, Overview } from '@webcapture/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { followEvents, type StreamState } from './event-stream.ts';
import { client, type Kind, sessions, signOut } from './session.ts';

/** Error codes of a stream whose key is no longer valid. A missing scope does not sign the user out. */
const signOutCodes: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'API_KEY_EXPIRED', 'API_KEY_REVOKED']);

interface Events {
  readonly key: CaptureEvent;
  readonly admin: Overview;
}

const streams: { readonly [K in Kind]: (options: EventsOptions) => AsyncIterable<Events[K]> } = {
  key: (options) => client('key').events(options),
  admin: (options) => client('admin').admin.events(options),
};

/** Follows the events of the account (`key`) or of the fleet (`admin`) while the component is shown. */
export function useEvents<K extends Kind>(kind: K, handler: (event: Events[K]) => void): StreamState {
  const [state, setState] = useState<StreamState>({ kind: 'connecting' });
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const ending = new AbortController();
    void followEvents<Events[K]>({
      open: streams[kind],
      onEvent: (event) => latest.current(event),
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
