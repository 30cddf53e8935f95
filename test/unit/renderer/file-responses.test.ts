import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileDecoder, fileOf } from '../../../services/renderer/browser/file-responses.ts';

/** A transport that reads messages as Playwright's does. */
class Transport {
  readonly received: unknown[] = [];
  /** Number of bytes that took the usual way. */
  dispatched = 0;
  #pending = '';

  /** Takes a chunk from the pipe. */
  readonly take = fileDecoder(
    (chunk) => this.#dispatch(chunk),
    (message) => void this.received.push(message),
  );

  #dispatch(chunk: Buffer): void {
    this.dispatched += chunk.length;
    const [first = '', ...others] = chunk.toString().split('\0');
    const messages = [this.#pending + first, ...others];
    this.#pending = messages.pop() ?? '';
    for (const message of messages) void setImmediate().then(() => this.received.push(JSON.parse(message)));
  }
}

interface Response {
  readonly id: number;
  readonly result: { readonly data: string | Buffer };
}

const files = [0, 1, 2, 3, 4, 5000].map((size) => randomBytes(size));
const responseOf = (file: Buffer, id: number) => ({ id, result: { data: file.toString('base64') }, sessionId: 'A"0' });
const event = { method: 'Network.dataReceived', params: { text: '{"id":1,"result":{"data":"x' } };
const messages = files.flatMap((file, id) => [responseOf(file, id), event]);
const stream = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\0`).join(''));

test('files and other messages are the same for each division into chunks, and keep their order', async () => {
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: stream.length - 1 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(cuts, async (at) => {
      const transport = new Transport();
      const ends = [...at.toSorted((a, b) => a - b), stream.length];
      ends.forEach((end, index) => transport.take(Buffer.from(stream.subarray(ends[index - 1] ?? 0, end))));
      await setImmediate();
      const received = transport.received.map((message) => {
        const { result, ...others } = message as Response;
        return result === undefined ? message : { ...others, result: { data: fileOf(result).toString('base64') } };
      });
      expect(received).toEqual(messages);
    }),
  );
});

test('a file of several chunks does not take the usual way, and the memory of its chunks is freed', async () => {
  const transport = new Transport();
  const file = randomBytes(300_000);
  const bytes = Buffer.from(`${JSON.stringify(event)}\0${JSON.stringify(responseOf(file, 7))}\0`);
  const before = JSON.stringify(event).length + 1;
  const chunks = [0, 1, 2, 3, 4, 5, 6].map((chunk) =>
    Buffer.from(new Uint8Array(bytes.subarray(chunk * 65_536, (chunk + 1) * 65_536))),
  );
  for (const chunk of chunks) transport.take(chunk);
  await setImmediate();
  expect(transport.dispatched).toBe(before);
  expect(transport.received).toEqual([event, { id: 7, result: { data: file }, sessionId: 'A"0' }]);
  expect(chunks.map(({ length }) => length > 0)).toEqual([true, false, false, false, false, false, true]);
});
