import { LRUCache } from 'lru-cache';
import { Counter, type Registry } from 'prom-client';
import Tinypool from 'tinypool';
import type { Comparison } from '@webcapture/shared/captures/capture-record.ts';
import { uuidOfFileName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import { comparisonScale, type Difference, type Pixels } from '@webcapture/shared/files/picture-difference.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { AccountTurns } from '../account-turns.ts';
import type { PicturePair } from './compare-large.ts';
import { scalePicture } from './picture-scaler.ts';

/** Maximum number of concurrent comparisons. Each takes up to 100 MiB of memory in this process, and more in its scaling processes. */
const maxComparisons = 1;

/** Maximum wait for other comparisons. */
const maxWaitMs = 30_000;

/** Timeout of one comparison. It takes a second of processor time. */
const timeoutMs = 30_000;

/** Maximum number of attempts to compare the same two files if each attempt times out, for example because the machine is busy. */
const maxTimeouts = 3;

/** An idle thread ends after this time. */
const idleTimeoutMs = 60_000;

/** Limit of the heap, which does not contain the pixels. */
const maxHeapMb = 128;

/** Larger files are not compared, because a process holds the whole file in memory. */
const maxFileBytes = 64 * 1024 * 1024;

/** A rectangle of both pictures, in pixels. */
export interface IgnoredBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface ComparedFiles {
  readonly before: StoredFile;
  readonly after: StoredFile;
  readonly threshold: number;
  readonly ignored: readonly IgnoredBox[];
}

/** The changed share of the pictures, and a PNG file that shows where. */
export interface ComparedPictures extends Pick<Comparison, 'changedShare'> {
  /** Undefined if the pictures are equal. */
  readonly picture?: { readonly bytes: Buffer; readonly width: number; readonly height: number };
}

const comparisonResults = ['equal', 'changed', 'skipped', 'postponed'] as const;
type CountComparison = (result: (typeof comparisonResults)[number]) => void;

/** Creates the counter of comparisons. */
export function createComparisonMetrics(registry: Registry): CountComparison {
  const counter = new Counter({
    name: 'webcapture_front_comparisons_total',
    help: 'Comparisons of the pictures of refreshes, by result: equal, changed, skipped (the files are too large, are no pictures, or timed out repeatedly), postponed (no time before the limit; the comparison is retried).',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of comparisonResults) counter.inc({ result }, 0);
  return (result) => counter.inc({ result });
}

interface PictureComparisonsDeps {
  readonly store: FileStore;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn'>;
  readonly count: CountComparison;
}

/**
 * Compares pictures of captures. Files may be hostile, so only confined processes decode them ({@link scalePicture}); the pixels are compared in
 * a thread.
 */
export class PictureComparisons {
  readonly #deps: PictureComparisonsDeps;
  readonly #turns = new AccountTurns(maxComparisons);
  readonly #closing = new AbortController();
  /** Number of timeouts, by the tags of both files. */
  readonly #timeouts = new LRUCache<string, number>({ max: 1000 });
  readonly #pool = new Tinypool({
    filename: new URL('./compare-large.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: maxComparisons,
    idleTimeout: idleTimeoutMs,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });

  constructor(deps: PictureComparisonsDeps) {
    this.#deps = deps;
  }

  /** Aborts all comparisons. */
  close(): Promise<void> {
    this.#closing.abort();
    return this.#pool.destroy();
  }

  /**
   * Compares two files of a capture. Returns null if they cannot be compared because they are too large, or are no pictures.
   *
   * @throws ServiceError QUEUE_FULL if other comparisons, or this one, take too long; it can be retried
   */
  async compare(
    files: ComparedFiles,
    options: { readonly account: string; readonly waitMs?: number },
  ): Promise<ComparedPictures | null> {
    const { count } = this.#deps;
    try {
      const compared = await this.#compareInTurn(files, options);
      if (compared === null) count('skipped');
      else count(compared.picture === undefined ? 'equal' : 'changed');
      return compared;
    } catch (error) {
      count('postponed');
      throw error;
    }
  }

  async #compareInTurn(
    files: ComparedFiles,
    { account, waitMs = maxWaitMs }: { readonly account: string; readonly waitMs?: number },
  ): Promise<ComparedPictures | null> {
    const { before, after } = files;
    const { log } = this.#deps;
    if (before.etag === after.etag) return { changedShare: 0 };
    if (Math.max(before.size, after.size) > maxFileBytes) return null;
    const { signal: closing } = this.#closing;
    const waiting = AbortSignal.timeout(waitMs);
    let timeout: AbortSignal | undefined;
    const work = () => {
      timeout = AbortSignal.timeout(timeoutMs);
      return this.#compare(files, AbortSignal.any([timeout, closing]));
    };
    try {
      return await this.#turns.run(account, work, AbortSignal.any([waiting, closing]));
    } catch (error) {
      const isTooSlow = timeout?.aborted === true && this.#countTimeout(files) < maxTimeouts;
      if (timeout === undefined || closing.aborted || isTooSlow) {
        throw new ServiceError('QUEUE_FULL', 'The pictures could not be compared in time.', {
          causedBy: 'service',
          cause: error,
        });
      }
      log.warn({ err: error, uuid: uuidOfFileName(after.name) }, 'the pictures of a refresh could not be compared');
      return null;
    }
  }

  #countTimeout({ before, after }: ComparedFiles): number {
    const key = `${before.etag} ${after.etag}`;
    const count = (this.#timeouts.get(key) ?? 0) + 1;
    this.#timeouts.set(key, count);
    return count;
  }

  async #compare({ before, after, threshold, ignored }: ComparedFiles, signal: AbortSignal): Promise<ComparedPictures> {
    const scale = comparisonScale([before, after]);
    const pixelsOf = async (file: StoredFile): Promise<Pixels> => {
      const size = { width: scaled(file.width, scale), height: scaled(file.height, scale) };
      const bytes = await scalePicture(file, { ...size, type: 'raw' }, { ...this.#deps, signal });
      const pixels = { ...size, data: new Uint8Array(bytes) };
      if (bytes.length !== size.width * size.height * 4) throw new Error('the picture has another size');
      for (const box of ignored) clear(pixels, box, scale);
      return pixels;
    };
    // The pictures are decoded sequentially, so that only one process needs memory.
    const pair: PicturePair = { before: await pixelsOf(before), after: await pixelsOf(after), threshold };
    const { picture, changedPixels, changedShare } = (await this.#pool.run(pair, {
      signal,
    })) as Difference;
    return changedPixels === 0 ? { changedShare } : { changedShare, picture: await encoded(picture) };
  }
}

const scaled = (side: number, scale: number) => Math.max(1, Math.round(side * scale));

/** Clears a rectangle of a picture, so that it does not differ from the same rectangle of another one. */
function clear({ width, height, data }: Pixels, box: IgnoredBox, scale: number): void {
  const [left, top] = [box.x, box.y].map((at) => Math.max(0, Math.floor(at * scale))) as [number, number];
  const right = Math.min(width, Math.ceil((box.x + box.width) * scale));
  const bottom = Math.min(height, Math.ceil((box.y + box.height) * scale));
  if (right <= left) return;
  for (let row = top; row < bottom; row++) data.fill(0, (row * width + left) * 4, (row * width + right) * 4);
}

async function encoded({ width, height, data }: Pixels) {
  // Loaded at the first difference: the library takes 15 MB of memory.
  const { default: sharp } = await import('sharp');
  const raw = { width, height, channels: 4 } as const;
  return { bytes: await sharp(data, { raw }).png().toBuffer(), width, height };
}
