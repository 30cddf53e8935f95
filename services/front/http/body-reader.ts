import type { Readable } from 'node:stream';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';

/** A chunk costs as much processor time as this many bytes of a large chunk. */
export const chunkBytes = 256;

/**
 * Collects the body of a request while it arrives. Beyond `limit` the stream is paused, which makes the client wait,
 * until a higher limit is allowed. Bytes are copied: one-byte chunks would take a hundred times as much memory.
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

  /** @param expected bytes, if the client has said how many there will be */
  constructor(stream: Readable, limit: number, expected = 0) {
    this.#stream = stream;
    this.#limit = limit;
    this.#bytes = Buffer.allocUnsafeSlow(Math.min(expected, limit));
    stream.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onGone).on('close', this.#onGone);
  }

  /**
   * Returns the complete body in a separate buffer; null when it is larger than the limit.
   *
   * @throws ServiceError VALIDATION_ERROR when the client disconnects before the end
   */
  async read(): Promise<Buffer<ArrayBuffer> | null> {
    await this.#stopped.promise;
    if (this.#isGone) throw new ServiceError('VALIDATION_ERROR', 'the body did not arrive to its end');
    return this.#hasEnded ? this.#bytes.subarray(0, this.#length) : null;
  }

  /** Bytes that have been read so far. */
  get length(): number {
    return this.#length;
  }

  /** What it has cost to read so far, in bytes. */
  get cost(): number {
    return this.#length + this.#chunks * chunkBytes;
  }

  /** Continues reading beyond the former limit. @param expected as for the constructor */
  allow(limit: number, expected = 0): void {
    this.#limit = limit;
    if (this.#hasEnded || this.#isGone) return;
    if (expected > this.#bytes.length) this.#resize(Math.min(expected, limit));
    if (this.#length > limit) return;
    this.#stopped = Promise.withResolvers();
    this.#stream.resume();
  }

  /** Detaches from the stream and drops the bytes; further data is for another reader. */
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
