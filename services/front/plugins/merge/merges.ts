import { mimeTypes } from '@webcapture/shared/api/formats.ts';
import { maxMergedBytes, maxMergedPages } from '@webcapture/shared/api/merge-request.ts';
import {
  type MergedDocument,
  mergeDocuments,
  TooManyPagesError,
} from '@webcapture/shared/documents/merge-documents.ts';
import type { MergeOrder } from '@webcapture/shared/documents/merge-order.ts';
import { UnreadableDocumentError } from '@webcapture/shared/documents/write-document.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { Counter, Histogram, type Registry } from 'prom-client';
import { AccountTurns } from '../../account-turns.ts';
import { RetryLaterError } from '../../admission.ts';
import { TokenBuckets } from '../../http/token-buckets.ts';

/** Maximum number of concurrent processes, because each may take 512 MiB of memory. */
export const maxMergeProcesses = 1;

/** Maximum number of merges of all accounts in progress, including those that wait for captures. */
const maxMerges = 32;
const maxMergesOfAccount = 2;
const retrySeconds = 5;

/**
 * Budget of process time of one account in seconds. It is enough for several large merges in a row, and refills at half of the elapsed
 * time.
 */
const secondsOfAccount = { capacity: 120, perSecond: 0.5 };

/** Timeout of a process, including the reads of the files. */
const timeoutMs = 60_000;

/** A capture's file in a merge. */
export interface MergePart {
  readonly title: string;
  readonly fileName: string;
}

export interface MergesDeps {
  readonly store: FileStore;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
  readonly metrics: MergeMetrics;
  /** Remaining process time of each account. */
  readonly seconds?: TokenBuckets;
}

/** Merges files of captures. Accounts share the processes fairly (round robin). */
export class Merges {
  readonly #deps: MergesDeps;
  readonly #turns = new AccountTurns(maxMergeProcesses);
  readonly #seconds: TokenBuckets;
  readonly #closing = new AbortController();
  /** Number of merges in progress by account. */
  readonly #counts = new Map<string, number>();

  constructor(deps: MergesDeps) {
    this.#deps = deps;
    this.#seconds = deps.seconds ?? new TokenBuckets(secondsOfAccount);
  }

  /** Aborts all processes. */
  close(): void {
    this.#closing.abort();
  }

