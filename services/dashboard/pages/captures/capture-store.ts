import { signal } from '@preact/signals';
import type { Capture, CaptureEvent, CaptureStatus } from '@webcapture/client';
import { backoffMs } from '../../shell/backoff.ts';
import { isTemporary } from '../../shell/errors.ts';
import { type CaptureList, type CapturePage, emptyList, withChanged, withNewest, withOlder } from './capture-list.ts';

export interface CaptureSource {
  readonly page: (cursor: string | undefined, signal: AbortSignal) => Promise<CapturePage>;
  readonly one: (uuid: string, signal: AbortSignal) => Promise<Capture>;
}

/** Changes that come within this time are read together. */
const gatherMs = 300;
/** More changes than this are read as one page, not one by one. */
const maxSingleReads = 8;

/** The captures that the list has loaded, kept up with what happens to them. */
export class CaptureStore {
  readonly list = signal<CaptureList>(emptyList);
  /** Whether the first page has come. */
  readonly isReady = signal(false);
  readonly isLoading = signal(false);
  readonly problem = signal<unknown>(undefined);
  /** Unix milliseconds at which what failed is tried again. */
  readonly retryAt = signal<number | undefined>(undefined);

  readonly #source: CaptureSource;
  readonly #status: CaptureStatus | undefined;
  readonly #changed = new Set<string>();
  /** Of each kind at most one: a later one takes the place of the earlier. */
  readonly #loads = new Map<'newest' | 'older', AbortController>();
  /** Until the store is stopped. */
  #life = new AbortController();
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #failed: (() => Promise<void>) | undefined;

  constructor(source: CaptureSource, status: CaptureStatus | undefined) {
    this.#source = source;
    this.#status = status;
  }

  /** Reads the newest captures again. */
  loadNewest(): Promise<void> {
    return this.#load(
      'newest',
      (signal) => this.#source.page(undefined, signal),
      (page) => withNewest(this.list.value, page),
      () => this.loadNewest(),
    );
  }

  /** Reads the page after the oldest capture, if there is one. */
  async loadOlder(): Promise<void> {
    const { nextCursor } = this.list.value;
    if (nextCursor === null || this.isLoading.value) return;
    await this.#load(
      'older',
      (signal) => this.#source.page(nextCursor, signal),
      // Meanwhile the list may have begun anew.
      (page) => (this.list.value.nextCursor === nextCursor ? withOlder(this.list.value, page) : this.list.value),
      () => this.loadOlder(),
    );
  }

  /** Takes note of an event; what it is about is read soon. */
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

  /** Takes what a capture has become. */
  put(capture: Capture): void {
    this.list.value = withChanged(this.list.value, capture, this.#status);
  }

  /** Tries at once what has failed. */
  retry(): void {
    void this.#failed?.();
  }

  /** Stops what is under way and what is planned; what was loaded stays, and can be loaded again. */
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
