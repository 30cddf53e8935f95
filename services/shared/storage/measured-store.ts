import type { ByteRange, CallLimits, FilePage, FileStore, NewFile, StoredFile } from './file-store.ts';
import type { StoreMetrics, StoreOperation } from './store-metrics.ts';

/** A store whose calls are measured. */
export class MeasuredStore implements FileStore {
  readonly #store: FileStore;
  readonly #metrics: StoreMetrics;

  constructor(store: FileStore, metrics: StoreMetrics) {
    this.#store = store;
    this.#metrics = metrics;
  }

  create(file: NewFile): Promise<StoredFile> {
    return this.#measure('create', () => this.#store.create(file));
  }

  replace(file: NewFile, previous: StoredFile): Promise<StoredFile | null> {
    return this.#measure('replace', () => this.#store.replace(file, previous));
  }

  stat(name: string, limits?: CallLimits): Promise<StoredFile | null> {
    return this.#measure('stat', () => this.#store.stat(name, limits));
  }

  async *read(file: StoredFile, range?: ByteRange, limits?: CallLimits): AsyncIterable<Uint8Array> {
    const parts = this.#store.read(file, range, limits)[Symbol.asyncIterator]();
    try {
      // The pace of the rest is the reader's.
      const first = await this.#measure('read', () => parts.next());
      for (let part = first; part.done !== true; part = await parts.next()) yield part.value;
    } finally {
      await parts.return?.();
    }
  }

  remove(name: string, limits?: CallLimits): Promise<void> {
    return this.#measure('remove', () => this.#store.remove(name, limits));
  }

  list(after: string | null, limit: number): Promise<FilePage> {
    return this.#measure('list', () => this.#store.list(after, limit));
  }

  async #measure<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      const result = await call();
      this.#metrics.called(operation, 'ok', performance.now() - start);
      return result;
    } catch (error) {
      this.#metrics.called(operation, 'failed', performance.now() - start);
      throw error;
    }
  }
}
