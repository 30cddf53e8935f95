import { describe, expect, test } from 'vitest';
import {
  EventParser,
  followEvents,
  type ServerEvent,
  type StreamState,
} from '../../../services/dashboard/shell/event-stream.ts';

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

/** A stream of these pieces that then closes, fails, or stays open and silent. */
function streamOf(pieces: readonly string[], end: 'close' | 'fail' | 'silence', signal?: AbortSignal) {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(encoder.encode(piece));
      if (end === 'close') controller.close();
      signal?.addEventListener('abort', () => controller.error(new Error('aborted')));
    },
    pull(controller) {
      if (end === 'fail') controller.error(new Error('reset'));
    },
  });
}

const refusal = (code: string, retryAfterMs?: number) => (): never => {
  throw Object.assign(new Error('No.'), { code, retryAfterMs });
};

/** Follows a server that answers in turn, until the answers are used up or the stream ends. */
async function follow(answers: readonly ((signal: AbortSignal) => ReadableStream<Uint8Array>)[], silenceMs?: number) {
  const ending = new AbortController();
  const events: ServerEvent[] = [];
  const states: StreamState[] = [];
  const failures: number[] = [];
  let next = 0;
  await followEvents({
    connect: async (signal) => {
      const answer = answers[next++];
      if (answer !== undefined) return answer(signal);
      ending.abort();
      throw new TypeError('fetch failed');
    },
    onEvent: (event) => events.push(event),
    onState: (state) => states.push(state),
    signal: ending.signal,
    backoffMs: (count) => {
      failures.push(count);
      return 0;
    },
    ...(silenceMs === undefined ? {} : { silenceMs }),
  });
  return { events: events.map(({ data }) => data), states, kinds: states.map(({ kind }) => kind), failures };
}

describe('a stream', () => {
  test('that is cut is opened again, with more and more time between', async () => {
    const { events, kinds, failures } = await follow([
      () => streamOf(['data: 1\n\nda'], 'fail'),
      () => streamOf(['data: 2\n\n'], 'close'),
      () => {
        throw new TypeError('fetch failed');
      },
    ]);
    expect(events).toEqual(['1', '2']);
    expect(kinds).toEqual(['connecting', 'live', 'waiting', 'live', 'waiting', 'waiting']);
    expect(failures).toEqual([0, 1, 2]);
  });

  test('that falls silent is opened again', async () => {
    const { events } = await follow(
      [(signal) => streamOf(['data: 1\n\n'], 'silence', signal), () => streamOf(['data: 2\n\n'], 'close')],
      30,
    );
    expect(events).toEqual(['1', '2']);
  });

  test.each([
    ['as a response', refusal('API_KEY_REVOKED')],
    [
      'within the stream',
      () => streamOf(['event: error\ndata: {"code":"API_KEY_REVOKED","message":"No."}\n\n'], 'silence'),
    ],
  ])('ends when the key no longer holds, said %s', async (_, answer) => {
    const { states } = await follow([answer, () => streamOf(['data: never\n\n'], 'close')]);
    expect(states.at(-1)).toEqual({ kind: 'ended', problem: { code: 'API_KEY_REVOKED', message: 'No.' } });
  });

  test('goes on when the service is unavailable, and waits for as long as it says', async () => {
    const unavailable = 'event: error\ndata: {"code":"INTERNAL_ERROR","message":"NATS is unavailable."}\n\n';
    const { events, states } = await follow([
      () => streamOf([unavailable], 'silence'),
      refusal('INTERNAL_ERROR'),
      refusal('RATE_LIMIT_EXCEEDED', 20),
      refusal('UNEXPECTED_RESPONSE'),
      () => streamOf(['data: back\n\n'], 'close'),
    ]);
    expect(events).toEqual(['back']);
    const waits = states.flatMap((state) => (state.kind === 'waiting' ? [[state.problem.code, state.retryInMs]] : []));
    expect(waits.slice(0, 4)).toEqual([
      ['INTERNAL_ERROR', 0],
      ['INTERNAL_ERROR', 0],
      ['RATE_LIMIT_EXCEEDED', 20],
      ['UNEXPECTED_RESPONSE', 0],
    ]);
  });

  test('that nobody follows any more is closed', async () => {
    const ending = new AbortController();
    let isClosed = false;
    const following = followEvents({
      connect: async (signal) => {
        signal.addEventListener('abort', () => (isClosed = true));
        return streamOf(['data: 1\n\n'], 'silence', signal);
      },
      onEvent: () => ending.abort(),
      onState: () => {},
      signal: ending.signal,
    });
    await following;
    expect(isClosed).toBe(true);
  });
});
