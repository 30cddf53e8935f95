import { describe, expect, test } from 'vitest';
import { EventParser } from '../../../services/client/event-stream.ts';

describe('the format', () => {
  const text =
    ': hello\r\n\r\nevent: capture\r\ndata: {"a":\ndata:1}\n\nid: 7\ndata: two\r\rdata\n\nevent: none\n\ndata: cut';
  const events = [
    { event: 'capture', data: '{"a":\n1}' },
    { event: 'message', data: 'two' },
    { event: 'message', data: '' },
  ];

  test('is read at once', () => {
    expect(new EventParser().push(text)).toEqual(events);
  });

  test('is read character by character', () => {
    const parser = new EventParser();
    expect(Array.from(text).flatMap((character) => parser.push(character))).toEqual(events);
  });
});
