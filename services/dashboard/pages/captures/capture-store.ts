import { signal } from '@preact/signals';
import type { Capture, CaptureEvent, CaptureStatus } from '@webcapture/client';
import { isTemporary } from '../../shell/errors.ts';
import { type CaptureList, type CapturePage, emptyList, withChanged, withNewest, withOlder } from './capture-list.ts';

export interface CaptureSource {
  readonly page: (cursor: string | undefined) => Promise<CapturePage>;
  readonly one: (uuid: string) => Promise<Capture>;
}

/** Changes that come within this time are read together. */
const gatherMs = 300;
/** More changes than this are read as one page, not one by one. */
const maxSingleReads = 8;
const maxRetryMs = 30_000;

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
      () => this.#source.page(undefined),
      (page) => withNewest(this.list.value, page),
      () => this.loadNewest(),
    );
  }

  /** Reads the page after the oldest capture, if there is one. */
  async loadOlder(): Promise<void> {
    const { nextCursor } = this.list.value;
    if (nextCursor === null || this.isLoading.value) return;
    await this.#load(
      () => this.#source.page(nextCursor),
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

  /** Stops what is planned. */
  rest(): void {
    clearTimeout(this.#gathering);
    clearTimeout(this.#retry);
    this.#gathering = undefined;
    this.#changed.clear();
  }

  async #readChanged(): Promise<void> {
    const uuids = [...this.#changed];
    this.#changed.clear();
    const listed = new Set(this.list.value.items.map(({ uuid }) => uuid));
    const known = uuids.filter((uuid) => listed.has(uuid));
    if (known.length < uuids.length || known.length > maxSingleReads) await this.loadNewest();
    if (known.length > maxSingleReads) return;
    const read = await Promise.allSettled(known.map((uuid) => this.#source.one(uuid)));
    for (const result of read) if (result.status === 'fulfilled') this.put(result.value);
  }

  async #load(
    read: () => Promise<CapturePage>,
    take: (page: CapturePage) => CaptureList,
    again: () => Promise<void>,
  ): Promise<void> {
    clearTimeout(this.#retry);
    this.isLoading.value = true;
    this.retryAt.value = undefined;
    try {
      this.list.value = take(await read());
      this.isReady.value = true;
      this.problem.value = undefined;
      this.#failures = 0;
    } catch (error) {
      this.problem.value = error;
      this.#failed = again;
      if (!isTemporary(error)) return;
      const delayMs = Math.min(maxRetryMs, 1000 * 2 ** this.#failures++);
      this.retryAt.value = Date.now() + delayMs;
      this.#retry = setTimeout(() => void again(), delayMs);
    } finally {
      this.isLoading.value = false;
    }
  }
}
