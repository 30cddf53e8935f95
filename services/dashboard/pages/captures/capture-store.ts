import { signal } from '@preact/signals';
import type { Capture, CaptureEvent, CaptureStatus } from '@webcapture/client';
import { backoffMs } from '../../shell/backoff.ts';
import { isTemporary } from '../../shell/errors.ts';
import { type CaptureList, type CapturePage, emptyList, withChanged, withNewest, withOlder } from './capture-list.ts';

export interface CaptureSource {
  readonly page: (cursor: string | undefined, signal: AbortSignal) => Promise<CapturePage>;
  readonly one: (uuid: string, signal: AbortSignal) => Promise<Capture>;
}

/** Changes within this time are fetched together. */
const gatherMs = 300;
/** Number of changes above which the store fetches one page instead of single captures. */
const maxSingleReads = 8;

/** The captures that the list has loaded, updated from events. */
export class CaptureStore {
  readonly list = signal<CaptureList>(emptyList);
  /** Whether the first page is loaded. */
  readonly isReady = signal(false);
  readonly isLoading = signal(false);
  readonly problem = signal<unknown>(undefined);
  /** Unix milliseconds of the next retry. */
  readonly retryAt = signal<number | undefined>(undefined);

  readonly #source: CaptureSource;
  readonly #status: CaptureStatus | undefined;
  readonly #changed = new Set<string>();
  /** At most one timer of each kind: a new one replaces the previous one. */
  readonly #loads = new Map<'newest' | 'older', AbortController>();
  /** Aborted when the store stops. */
  #life = new AbortController();
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #failed: (() => Promise<void>) | undefined;

  constructor(source: CaptureSource, status: CaptureStatus | undefined) {
    this.#source = source;
    this.#status = status;
  }

  /** Fetches the newest captures again. */
  loadNewest(): Promise<void> {
    return this.#load(
      'newest',
      (signal) => this.#source.page(undefined, signal),
      (page) => withNewest(this.list.value, page),
      () => this.loadNewest(),
    );
  }

  /** Fetches the page after the oldest loaded capture, if there is one. */
  async loadOlder(): Promise<void> {
    const { nextCursor } = this.list.value;
    if (nextCursor === null || this.isLoading.value) return;
    await this.#load(
      'older',
      (signal) => this.#source.page(nextCursor, signal),
      // The list may have started again during the request.
      (page) => (this.list.value.nextCursor === nextCursor ? withOlder(this.list.value, page) : this.list.value),
      () => this.loadOlder(),
    );
  }

  /** Records an event; the store fetches its capture soon after. */
  noteEvent({ uuid, status }: CaptureEvent): void {
    const known = this.list.value.items.find((item) => item.uuid === uuid);
    if (known?.status === 'queued' && status === 'rendering' && this.#status === undefined) {
      this.list.value = withChanged(this.list.value, { ...known, status } as Capture, undefined);
      return;
    }
    this.#changed.add(uuid);
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      void this.#readChanged();
    }, gatherMs);
  }

  /** Stores the new state of a capture. */
  put(capture: Capture): void {
    this.list.value = withChanged(this.list.value, capture, this.#status);
  }

  /** Retries failed requests immediately. */
  retry(): void {
    void this.#failed?.();
  }

  /** Stops pending requests and timers. Loaded captures stay, and loading can start again. */
  stop(): void {
    this.#life.abort();
    this.#life = new AbortController();
    for (const load of this.#loads.values()) load.abort();
    this.#loads.clear();
    this.isLoading.value = false;
    clearTimeout(this.#gathering);
    clearTimeout(this.#retry);
    this.#gathering = undefined;
    this.#changed.clear();
  }

  async #readChanged(): Promise<void> {
    const { signal } = this.#life;
    const uuids = [...this.#changed];
    this.#changed.clear();
    const listed = new Set(this.list.value.items.map(({ uuid }) => uuid));
    const known = uuids.filter((uuid) => listed.has(uuid));
    if (known.length < uuids.length || known.length > maxSingleReads) await this.loadNewest();
    if (signal.aborted || known.length > maxSingleReads) return;
    const read = await Promise.allSettled(known.map((uuid) => this.#source.one(uuid, signal)));
    if (signal.aborted) return;
    for (const result of read) if (result.status === 'fulfilled') this.put(result.value);
  }

  async #load(
    kind: 'newest' | 'older',
    read: (signal: AbortSignal) => Promise<CapturePage>,
    take: (page: CapturePage) => CaptureList,
    again: () => Promise<void>,
  ): Promise<void> {
    clearTimeout(this.#retry);
    this.#loads.get(kind)?.abort();
    const load = new AbortController();
    const { signal } = load;
    this.#loads.set(kind, load);
    this.isLoading.value = true;
    this.retryAt.value = undefined;
    try {
      const page = await read(signal);
      if (signal.aborted) return;
      this.list.value = take(page);
      this.isReady.value = true;
      this.problem.value = undefined;
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      this.problem.value = error;
      this.#failed = again;
      if (!isTemporary(error)) return;
      const delayMs = backoffMs(this.#failures++);
      this.retryAt.value = Date.now() + delayMs;
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => void again(), delayMs);
    } finally {
      if (this.#loads.get(kind) === load) this.#loads.delete(kind);
      this.isLoading.value = this.#loads.size > 0;
    }
  }
}
