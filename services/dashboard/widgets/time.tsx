import { formatAgo, formatTime } from '../shell/format.ts';

/** A time relative to now, with the exact time in the title and the datetime attribute. */
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
