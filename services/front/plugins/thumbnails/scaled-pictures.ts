import { LRUCache } from 'lru-cache';
import { extensions, isImageFormat } from '@webcapture/shared/api/formats.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { statusOf } from '@webcapture/shared/captures/view.ts';
import { uuidOfFileName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import { untilAborted } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { Counter, Histogram, type Registry } from 'prom-client';
import { RetryLaterError } from '../../admission.ts';
import { entryLimit } from '../../entry-limit.ts';
import { TokenBuckets } from '../../http/token-buckets.ts';
import { AccountTurns } from '../../account-turns.ts';
import { type ScaledPicture, scalePicture, UnreadablePictureError } from '../../pictures/picture-scaler.ts';

/**
 * Maximum number of concurrent processes, at most one for each account. If there were only one, a slow picture would delay all other
 * accounts.
 */
export const maxScalings = 2;

/** Maximum number of waiting pictures of all accounts. */
const maxWaiting = 512;
/** Maximum number of waiting pictures of one account. The dashboard requests four of a list concurrently. */
const maxWaitingOfAccount = 16;
const retrySeconds = 2;

/**
 * Budget of process time of one account in seconds. It is enough for a list of a hundred tall pages, and refills at half of the elapsed
 * time.
 */
const secondsOfAccount = { capacity: 60, perSecond: 0.5 };

const maxCacheBytes = 32 * 1024 * 1024;

/** Time for which an unreadable picture is not tried again. */
const unreadableTtlMs = 600_000;

/** Maximum size of scaled files, because the process holds the whole file in memory. */
const maxFileBytes = 64 * 1024 * 1024;

/** Limits of the scaled picture. Pictures are never enlarged. */
export interface WantedPicture {
  /** Pixels. */
  readonly maxWidth: number;
  readonly maxHeight?: number;
  /** Maximum ratio of height to width. Taller pictures are cut off at the bottom. */
  readonly maxAspect: number;
  readonly type: ScaledPicture['type'];
}

/** The scaled picture, in pixels. */
export interface ShownPicture extends ScaledPicture {
  /** Height of the shown part in the original picture, from its top. */
  readonly shownHeight: number;
}

/** Returns the size at which a picture of the given size is shown. */
function shownPicture(
  { width, height }: { readonly width: number; readonly height: number },
  { maxWidth, maxHeight = Infinity, maxAspect, type }: WantedPicture,
): ShownPicture {
  const shownHeight = Math.min(height, Math.ceil(width * maxAspect));
  const scale = Math.min(1, maxWidth / width, maxHeight / shownHeight);
  const scaled = (side: number) => Math.max(1, Math.round(side * scale));
  return { width: scaled(width), height: scaled(shownHeight), shownHeight, type };
}

export interface ScaledPicturesDeps {
  readonly store: FileStore;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
  readonly metrics: ScaledPictureMetrics;
  readonly log: Logger;
  /** Remaining process time of each account. */
  readonly seconds?: TokenBuckets;
}

interface Scaling {
  readonly picture: Promise<Buffer>;
  /** Aborts this scaling. */
  readonly abandoned: AbortController;
  /** Number of requests that wait for this scaling. */
  waiting: number;
}

/**
 * Scales pictures of captures in a few concurrent processes, which accounts get in turn. Results are cached, and concurrent requests share
 * a scaling. A scaling is aborted when all its clients have disconnected.
 */
export class ScaledPictures {
  readonly #deps: ScaledPicturesDeps;
  readonly #pictures = new LRUCache<string, Buffer>({
    maxSize: maxCacheBytes,
    sizeCalculation: ({ length }) => Math.max(1, length),
  });
  readonly #unreadable = new LRUCache<string, true>({ ...entryLimit(10_000), ttl: unreadableTtlMs });
  readonly #scalings = new Map<string, Scaling>();
  readonly #turns = new AccountTurns(maxScalings);
  readonly #seconds: TokenBuckets;
  readonly #closing = new AbortController();

  constructor(deps: ScaledPicturesDeps) {
    this.#deps = deps;
    this.#seconds = deps.seconds ?? new TokenBuckets(secondsOfAccount);
  }

  /** Aborts all processes. */
  close(): void {
    this.#closing.abort();
  }

  /**
   * Returns the file of a capture if it can be shown as a picture.
   *
   * @throws ServiceError NOT_FOUND if there is none; STORAGE_FAILED
   */
  async fileOf(record: CaptureRecord): Promise<StoredFile> {
    const status = statusOf(record, this.#deps.now());
    const none = (reason: string) => new ServiceError('NOT_FOUND', `The capture has no picture: ${reason}.`);
    const { format } = record.options;
    if (!isImageFormat(format)) throw none(`its file is a ${extensions[format].toUpperCase()}`);
    if (status !== 'completed') throw none(reasons[status]);
    const file = await this.#deps.store.stat(record.fileName);
    if (file === null || !file.contentType.startsWith('image/')) throw none(reasons.expired);
    return file;
  }

  /**
   * Scales a file that {@link fileOf} returned.
   *
   * @throws ServiceError NOT_FOUND if the file cannot be read as a picture; QUEUE_FULL if too many are being scaled;
   *   STORAGE_FAILED, including a FileReplacedError, for which {@link retryIfReplaced} retries; INTERNAL_ERROR; the reason of
   *   `clientGone` if it aborts
   */
  async scale(
    file: StoredFile,
    wanted: WantedPicture,
    { account, clientGone }: { readonly account: string; readonly clientGone: AbortSignal },
  ): Promise<{ picture: Buffer; shown: ShownPicture }> {
    const { metrics } = this.#deps;
    const shown = shownPicture(file, wanted);
    const fileKey = `${file.name} ${file.etag}`;
    const key = `${fileKey} ${shown.width} ${shown.height} ${shown.type}`;
    const known = this.#pictures.get(key);
    if (known !== undefined) {
      metrics.picture('cached');
      return { picture: known, shown };
    }
    if (this.#unreadable.has(fileKey)) {
      metrics.picture('unreadable');
      throw unreadable();
    }
    let scaling = this.#scalings.get(key);
    if (scaling === undefined) {
      this.#admit(account);
      const abandoned = new AbortController();
      const signal = AbortSignal.any([abandoned.signal, this.#closing.signal]);
      const work = () => this.#scale(file, shown, { key, fileKey, account, signal });
      scaling = { picture: this.#turns.run(account, work, signal), abandoned, waiting: 0 };
      this.#scalings.set(key, scaling);
    }
    scaling.waiting++;
    try {
      return { picture: await untilAborted(scaling.picture, clientGone), shown };
    } finally {
      scaling.waiting--;
      if (scaling.waiting === 0) {
        this.#scalings.delete(key);
        scaling.abandoned.abort();
      }
    }
  }

  #admit(account: string): void {
    const { ofAccount, ofAll } = this.#turns.waiting(account);
    const hasSeconds = this.#seconds.level(account) > 0;
    if (hasSeconds && ofAccount < maxWaitingOfAccount && ofAll < maxWaiting) return;
    this.#deps.metrics.picture('refused');
    throw new RetryLaterError(
      'QUEUE_FULL',
      'Too many pictures are being scaled. Send the request again later.',
      hasSeconds ? retrySeconds : this.#seconds.secondsUntil(account, 1),
      { causedBy: 'client' },
    );
  }

  async #scale(
    file: StoredFile,
    shown: ShownPicture,
    { key, fileKey, account, signal }: { key: string; fileKey: string; account: string; signal: AbortSignal },
  ): Promise<Buffer> {
    const { store, now, metrics, log } = this.#deps;
    const since = performance.now();
    try {
      if (file.size > maxFileBytes) throw new UnreadablePictureError(`it has ${file.size} bytes`);
      const picture = await scalePicture(file, shown, { store, now, signal });
      this.#pictures.set(key, picture);
      metrics.picture('scaled', performance.now() - since);
      return picture;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof UnreadablePictureError)) {
        metrics.picture('failed');
        throw error;
      }
      this.#unreadable.set(fileKey, true);
      metrics.picture('unreadable');
      log.warn({ err: error, uuid: uuidOfFileName(file.name) }, 'the file of a capture cannot be read as a picture');
      throw unreadable();
    } finally {
      this.#seconds.spend(account, (performance.now() - since) / 1000);
    }
  }
}

