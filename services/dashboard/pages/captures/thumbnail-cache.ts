import { WebcaptureError } from '@webcapture/client';

/** Loads a picture; null if the capture has none and never will. */
type LoadPicture = (uuid: string, signal: AbortSignal) => Promise<Blob | null>;

export interface ThumbnailCacheOptions {
  readonly load: LoadPicture;
  /** Maximum number of simultaneous requests. */
  readonly concurrency?: number;
  /** Maximum number of kept pictures that are not on the screen. */
  readonly maxIdle?: number;
  /** Milliseconds before a failed thumbnail on the screen is loaded again, if the service names no time. */
  readonly retryMs?: number;
  readonly urls?: Pick<typeof URL, 'createObjectURL' | 'revokeObjectURL'>;
}

interface Entry {
  readonly uuid: string;
  readonly listeners: Set<(url: string | null) => void>;
  /** Undefined while the thumbnail is loading. */
  url: string | null | undefined;
  loading: AbortController | undefined;
}

/**
 * Thumbnails as object URLs. Visible thumbnails load in order. A thumbnail that is scrolled out of view before its turn is not loaded.
 * Thumbnails that are no longer visible are kept for some time and then revoked.
 */
export class ThumbnailCache {
  readonly #options: Required<ThumbnailCacheOptions>;
  /** Entries by key, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Keys that wait to be loaded. */
  #waiting: string[] = [];
  #running = 0;

  constructor(options: ThumbnailCacheOptions) {
    this.#options = { concurrency: 4, maxIdle: 200, retryMs: 10_000, urls: URL, ...options };
  }

  /**
   * Shows the thumbnail of a capture until the returned function is called.
   *
   * @param version changes with the picture
   * @param listener receives the URL, or null if there is no picture; immediately if the result is known
   */
  show(uuid: string, version: string, listener: (url: string | null) => void): () => void {
    const key = `${uuid} ${version}`;
    const entry = this.#entries.get(key) ?? { uuid, listeners: new Set(), url: undefined, loading: undefined };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.listeners.add(listener);
    if (entry.url !== undefined) listener(entry.url);
    else if (entry.loading === undefined && !this.#waiting.includes(key)) this.#waiting.push(key);
    this.#start();
    return () => {
      entry.listeners.delete(listener);
      if (entry.listeners.size === 0) this.#release(key, entry);
    };
  }

  /** Clears the cache, for example when another key signs in. */
  clear(): void {
    for (const [key, entry] of this.#entries) this.#drop(key, entry);
    this.#waiting = [];
  }

  #release(key: string, entry: Entry): void {
    if (entry.url === undefined) this.#drop(key, entry);
    let idle = [...this.#entries.values()].filter(({ listeners }) => listeners.size === 0).length;
    for (const [oldKey, old] of this.#entries) {
      if (idle <= this.#options.maxIdle) return;
      if (old.listeners.size > 0) continue;
      this.#drop(oldKey, old);
      idle--;
    }
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#waiting = this.#waiting.filter((other) => other !== key);
    entry.loading?.abort();
    if (typeof entry.url === 'string') this.#options.urls.revokeObjectURL(entry.url);
  }

  #start(): void {
    while (this.#running < this.#options.concurrency) {
      const key = this.#waiting.shift();
      if (key === undefined) return;
      const entry = this.#entries.get(key);
      if (entry !== undefined) void this.#load(key, entry);
    }
  }

  async #load(key: string, entry: Entry): Promise<void> {
    this.#running++;
    entry.loading = new AbortController();
    const { signal } = entry.loading;
    try {
      const picture = await this.#options.load(entry.uuid, signal);
      if (signal.aborted) return;
      entry.url = picture === null ? null : this.#options.urls.createObjectURL(picture);
      for (const listener of entry.listeners) listener(entry.url);
    } catch (error) {
      if (signal.aborted) return;
      for (const listener of entry.listeners) listener(null);
      const waitMs = (error instanceof WebcaptureError && error.retryAfterMs) || this.#options.retryMs;
      setTimeout(() => {
        if (this.#entries.get(key) !== entry) return;
        this.#waiting.push(key);
        this.#start();
      }, waitMs);
    } finally {
      entry.loading = undefined;
      this.#running--;
      this.#start();
    }
  }
}
