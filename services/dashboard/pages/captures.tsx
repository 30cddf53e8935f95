import type { Capture, CaptureStatus } from '@webcapture/client';
import { extensions } from '@webcapture/shared/api/formats.ts';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isTemporary } from '../shell/errors.ts';
import { formatBytes, formatDuration, formatNumber } from '../shell/format.ts';
import { Page } from '../shell/page.tsx';
import { linkTo, routeQuery } from '../shell/routes.ts';
import { client, onKeyChange, sessions } from '../shell/session.ts';
import { Empty, ErrorState, Loading, Skeleton } from '../widgets/states.tsx';
import './captures/captures.css';
import { matches } from './captures/capture-list.ts';
import { CaptureStore } from './captures/capture-store.ts';
import { StatusBadge } from './captures/status-badge.tsx';
import { Thumbnail } from './captures/thumbnail.tsx';
import { VirtualList } from './captures/virtual-list.tsx';
import { UntrustedLine } from '../widgets/untrusted-text.tsx';
import { LiveMark } from '../widgets/live-mark.tsx';
import { useEvents } from '../shell/events.ts';
import { Ago } from '../widgets/time.tsx';

const statuses: readonly CaptureStatus[] = ['queued', 'rendering', 'completed', 'failed', 'expired', 'deleted'];
const pageSize = 100;
const rowHeightRem = 5.5;
/** Poll interval while the event stream is down. */
const pollMs = 10_000;
/** Maximum number of pages that one press of the button searches. */
const pagesPerSearch = 10;

/** The list is stored outside of the component. It is therefore still loaded when the user returns from a capture. */
let kept: { readonly key: string; readonly store: CaptureStore; readonly scrollY: number } | undefined;

onKeyChange(() => (kept = undefined));

function storeFor(status: CaptureStatus | undefined): { store: CaptureStore; scrollY: number } {
  const key = `${sessions.key.peek()?.secret} ${status}`;
  if (kept?.key === key) return kept;
  const api = client();
  const store = new CaptureStore(
    {
      page: (cursor, signal) => api.listCapturesPage({ limit: pageSize, cursor, status, signal }),
      one: (uuid, signal) => api.getCapture(uuid, { signal }),
    },
    status,
  );
  kept = { key, store, scrollY: 0 };
  return kept;
}

