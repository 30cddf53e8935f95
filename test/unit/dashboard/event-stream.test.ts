import { describe, expect, test } from 'vitest';
import { type ErrorCode, type EventsOptions, WebcaptureError } from '@webcapture/client';
import { readEvents, type ServerEvent } from '../../../services/client/event-stream.ts';
import { followEvents, type StreamState } from '../../../services/dashboard/shell/event-stream.ts';

/** A stream of these chunks, which then closes, fails, or stays open and silent. */
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

const refusal = (code: ErrorCode | 'UNEXPECTED_RESPONSE', retryAfterMs?: number) => (): never => {
  throw new WebcaptureError(code, 'No.', { retryAfterMs: retryAfterMs ?? null });
};

type Connect = (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;

/** Reads the stream that `connect` opens as the client does. */
const readerOf = (connect: Connect, silenceMs?: number) => (options: EventsOptions) => {
  const open = async (signal: AbortSignal) => {
    const response = new Response(await connect(signal), { headers: { 'content-type': 'text/event-stream' } });
    return { data: response.body, response };
  };
  return readEvents(open, { ...options, silenceMs });
};

/** Follows a server that gives these answers in order, until the answers are used up or the stream ends. */
async function follow(answers: readonly ((signal: AbortSignal) => ReadableStream<Uint8Array>)[], silenceMs?: number) {
  const ending = new AbortController();
  const events: ServerEvent[] = [];
  const states: StreamState[] = [];
  const failures: number[] = [];
  let next = 0;
  await followEvents({
    open: readerOf(async (signal) => {
      const answer = answers[next++];
      if (answer !== undefined) return answer(signal);
      ending.abort();
      throw new TypeError('fetch failed');
    }, silenceMs),
    onEvent: (event) => events.push(event),
    onState: (state) => states.push(state),
    signal: ending.signal,
    backoffMs: (count) => {
      failures.push(count);
      return 0;
    },
  });
  return { events: events.map(({ data }) => data), states, kinds: states.map(({ kind }) => kind), failures };
}

describe('a stream', () => {
  test('that is interrupted is opened again, with growing delays', async () => {
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

  test('that is silent for too long is opened again', async () => {
    const { events } = await follow(
      [(signal) => streamOf(['data: 1\n\n'], 'silence', signal), () => streamOf(['data: 2\n\n'], 'close')],
      30,
    );
    expect(events).toEqual(['1', '2']);
  });

  test.each([
    ['by a response', refusal('API_KEY_REVOKED')],
    [
      'by an event in the stream',
      () => streamOf(['event: error\ndata: {"code":"API_KEY_REVOKED","message":"No."}\n\n'], 'silence'),
    ],
  ])('ends when the key is refused %s', async (_, answer) => {
    const { states } = await follow([answer, () => streamOf(['data: never\n\n'], 'close')]);
    expect(states.at(-1)).toEqual({ kind: 'ended', problem: { code: 'API_KEY_REVOKED', message: 'No.' } });
  });

  test('is opened again while the service is unavailable, after the delay that the service requests', async () => {
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

  test('is closed when its follower aborts', async () => {
    const ending = new AbortController();
    let isClosed = false;
    const following = followEvents({
      open: readerOf(async (signal) => {
        signal.addEventListener('abort', () => (isClosed = true));
        return streamOf(['data: 1\n\n'], 'silence', signal);
      }),
      onEvent: () => ending.abort(),
      onState: () => {},
      signal: ending.signal,
    });
    await following;
    expect(isClosed).toBe(true);
  });
});
