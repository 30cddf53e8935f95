import type { Readable } from 'node:stream';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';

/** Cost of reading one chunk: as much processor time as this number of bytes in a large chunk. */
export const chunkBytes = 256;

/**
 * Collects the body of a request while it arrives. Pauses the stream when `limit` is reached; the client then waits until a higher limit is
 * allowed. Bytes are copied, because one-byte chunks would take a hundred times as much memory.
 */
export class BodyReader {
  readonly #stream: Readable;
  #limit: number;
  #bytes: Buffer<ArrayBuffer>;
  #length = 0;
  #chunks = 0;
  #hasEnded = false;
  #isGone = false;
  #stopped = Promise.withResolvers<void>();

  /** @param expected size in bytes, if the client has announced it */
  constructor(stream: Readable, limit: number, expected = 0) {
    this.#stream = stream;
    this.#limit = limit;
    this.#bytes = Buffer.allocUnsafeSlow(Math.min(expected, limit));
    stream.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onGone).on('close', this.#onGone);
  }

  /**
   * Returns the complete body in a separate buffer, or null if it exceeds the limit.
   *
   * @throws ServiceError VALIDATION_ERROR if the client disconnects before the end
   */
  async read(): Promise<Buffer<ArrayBuffer> | null> {
    await this.#stopped.promise;
    if (this.#isGone) throw new ServiceError('VALIDATION_ERROR', 'the body is incomplete');
    return this.#hasEnded ? this.#bytes.subarray(0, this.#length) : null;
  }

  /** Number of bytes read so far. */
  get length(): number {
    return this.#length;
  }

  /** Cost of reading so far, in bytes. */
  get cost(): number {
    return this.#length + this.#chunks * chunkBytes;
  }

  /** Continues reading up to a higher limit. @param expected as for the constructor */
  allow(limit: number, expected = 0): void {
    this.#limit = limit;
    if (this.#hasEnded || this.#isGone) return;
    if (expected > this.#bytes.length) this.#resize(Math.min(expected, limit));
    if (this.#length > limit) return;
    this.#stopped = Promise.withResolvers();
    this.#stream.resume();
  }

  /** Detaches from the stream and drops the bytes, so that another reader can read the rest. */
  stop(): void {
    this.#stream.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onGone);
    this.#stream.pause();
    this.#bytes = Buffer.allocUnsafeSlow(0);
    this.#length = 0;
    this.#isGone = true;
    this.#stopped.resolve();
  }

  readonly #onData = (chunk: Buffer) => {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) this.#resize(Math.max(length, Math.min(2 * length, this.#limit)));
    chunk.copy(this.#bytes, this.#length);
    this.#length = length;
    this.#chunks++;
    if (length <= this.#limit) return;
    this.#stream.pause();
    this.#stopped.resolve();
  };

  readonly #onEnd = () => {
    this.#hasEnded = true;
    this.#stopped.resolve();
  };

  readonly #onGone = () => {
    if (!this.#hasEnded) this.#isGone = true;
    this.#stopped.resolve();
  };

  #resize(size: number): void {
    const bytes = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(bytes, 0, 0, this.#length);
    this.#bytes = bytes;
  }
}
