import type {
  AcceptedFile,
  ByteRange,
  CallLimits,
  ExpectedUpload,
  FilePage,
  FileStore,
  FileUploader,
  NewFile,
  StoredFile,
  Upload,
} from './file-store.ts';
import type { StoreMetrics, StoreOperation } from './store-metrics.ts';
import { UploadRejectedError } from './verify-upload.ts';

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

  accept(upload: Upload, expected: ExpectedUpload, limits?: CallLimits): Promise<AcceptedFile> {
    return this.#measure('accept', () => this.#store.accept(upload, expected, limits));
  }

  discard(name: string, upload: Upload, limits?: CallLimits): Promise<void> {
    return this.#measure('discard', () => this.#store.discard(name, upload, limits));
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

  #measure<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    return measure(this.#metrics, operation, call);
  }
}

/** An uploader whose calls are measured. */
export class MeasuredUploader implements FileUploader {
  readonly #uploader: FileUploader;
  readonly #metrics: StoreMetrics;

  constructor(uploader: FileUploader, metrics: StoreMetrics) {
    this.#uploader = uploader;
    this.#metrics = metrics;
  }

  upload(file: NewFile): ReturnType<FileUploader['upload']> {
    const upload = this.#uploader.upload(file);
    const stored = measure(this.#metrics, 'upload', () => upload.stored);
    stored.catch(() => undefined);
    return { sent: upload.sent, stored };
  }
}

async function measure<T>(metrics: StoreMetrics, operation: StoreOperation, call: () => Promise<T>): Promise<T> {
  const start = performance.now();
  try {
    const result = await call();
    metrics.called(operation, 'ok', performance.now() - start);
    return result;
  } catch (error) {
    // The store did what it is for.
    const isRejected = error instanceof UploadRejectedError;
    if (isRejected) metrics.rejected(error.reason);
    metrics.called(operation, isRejected ? 'ok' : 'failed', performance.now() - start);
    throw error;
  }
}
