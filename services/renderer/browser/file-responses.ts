import { freeMemory } from '@webcapture/shared/runtime/free-memory.ts';

/**
 * The beginning of a response whose result is a file in base64. Of the commands with such a response, this service sends only those that
 * return a picture or a PDF.
 */
const beginning = /^\{"id":\d+,"result":\{"data":"/;
const maxBeginningLength = 64;

const quote = 0x22;

/**
 * Decodes the files in the responses of a browser from the chunks of its pipe. Playwright would join the chunks, convert them to a string
 * and parse the string: it would copy a file four times before it is decoded, and each copy would cause collections of garbage. Other
 * messages, and files that fit into one chunk, take the usual way through Playwright.
 *
 * @param dispatch reads a chunk in Playwright's way
 * @param deliver receives each response with a decoded file
 * @returns a function that takes each chunk of the pipe
 */
export function fileDecoder(
  dispatch: (chunk: Buffer) => void,
  deliver: (message: unknown) => void,
): (chunk: Buffer) => void {
  /** The chunks of a response with a file, until it is complete. */
  let held: Buffer[] = [];
  let isAtStart = true;
  const take = (chunk: Buffer): void => {
    if (chunk.length === 0) return;
    const end = held.length === 0 ? -1 : chunk.indexOf(0);
    if (end >= 0) {
      const message = parseFileResponse([...held, chunk.subarray(0, end)]);
      // The first and the last chunk may contain other messages.
      for (const own of held.slice(1)) if (own.length === own.buffer.byteLength) freeMemory(own);
      held = [];
      isAtStart = true;
      setImmediate(() => deliver(message));
      take(chunk.subarray(end + 1));
    } else if (held.length > 0) {
      held.push(chunk);
    } else {
      const start = chunk.lastIndexOf(0) + 1;
      const isFile = (start > 0 || isAtStart) && beginning.test(textOf(chunk, start, start + maxBeginningLength));
      isAtStart = start === chunk.length;
      if (isFile) held = [chunk.subarray(start)];
      if (!isFile || start > 0) dispatch(isFile ? chunk.subarray(0, start) : chunk);
    }
  };
  return take;
}

/** Parses a response, given in chunks. Its file becomes a Buffer. */
function parseFileResponse(chunks: readonly Buffer[]): unknown {
  const [first = Buffer.alloc(0), ...others] = chunks;
  const head = beginning.exec(textOf(first, 0, maxBeginningLength))?.[0] ?? '';
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const decoder = new Base64Decoder(length);
  let tail = '';
  for (const chunk of [first.subarray(head.length), ...others]) {
    const end = tail === '' ? chunk.indexOf(quote) : 0;
    if (end !== 0) decoder.add(end === -1 ? chunk : chunk.subarray(0, end));
    if (end !== -1) tail += textOf(chunk, end);
  }
  const message = JSON.parse(head + tail) as { readonly result: { data: unknown } };
  message.result.data = decoder.end();
  return message;
}

/** Decodes base64 that is given in pieces. */
class Base64Decoder {
  readonly #bytes: Buffer;
  #size = 0;
  /** Characters of a group of four that is not complete. */
  #rest = '';

  /** @param maxLength maximum number of characters */
  constructor(maxLength: number) {
    this.#bytes = Buffer.allocUnsafeSlow(Math.ceil(maxLength / 4) * 3);
  }

  add(piece: Buffer): void {
    const start = this.#rest === '' ? 0 : Math.min(4 - this.#rest.length, piece.length);
    const end = piece.length - ((piece.length - start) % 4);
    this.#rest += textOf(piece, 0, start);
    if (this.#rest.length === 4) {
      this.#decode(this.#rest);
      this.#rest = '';
    }
    this.#decode(textOf(piece, start, end));
    this.#rest += textOf(piece, end);
  }

  end(): Buffer {
    this.#decode(this.#rest);
    return this.#bytes.subarray(0, this.#size);
  }

  #decode(text: string): void {
    this.#size += this.#bytes.write(text, this.#size, 'base64');
  }
}

const textOf = (chunk: Buffer, start: number, end?: number) => chunk.toString('latin1', start, end);

/** Returns the file in a response: the bytes that {@link fileDecoder} has decoded, or else those of the base64. */
export function fileOf({ data }: { readonly data: string | Buffer }): Buffer {
  return typeof data === 'string' ? Buffer.from(data, 'base64') : data;
}
