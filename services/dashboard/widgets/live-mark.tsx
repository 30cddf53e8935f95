import type { StreamState } from '../shell/event-stream.ts';

/** Shows whether the content updates automatically. If it does not, shows why. */
export function LiveMark({ state }: { readonly state: StreamState }) {
  const isLive = state.kind === 'live';
  return (
    <span class={isLive ? 'live-mark is-live' : 'live-mark'} role="status">
      <span class="live-dot" aria-hidden="true" />
      {isLive ? 'Live' : state.kind === 'ended' ? 'Not live' : 'Connecting…'}
    </span>
  );
}
