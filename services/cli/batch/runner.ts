import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CaptureFailedError,
  type CaptureResult,
  NotFoundError,
  type Webcapture,
  WebcaptureError,
} from '@webcapture/client';
import { backoffMs } from '@webcapture/shared/runtime/deadline.ts';
import { remarks } from '../capture/command.ts';
import { asCaptureOptions } from '../capture/options.ts';
import { CliError, type ExitKind, kindOf, toCliError } from '../errors.ts';
import { checkRegular, withFileErrors, writeRegularFile } from '../files.ts';
import type { Entry } from './entries.ts';
import { beginEntry, type CapturedPage, type Journal } from './journal.ts';
import { AdaptiveConcurrency } from './adaptive-concurrency.ts';

/** Progress of a batch. */
export interface BatchProgress {
  readonly total: number;
  readonly saved: number;
  readonly failed: number;
  readonly underWay: number;
  readonly pauseMs: number;
}

export type BatchEvent =
  | { readonly type: 'saved'; readonly entry: Entry; readonly file: string }
  | { readonly type: 'failed'; readonly entry: Entry; readonly message: string }
  | { readonly type: 'retrying'; readonly entry: Entry; readonly ms: number; readonly message: string }
  | { readonly type: 'paused'; readonly ms: number };

interface BatchRunOptions {
  readonly client: Webcapture;
  readonly journal: Journal;
  readonly folder: string;
  readonly entries: readonly Entry[];
  /** Files by the id of their entry. */
  readonly files: ReadonlyMap<string, string>;
  readonly maxConcurrency: number;
  readonly maxRetries: number;
  readonly signal: AbortSignal;
  readonly onEvent: (event: BatchEvent, progress: BatchProgress) => void;
}

/** Failures that affect every entry. The batch ends, and a later run continues it. */
const fatalKinds: ReadonlySet<ExitKind> = new Set(['authentication', 'quota', 'file', 'interrupted', 'terminated']);

/** Number of consecutive entries without a response after which the batch ends. */
const maxUnservedEntries = 3;

/** Minimum number of retries while the service is unavailable. They take about 30 s, which is sufficient for a restart of the service. */
const minUnavailableRetries = 6;

const minBackoffMs = 500;
const maxBackoffMs = 10_000;

/** Captures the missing entries and saves their files. Create one for each run of the command. */
export class BatchRun {
  readonly #options: BatchRunOptions;
  readonly #concurrency: AdaptiveConcurrency;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #waiting: Entry[];
  readonly #failed = new Set<string>();
  #saved = 0;
  #underWay = 0;
  #unserved = 0;

  constructor(options: BatchRunOptions, done: ReadonlySet<string>) {
    this.#options = options;
    this.#concurrency = new AdaptiveConcurrency(options.maxConcurrency);
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
    this.#waiting = options.entries.filter(({ id }) => !done.has(id));
    this.#saved = done.size;
  }

  get progress(): BatchProgress {
    return {
      total: this.#options.entries.length,
      saved: this.#saved,
      failed: this.#failed.size,
      underWay: this.#underWay,
      pauseMs: this.#concurrency.pauseMs,
    };
  }

