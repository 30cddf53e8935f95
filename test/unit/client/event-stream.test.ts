import { describe, expect, test } from 'vitest';
import { WebcaptureError } from '../../../services/client/errors.ts';
import { dataOfEvents, EventParser, readEvents } from '../../../services/client/event-stream.ts';

describe('the parser of event streams', () => {
  const text =
    ': hello\r\n\r\nevent: capture\r\ndata: {"a":\ndata:1}\n\nid: 7\ndata: two\r\rdata\n\nevent: none\n\ndata: cut';
  const events = [
    { event: 'capture', data: '{"a":\n1}' },
    { event: 'message', data: 'two' },
    { event: 'message', data: '' },
  ];

  test('parses a whole stream at once', () => {
    expect(new EventParser().push(text)).toEqual(events);
  });

  test('parses a stream character by character', () => {
    const parser = new EventParser();
    expect(Array.from(text).flatMap((character) => parser.push(character))).toEqual(events);
  });
});

describe('dataOfEvents', () => {
  /** Reads the `capture` events of a stream until its end. */
  async function read(text: string): Promise<unknown[]> {
    const headers = { 'content-type': 'text/event-stream' };
    const response = new Response(null, { headers });
    const open = async () => ({ data: new Response(text).body, response });
    const all: unknown[] = [];
    for await (const data of dataOfEvents('capture', readEvents(open))) all.push(data);
    return all;
  }

  test('yields the objects of the events with one name', async () => {
    const text = 'event: capture\ndata: {"uuid":"a"}\n\nevent: later\ndata: no JSON\n\n';
    expect(await read(text)).toEqual([{ uuid: 'a' }]);
  });

  test.each([
    ['is cut off', 'event: capture\ndata: {"uuid":"a\n\n', '"{\\"uuid\\":\\"a"'],
    ['is not an object', 'event: capture\ndata: null\n\n', '"null"'],
    ['is the HTML page of a proxy', 'event: error\ndata: <html>\n\n', '"<html>"'],
    ['is an error without a code', 'event: error\ndata: {"message":"x"}\n\n', '"{\\"message\\":\\"x\\"}"'],
  ])('throws UNEXPECTED_RESPONSE for data that %s', async (_, text, shown) => {
    const error: unknown = await read(text).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WebcaptureError);
    expect(error).toMatchObject({ code: 'UNEXPECTED_RESPONSE', retryable: false });
    expect((error as Error).message).toContain(`not from a webcapture service: ${shown}.`);
  });

  test('throws the error class of an error event', async () => {
    const text = 'event: error\ndata: {"code":"FORBIDDEN","message":"No."}\n\n';
    await expect(read(text)).rejects.toMatchObject({ name: 'PermissionError', code: 'FORBIDDEN', message: 'No.' });
  });
});