/** Lists all captures of the account, newest first. */
export function CapturesPage() {
  const [status, setStatus] = useState(() => statuses.find((each) => each === routeQuery.peek().get('status')));
  const [search, setSearch] = useState(() => routeQuery.peek().get('search') ?? '');
  const state = useEvents('key', (event) => storeFor(status).store.noteEvent(event));
  // The filter is stored with the list, so that a user who returns from a capture finds the same filter.
  useLayoutEffect(() => {
    const query = new URLSearchParams({ ...(status && { status }), ...(search && { search }) }).toString();
    // Typing replaces the history entry instead of adding one for each letter.
    history.replaceState(null, '', linkTo('captures') + (query && `?${query}`));
  }, [status, search]);

  return (
    <Page title="Captures" actions={<LiveMark state={state} />}>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          <span class="visually-hidden">Search</span>
          <input
            class="input"
            type="search"
            placeholder="Search address, title, error"
            value={search}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        <label>
          <span class="visually-hidden">Status</span>
          <select
            class="input"
            value={status ?? ''}
            onChange={({ currentTarget }) => setStatus(statuses.find((each) => each === currentTarget.value))}
          >
            <option value="">All statuses</option>
            {statuses.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </form>
      <Captures key={status ?? ''} status={status} search={search} isLive={state.kind === 'live'} />
    </Page>
  );
}

function Captures({
  status,
  search,
  isLive,
}: {
  readonly status: CaptureStatus | undefined;
  readonly search: string;
  readonly isLive: boolean;
}) {
  const { store, scrollY: formerScrollY } = useMemo(() => storeFor(status), [status]);
  const { items, nextCursor } = store.list.value;
  const found = useMemo(() => items.filter((capture) => matches(capture, search)), [items, search]);
  const isSearch = search.trim() !== '';
  const announced = useAnnouncedEnds(items);

  useEffect(() => {
    // The timer runs after the page has scrolled a new route to its top.
    const timer = setTimeout(() => scrollTo(0, formerScrollY));
    if (kept?.store === store) kept = { ...kept, scrollY: 0 };
    return () => {
      clearTimeout(timer);
      store.stop();
    };
  }, [store]);
  // The effect also runs when the stream reconnects, because events during the gap were missed.
  useEffect(() => {
    void store.loadNewest();
    if (isLive) return undefined;
    const timer = setInterval(() => {
      const problem = store.problem.peek();
      if (!document.hidden && (problem === undefined || isTemporary(problem))) void store.loadNewest();
    }, pollMs);
    return () => clearInterval(timer);
  }, [store, isLive]);

  const searchOlder = async () => {
    for (let page = 0; page < pagesPerSearch && store.problem.peek() === undefined; page++) await store.loadOlder();
  };
  return (
    <>
      <div class="visually-hidden" role="status">
        {announced}
      </div>
      {store.problem.value !== undefined && (
        <ErrorState error={store.problem.value} retryAt={store.retryAt.value} onRetry={() => store.retry()} />
      )}
      {found.length > 0 && (
        <VirtualList
          items={found}
          itemKey={({ uuid }) => uuid}
          rowHeightRem={rowHeightRem}
          label="Captures, newest first"
          onNearEnd={() => {
            if (!isSearch && store.problem.peek() === undefined) void store.loadOlder();
          }}
        >
          {(capture) => <CaptureRow capture={capture} />}
        </VirtualList>
      )}
      {!store.isReady.value && store.isLoading.value && <Skeleton label="Loading captures…" />}
      {store.isReady.value && found.length === 0 && nextCursor === null && (
        <Nothing isFiltered={isSearch || status !== undefined} />
      )}
      {store.isReady.value && (
        <div class="list-end">
          {store.isLoading.value && items.length > 0 && nextCursor !== null ? (
            <Loading label="Loading older captures…" />
          ) : (
            <EndOfList
              found={found.length}
              loaded={items.length}
              isAll={nextCursor === null}
              isSearch={isSearch}
              onOlder={() => void searchOlder()}
            />
          )}
        </div>
      )}
    </>
  );
}

function EndOfList({
  found,
  loaded,
  isAll,
  isSearch,
  onOlder,
}: {
  readonly found: number;
  readonly loaded: number;
  readonly isAll: boolean;
  readonly isSearch: boolean;
  readonly onOlder: () => void;
}) {
  if (loaded === 0 && isAll) return null;
  const scope = isAll ? `all ${formatNumber(loaded)} captures` : `the newest ${formatNumber(loaded)} captures`;
  return (
    <>
      <span>{isSearch ? `${formatNumber(found)} of ${scope} match` : isAll ? `Showing ${scope}.` : ''}</span>
      {!isAll && (
        <button type="button" class="button is-small" onClick={onOlder}>
          {isSearch ? 'Search older captures' : 'Load older captures'}
        </button>
      )}
    </>
  );
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No captures match">Change the search or the status.</Empty>;
  return (
    <Empty title="No captures yet">
      Create the first one in the <a href={linkTo('playground')}>playground</a>, or with the API.
    </Empty>
  );
}

/** Stores the scroll position while the user scrolls. At the time of unmounting, the page of the capture is already shown. */
function rememberPlace(): void {
  if (kept !== undefined) kept = { ...kept, scrollY };
}

function CaptureRow({ capture }: { readonly capture: Capture }) {
  const { uuid, region, metadata } = capture;
  const title = 'report' in capture ? capture.report.title : '';
  const address = metadata.url === 'about:blank' ? 'Supplied HTML' : metadata.url;
  return (
    <>
      <a class="capture-row" href={linkTo('captures', uuid)} onClick={rememberPlace}>
        <Thumbnail capture={capture} />
        <span class="capture-words">
          <UntrustedLine text={title.trim() || address} className="capture-title" />
          <span class="capture-address muted">
            {title.trim() !== '' && <UntrustedLine text={address} />}
            {'error' in capture && <UntrustedLine text={`${capture.error.code}: ${capture.error.message}`} />}
          </span>
          <span class="capture-facts muted">
            <StatusBadge capture={capture} />
            <Ago at={'capturedAt' in metadata ? metadata.capturedAt : acceptedAt(capture)} />
            <span class="is-minor">{factsOf(capture)}</span>
            <span class="is-minor">{region}</span>
          </span>
        </span>
      </a>
      {'batch' in capture && capture.batch !== undefined && (
        <a
          class="capture-batch"
          href={linkTo('batches', capture.batch)}
          aria-label={`Batch ${capture.batch}`}
          onClick={rememberPlace}
        >
          Batch
        </a>
      )}
    </>
  );
}

const acceptedAt = (capture: Capture) => ('acceptedAt' in capture ? capture.acceptedAt : '');

function factsOf(capture: Capture): string {
  const { metadata } = capture;
  const format = extensions[metadata.format].toUpperCase();
  if (!('width' in metadata)) return format;
  const size = metadata.format === 'none' ? '' : ` · ${metadata.width} × ${metadata.height}`;
  const took = 'processingTimeMs' in capture ? ` · ${formatDuration(capture.processingTimeMs)}` : '';
  return `${format}${size} · ${formatBytes(metadata.fileSizeBytes)}${took}`;
}

/** Returns a text that announces to screen readers the last capture that ended while the list is shown. */
function useAnnouncedEnds(items: readonly Capture[]): string {
  const [announced, setAnnounced] = useState('');
  const pending = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const ended = items.find(({ uuid, status }) => pending.current.has(uuid) && !isPending(status));
    pending.current = new Set(items.filter(({ status }) => isPending(status)).map(({ uuid }) => uuid));
    if (ended !== undefined) setAnnounced(`The capture of ${ended.metadata.url} is ${ended.status}.`);
  }, [items]);
  return announced;
}

const isPending = (status: CaptureStatus) => status === 'queued' || status === 'rendering';
