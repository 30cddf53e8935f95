import type { Readable } from 'node:stream';

/** More than any object of the API may be long: what goes on without an end of line is not an answer of ours. */
const maxLineBytes = 16 * 1024 * 1024;

/** The lines of a stream as parsed JSON, in the chunks that they came in. Throws what breaks the stream. */
export async function* jsonLines<T>(stream: Readable): AsyncGenerator<T[]> {
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxLineBytes) throw new Error('a line of the watch is too long');
    yield lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T);
  }
}