  /**
   * Admits a merge. This precedes the captures of its pages, because captures are charged.
   *
   * @returns a function that ends the merge
   * @throws ServiceError QUEUE_FULL
   */
  begin(account: string): () => void {
    const count = this.#counts.get(account) ?? 0;
    const ofAll = [...this.#counts.values()].reduce((sum, each) => sum + each, 0);
    const hasSeconds = this.#seconds.level(account) > 0;
    if (!hasSeconds || count >= maxMergesOfAccount || ofAll >= maxMerges) {
      this.#deps.metrics.merge('refused');
      const seconds = hasSeconds ? retrySeconds : this.#seconds.secondsUntil(account, 1);
      const message = 'Too many documents are being merged. Send the request again later.';
      throw new RetryLaterError('QUEUE_FULL', message, seconds, { causedBy: 'client' });
    }
    this.#counts.set(account, count + 1);
    return () => {
      const left = (this.#counts.get(account) ?? 1) - 1;
      if (left === 0) this.#counts.delete(account);
      else this.#counts.set(account, left);
    };
  }

  /**
   * Merges the files when it is the account's turn.
   *
   * @throws ServiceError PAGE_TOO_LARGE; QUEUE_FULL after a timeout; STORAGE_FAILED, including a FileReplacedError, for which
   *   {@link retryIfReplaced} retries; the reason of `clientGone` if it aborts
   */
  merge(
    parts: readonly MergePart[],
    options: Pick<MergeOrder, 'pageLabels' | 'metadata' | 'encryption'>,
    { account, clientGone }: { readonly account: string; readonly clientGone: AbortSignal },
  ): Promise<MergedDocument> {
    const signal = AbortSignal.any([clientGone, this.#closing.signal]);
    const work = async () => {
      const since = performance.now();
      try {
        const merged = await this.#merge(parts, options, signal);
        this.#deps.metrics.merge('merged', performance.now() - since);
        return merged;
      } catch (error) {
        signal.throwIfAborted();
        const isRefused = error instanceof ServiceError && error.code === 'PAGE_TOO_LARGE';
        this.#deps.metrics.merge(isRefused ? 'too_large' : 'failed');
        throw error;
      } finally {
        this.#seconds.spend(account, (performance.now() - since) / 1000);
      }
    };
    return this.#turns.run(account, work, signal);
  }

  async #merge(
    parts: readonly MergePart[],
    options: Pick<MergeOrder, 'pageLabels' | 'metadata' | 'encryption'>,
    signal: AbortSignal,
  ): Promise<MergedDocument> {
    const { store, now } = this.#deps;
    const timeout = AbortSignal.timeout(timeoutMs);
    const end = AbortSignal.any([signal, timeout]);
    const limits = { deadline: now() + timeoutMs, signal: end };
    const files = await Promise.all(
      parts.map(async ({ fileName }, index) => {
        const file = await store.stat(fileName, limits);
        if (file?.contentType === mimeTypes.pdf) return file;
        throw new ServiceError('STORAGE_FAILED', `documents.${index}: its file no longer exists.`);
      }),
    );
    assertBytes(files.reduce((sum, { size }) => sum + size, 0));
    async function* bytes() {
      for (const file of files) yield* store.read(file, undefined, limits);
    }
    const documents = files.map(({ size }, index) => ({ title: parts[index]?.title ?? '', size }));
    try {
      return await mergeDocuments({ ...options, documents, maxPages: maxMergedPages }, bytes(), end);
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.aborted) {
        const message = 'The documents could not be merged in time. Send the request again later.';
        throw new RetryLaterError('QUEUE_FULL', message, retrySeconds, { causedBy: 'service' });
      }
      if (error instanceof TooManyPagesError) throw tooManyPages();
      if (error instanceof UnreadableDocumentError) throw unreadable(error);
      throw error;
    }
  }
}

/** @throws ServiceError PAGE_TOO_LARGE */
export function assertBytes(bytes: number): void {
  if (bytes <= maxMergedBytes) return;
  throw new ServiceError(
    'PAGE_TOO_LARGE',
    `The files of the documents have ${bytes} bytes together, but at most ${maxMergedBytes} bytes can be merged. Merge fewer documents at once.`,
  );
}

/** @throws ServiceError PAGE_TOO_LARGE */
export function assertPages(pages: number): void {
  if (pages > maxMergedPages) throw tooManyPages();
}

const tooManyPages = () =>
  new ServiceError(
    'PAGE_TOO_LARGE',
    `The documents have more than ${maxMergedPages} pages together. Merge fewer documents at once, or select pages of requests with pdf.pageRanges.`,
  );

/** The message of the cause begins with the index of the document, unless the process was killed. */
function unreadable(cause: UnreadableDocumentError): ServiceError {
  const index = /^\d+(?=: )/.exec(cause.message)?.[0];
  const which = index === undefined ? 'One of the documents' : `documents.${index}`;
  return new ServiceError(
    'PAGE_TOO_LARGE',
    `${which} is too large, or too unusual, to be merged. Leave it out, or capture it with pdf.tagged false.`,
    { cause },
  );
}

const mergeResults = ['merged', 'too_large', 'refused', 'failed'] as const;

export interface MergeMetrics {
  /** Counts a merge. `ms` is the duration of its process. */
  merge(result: (typeof mergeResults)[number], ms?: number): void;
}

/** Counts merges of documents. */
export function createMergeMetrics(registry: Registry): MergeMetrics {
  const registers = [registry];
  const merges = new Counter({
    name: 'webcapture_front_merges_total',
    help: 'Merges of documents, by result: merged, too_large (the documents exceed the limits of a merge, or cannot be read), refused (too many at once), failed (no file, or no process to merge it). Merges whose captures failed, and abandoned merges, do not count.',
    labelNames: ['result'],
    registers,
  });
  for (const result of mergeResults) merges.inc({ result }, 0);
  const seconds = new Histogram({
    name: 'webcapture_front_merge_seconds',
    help: 'Duration of merging documents, including the start of the process and reading the files.',
    buckets: [0.2, 0.5, 1, 2, 5, 10, 20, 30, 60],
    registers,
  });
  return {
    merge(result, ms) {
      merges.inc({ result });
      if (ms !== undefined) seconds.observe(ms / 1000);
    },
  };
}
