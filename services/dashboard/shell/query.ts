import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { backoffMs } from './backoff.ts';
import { isAbort, isTemporary } from './errors.ts';

export interface Query<T> {
  /** The latest response. It stays while a newer one is loaded, and also if loading fails. */
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Unix milliseconds of the next automatic retry after a temporary error. */
  readonly retryAt: number | undefined;
  readonly reload: () => void;
}

interface State<T> extends Omit<Query<T>, 'reload'> {
  /** The keys for which the data was loaded. */
  readonly keys: readonly unknown[];
}

const blank = { data: undefined, error: undefined, isLoading: true, retryAt: undefined };

/**
 * Loads the data of a page, and reloads it when `keys` change and every `everyMs`. After a temporary error (NATS is down, the
 * front restarts), it retries with backoff; after any other error, it waits for `reload`. It sends no requests while the tab is
 * hidden.
 */
export function useQuery<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  { everyMs }: { readonly everyMs?: number | undefined } = {},
): Query<T> {
  const [state, setState] = useState<State<T>>({ ...blank, keys });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    const life = new AbortController();
    let failures = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isDue = false;
    const again = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        isDue = document.hidden;
        if (!isDue) void attempt();
      }, ms);
    };
    const attempt = async () => {
      setState((before) => ({
        ...(hasKeys(before, keys) ? before : blank),
        keys,
        isLoading: true,
        retryAt: undefined,
      }));
      try {
        const data = await latest.current(life.signal);
        if (life.signal.aborted) return;
        failures = 0;
        setState({ data, error: undefined, isLoading: false, retryAt: undefined, keys });
        if (everyMs !== undefined) again(everyMs);
      } catch (error) {
        if (life.signal.aborted || isAbort(error)) return;
        const retryMs = isTemporary(error) ? backoffMs(failures++) : undefined;
        const retryAt = retryMs === undefined ? undefined : Date.now() + retryMs;
        setState((before) => ({ ...before, error, isLoading: false, retryAt }));
        if (retryMs !== undefined) again(retryMs);
      }
    };
    const whenVisible = () => {
      if (!document.hidden && isDue) {
        isDue = false;
        void attempt();
      }
    };
    document.addEventListener('visibilitychange', whenVisible);
    void attempt();
    return () => {
      life.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', whenVisible);
    };
  }, [...keys, everyMs, round]);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  // Data that was loaded for other keys is not shown.
  return { ...(hasKeys(state, keys) ? state : blank), reload };
}

function hasKeys<T>(state: State<T>, keys: readonly unknown[]): boolean {
  return state.keys.length === keys.length && state.keys.every((key, index) => key === keys[index]);
}