const reasons = {
  queued: 'it has not been rendered yet',
  rendering: 'it has not been rendered yet',
  failed: 'it has failed',
  expired: 'its file no longer exists',
  deleted: 'it was deleted',
} as const;

const unreadable = () =>
  new ServiceError('NOT_FOUND', 'The capture has no picture: its file cannot be scaled. Open fileUrl to see it.');

const pictureResults = ['scaled', 'cached', 'unreadable', 'refused', 'failed'] as const;

export interface ScaledPictureMetrics {
  /** Counts a requested scaled picture. `ms` is the duration of the scaling. */
  picture(result: (typeof pictureResults)[number], ms?: number): void;
}

/** Counts scaled pictures: thumbnails, and those for agents. */
export function createScaledPictureMetrics(registry: Registry): ScaledPictureMetrics {
  const registers = [registry];
  const pictures = new Counter({
    name: 'webcapture_front_pictures_total',
    help: 'Requested thumbnails and pictures for agents, by result: scaled, cached (from memory), unreadable (the file is not a picture that can be decoded within its limits), refused (too many at once), failed (no file, or no process to scale it). Concurrent requests for the same picture count once; abandoned requests do not count.',
    labelNames: ['result'],
    registers,
  });
  for (const result of pictureResults) pictures.inc({ result }, 0);
  const seconds = new Histogram({
    name: 'webcapture_front_picture_scaling_seconds',
    help: 'Duration of scaling one picture, including the start of its process and reading the file.',
    buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20],
    registers,
  });
  return {
    picture(result, ms) {
      pictures.inc({ result });
      if (ms !== undefined) seconds.observe(ms / 1000);
    },
  };
}
