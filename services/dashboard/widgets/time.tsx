import { formatAgo, formatTime } from '../shell/format.ts';

/** A time as its distance from now, with the time itself on the element for pointers and programs. */
export function Ago({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatAgo(at)}
    </time>
  );
}

/** A time in the time zone of the browser, or a dash. */
export function Time({ at }: { readonly at: string | null }) {
  return at === null ? <>–</> : <time dateTime={at}>{formatTime(at)}</time>;
}