  /** Resolves when every entry has been saved or has failed. @throws CliError if the batch cannot continue */
  async run(): Promise<void> {
    const running = new Set<Promise<void>>();
    try {
      while (this.#waiting.length > 0 || running.size > 0) {
        this.#signal.throwIfAborted();
        const mayStart = this.#waiting.length > 0 && running.size < this.#concurrency.limit;
        const { pauseMs } = this.#concurrency;
        if (mayStart && pauseMs === 0) {
          // Promise.race would lose the error of a task that settles after another one.
          const task: Promise<void> = this.#start()
            .catch((error: unknown) => this.#stop.abort(error))
            .finally(() => running.delete(task));
          running.add(task);
          continue;
        }
        // A task that ends meanwhile may change the limit.
        const wake = new AbortController();
        const pause = mayStart ? sleep(pauseMs, undefined, { signal: wake.signal }).catch(() => undefined) : undefined;
        await Promise.race(
          [...running, pause, aborted(this.#signal, wake.signal)].filter((each) => each !== undefined),
        );
        wake.abort();
      }
      this.#signal.throwIfAborted();
    } catch (error) {
      this.#stop.abort(error);
      await Promise.allSettled(running);
      throw this.#signal.reason;
    }
  }

  async #start(): Promise<void> {
    const entry = this.#waiting.shift();
    if (entry === undefined) return;
    this.#underWay++;
    try {
      await this.#attempt(entry);
    } finally {
      this.#underWay--;
    }
  }

  async #attempt(entry: Entry): Promise<void> {
    const { maxRetries, journal } = this.#options;
    // The file is checked before the capture is charged.
    await checkRegular(this.#pathOf(entry));
    for (let attempt = 0; ; attempt++) {
      this.#signal.throwIfAborted();
      const sentAt = Date.now();
      try {
        const captured = await this.#capture(entry);
        await this.#save(entry, captured);
        return;
      } catch (thrown) {
        this.#signal.throwIfAborted();
        const error = toCliError(thrown);
        if (fatalKinds.has(error.kind) || !(thrown instanceof WebcaptureError)) throw error;
        if (kindOf(thrown) === 'rateLimit') {
          this.#refuse(entry, sentAt, thrown.retryAfterMs);
          return;
        }
        const retries = error.kind === 'unavailable' ? Math.max(maxRetries, minUnavailableRetries) : maxRetries;
        if (thrown.retryable && attempt < retries) {
          const ms = Math.max(thrown.retryAfterMs ?? 0, backoffMs(attempt + 1, minBackoffMs, maxBackoffMs));
          this.#options.onEvent({ type: 'retrying', entry, ms, message: thrown.message }, this.progress);
          await sleep(ms, undefined, { signal: this.#signal });
          continue;
        }
        this.#unserved = error.kind === 'unavailable' ? this.#unserved + 1 : 0;
        if (this.#unserved >= maxUnservedEntries) throw error;
        await journal.write({ type: 'failed', id: entry.id, code: thrown.code, message: thrown.message });
        this.#failed.add(entry.id);
        this.#options.onEvent({ type: 'failed', entry, message: thrown.message }, this.progress);
        return;
      }
    }
  }

  /** Handles an entry that a limit refused. It is the next one to be sent after the pause. */
  #refuse(entry: Entry, sentAt: number, retryAfterMs: number | null): void {
    this.#waiting.unshift(entry);
    const wasPaused = this.#concurrency.pauseMs > 0;
    this.#concurrency.onRefusal(sentAt, retryAfterMs);
    if (!wasPaused) this.#options.onEvent({ type: 'paused', ms: this.#concurrency.pauseMs }, this.progress);
  }

  /** Reuses the capture of an earlier run. */
  async #capture(entry: Entry): Promise<CapturedPage> {
    const { client, journal } = this.#options;
    const earlier = journal.states.get(entry.id);
    const known = earlier?.captured && (await this.#locate(earlier.captured));
    if (known !== undefined) return known;
    const queued = earlier?.queued === undefined ? undefined : await this.#waitForQueued(entry, earlier.queued);
    if (queued !== undefined) return this.#record(entry, queued);
    const { key } = journal.states.get(entry.id) ?? (await beginEntry(journal, entry, this.#fileOf(entry)));
    const request = asCaptureOptions(entry.request);
    const answer = await client.capture(
      { ...request, background: false },
      { idempotencyKey: key, signal: this.#signal },
    );
    return this.#record(entry, answer);
  }

  /**
   * Waits for a background capture. Returns undefined if the service has no file of it, because it could not be queued, was deleted or has
   * expired. In this case the entry begins anew.
   */
  async #waitForQueued(entry: Entry, uuid: string): Promise<CaptureResult | undefined> {
    const { client, journal } = this.#options;
    try {
      const ended = await client.waitFor(uuid, { signal: this.#signal });
      if (ended.status === 'completed') return ended;
    } catch (error) {
      // A retry would be another capture.
      if (error instanceof CaptureFailedError) await beginEntry(journal, entry, this.#fileOf(entry));
      if (!(error instanceof NotFoundError)) throw error;
    }
    await beginEntry(journal, entry, this.#fileOf(entry));
    return undefined;
  }

  async #record(entry: Entry, { uuid, fileUrl, metadata, report }: CaptureResult): Promise<CapturedPage> {
    this.#concurrency.onSuccess();
    this.#unserved = 0;
    const captured: CapturedPage = {
      uuid,
      fileUrl,
      format: metadata.format,
      width: metadata.width,
      height: metadata.height,
      title: report.title,
      httpStatus: report.httpStatus,
      remarks: remarks(report),
    };
    await this.#options.journal.write({ type: 'captured', id: entry.id, ...captured });
    return captured;
  }

  /**
   * Requests the address of the file from the service, because a journal from an untrusted source could contain any address. Returns
   * undefined if the service does not return the address. The capture is then found by its Idempotency-Key.
   */
  async #locate(captured: CapturedPage): Promise<CapturedPage | undefined> {
    try {
      const state = await this.#options.client.getCapture(captured.uuid, { signal: this.#signal });
      return state.status === 'completed' ? { ...captured, fileUrl: state.fileUrl } : undefined;
    } catch (error) {
      // FORBIDDEN: the key has the scope for captures, but not for reading.
      if (error instanceof WebcaptureError && (error.status === 404 || error.code === 'FORBIDDEN')) return undefined;
      throw error;
    }
  }

  /** Returns the path of an entry's file in the output folder. */
  #fileOf({ id }: Entry): string {
    const file = this.#options.files.get(id);
    if (file === undefined) throw new Error(`no file was chosen for ${id}`);
    return file;
  }

  #pathOf(entry: Entry): string {
    return join(this.#options.folder, this.#fileOf(entry));
  }

  async #save(entry: Entry, { fileUrl }: CapturedPage): Promise<void> {
    const { client, journal, folder } = this.#options;
    const file = this.#fileOf(entry);
    const path = this.#pathOf(entry);
    const { stream, size } = await this.#fetch(entry, fileUrl, client);
    await withFileErrors(path, () => makeFolders(folder, file));
    const bytes = await writeRegularFile(path, complete(stream, size));
    await journal.write({ type: 'saved', id: entry.id, bytes });
    this.#saved++;
    this.#options.onEvent({ type: 'saved', entry, file }, this.progress);
  }

  /** Captures the page again if the service no longer has the file. */
  async #fetch(entry: Entry, fileUrl: string, client: Webcapture): ReturnType<Webcapture['file']> {
    try {
      return await client.file(fileUrl, { signal: this.#signal });
    } catch (error) {
      if (!(error instanceof WebcaptureError) || (error.status !== 404 && error.status !== 410)) throw error;
      await beginEntry(this.#options.journal, entry, this.#fileOf(entry));
      const { fileUrl: newUrl } = await this.#capture(entry);
      return client.file(newUrl, { signal: this.#signal });
    }
  }
}

/** Creates the folders of a file. A link among them could lead out of the output folder. @throws CliError `file` */
async function makeFolders(folder: string, file: string): Promise<void> {
  let path = folder;
  for (const step of file.split('/').slice(0, -1)) {
    path = join(path, step);
    await mkdir(path, { recursive: true });
    if ((await lstat(path)).isSymbolicLink()) {
      throw new CliError(
        'file',
        `${path} is a link, which may lead out of ${folder}. Remove the link, or choose another folder.`,
      );
    }
  }
}

/** Throws if fewer bytes arrive than announced. */
async function* complete(stream: AsyncIterable<Uint8Array>, size: number | null): AsyncIterable<Uint8Array> {
  let received = 0;
  try {
    for await (const chunk of stream) {
      received += chunk.byteLength;
      yield chunk;
    }
  } catch (error) {
    throw new WebcaptureError('NETWORK_ERROR', `The download ended early, after ${received} bytes.`, { cause: error });
  }
  if (size !== null && received !== size) {
    throw new WebcaptureError('NETWORK_ERROR', `The download ended early, after ${received} of ${size} bytes.`);
  }
}

/** Rejects with the reason of the signal; stops waiting when `end` is aborted. */
function aborted(signal: AbortSignal, end: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true, signal: end });
  });
}

/** Returns the entries whose complete file has been saved. */
export async function findDone(journal: Journal, folder: string, entries: readonly Entry[]): Promise<Set<string>> {
  const done = new Set<string>();
  for (const { id } of entries) {
    const state = journal.states.get(id);
    if (state?.saved === undefined) continue;
    const size = await lstat(join(folder, state.file)).then(
      (found) => (found.isFile() ? found.size : -1),
      () => -1,
    );
    if (size === state.saved) done.add(id);
  }
  return done;
}

/** Creates the error that ends a batch, with advice for the user. */
export function batchError(error: CliError, { saved, total }: BatchProgress): CliError {
  const sentence = `${error.message} ${saved} of ${total} captured. Run the same command again to continue; no page is captured twice.`;
  return new CliError(error.kind, sentence, { cause: error });
}
