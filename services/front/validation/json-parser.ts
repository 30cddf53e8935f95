import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import Tinypool from 'tinypool';
import { parseJson } from './input.ts';
import type { Parsed, Unparsed } from './parse-large.ts';

/** An idle thread ends after this time. */
const idleTimeoutMs = 60_000;

/** Limit of the heap, far more than a scanned body of 8 MiB needs. */
const maxHeapMb = 256;

/**
 * Parses JSON bodies, large ones in a separate thread. Scanning and parsing the longest HTML would block the event loop for 3 to 60 ms, and
 * 8 MiB of blanks for 130 ms. With a thread, only copying to and from it blocks the event loop.
 */
export class JsonParser {
  readonly #maxAtOnce: number;
  readonly #pool = new Tinypool({
    filename: new URL('./parse-large.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleTimeoutMs,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });

  /** @param maxAtOnce maximum size in bytes of bodies that are parsed in this thread */
  constructor(maxAtOnce: number) {
    this.#maxAtOnce = maxAtOnce;
  }

  /**
   * Parses a body.
   *
   * @param bytes in a separate buffer, which is transferred
   * @param maxValues as for `scanJson`
   * @throws ServiceError VALIDATION_ERROR with the problem and its position
   */
  async parse(bytes: Buffer<ArrayBuffer>, maxValues?: number): Promise<unknown> {
    if (bytes.length <= this.#maxAtOnce) return parseJson(bytes, maxValues);
    const parsed = (await this.#pool.run({ bytes, maxValues } satisfies Unparsed, {
      transferList: [bytes.buffer],
    })) as Parsed;
    if ('refusal' in parsed) throw new ServiceError('VALIDATION_ERROR', parsed.refusal);
    return parsed.value;
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
