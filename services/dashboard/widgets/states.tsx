import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { errorInWords, isForbidden } from '../shell/errors.ts';
import type { Query } from '../shell/query.ts';

export function Loading({ label }: { readonly label: string }) {
  return (
    <div class="state is-loading" role="status">
      <span class="spinner" aria-hidden="true" />
      {label}
    </div>
  );
}

/** Shows placeholder lines while content loads for the first time. Screen readers announce the label. */
export function Skeleton({ label }: { readonly label: string }) {
  return (
    <div class="skeleton is-loading" role="status">
      <span class="visually-hidden">{label}</span>
      <span class="skeleton-line" aria-hidden="true" />
      <span class="skeleton-line" aria-hidden="true" />
      <span class="skeleton-line" aria-hidden="true" />
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children !== undefined && <div class="state-body">{children}</div>}
    </div>
  );
}

/**
 * Shows an error of the API. `onRetry` adds a button, and `retryAt` (Unix milliseconds) shows the time until the automatic retry. An error
 * about a missing permission has neither, because a retry cannot succeed.
 */
export function ErrorState({
  error,
  onRetry,
  retryAt,
}: {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
  readonly retryAt?: number | undefined;
}) {
  const { message, code, requestId } = errorInWords(error);
  if (isForbidden(error)) {
    return (
      <div class="message is-warning" role="alert">
        <p>{message}</p>
      </div>
    );
  }
  return (
    <div class="message is-danger" role="alert">
      <p>{message}</p>
      {(code !== undefined || requestId !== null) && (
        <p class="message-detail">
          {code !== undefined && <code>{code}</code>}
          {requestId !== null && <> request {requestId}</>}
        </p>
      )}
      {onRetry !== undefined && (
        <div class="message-actions">
          <button type="button" class="button is-small" onClick={onRetry}>
            Try again
          </button>
          {retryAt !== undefined && <Countdown until={retryAt} />}
        </div>
      )}
    </div>
  );
}

/** The countdown is hidden from screen readers, because they would announce each second. */
function Countdown({ until }: { readonly until: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span aria-hidden="true">Retrying in {Math.max(0, Math.ceil((until - now) / 1000))} s</span>;
}

/**
 * Content below something that is loading. Its requests start immediately, but it appears together with the content above, so that nothing
 * moves under the pointer.
 */
export function Below<T>({
  query: { data, error },
  children,
}: {
  readonly query: Pick<Query<T>, 'data' | 'error'>;
  readonly children: ComponentChildren;
}) {
  return <div hidden={data === undefined && error === undefined}>{children}</div>;
}

/** Shows the state of a query: a skeleton, the error above the latest response, and the data. */
export function Loaded<T>({
  query,
  label,
  children,
}: {
  readonly query: Query<T>;
  readonly label: string;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, error, isLoading, reload, retryAt } = query;
  return (
    <>
      {error !== undefined && <ErrorState error={error} onRetry={reload} retryAt={retryAt} />}
      {data !== undefined ? children(data) : isLoading && error === undefined && <Skeleton label={label} />}
    </>
  );
}
